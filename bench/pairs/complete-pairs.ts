import type { Figures, Pair } from "./compare.ts";

/** The pairs of a file of JSON lines. A last line that a stopped process left unfinished is none. */
export function parsePairs(text: string): Pair[] {
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Pair);
}

/**
 * Runs the pairs that are not stored yet. The versions take turns in running first.
 *
 * @param run - measures a part
 * @param store - stores a pair that is over
 * @returns all pairs
 */
export function completePairs(
  stored: readonly Pair[],
  { parts, count }: { parts: readonly string[]; count: number },
  run: (version: "base" | "head", part: string) => Figures,
  store: (pair: Pair) => void,
): Pair[] {
  const pairs = [...stored];
  for (let number = 0; number < count; number++)
    for (const part of parts) {
      if (pairs.some((pair) => pair.part === part && pair.number === number)) continue;
      const isBaseFirst = number % 2 === 0;
      const first = run(isBaseFirst ? "base" : "head", part);
      const second = run(isBaseFirst ? "head" : "base", part);
      const [base, head] = isBaseFirst ? [first, second] : [second, first];
      const pair: Pair = { part, number, base, head };
      store(pair);
      pairs.push(pair);
    }
  return pairs;
}
