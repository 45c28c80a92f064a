/** Measures a commit and the head in turns, on a machine that may be busy. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { loadavg } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { formatTable, type Row } from "../support/table.ts";
import { comparePairs, type Figures, listFigures, MAX_RATIO, type Pair } from "./compare.ts";
import { completePairs, parsePairs } from "./complete-pairs.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Runs the missing pairs of quick runs, and prints all ratios.
 *
 * @param base - a commit, whose bench has the parts
 * @param flags - options of each run
 * @param folder - of checkouts and pairs, which another call continues
 */
export function runPairs(
  base: string,
  { parts, count }: { parts: readonly string[]; count: number },
  flags: readonly string[],
  folder: string,
): void {
  const [baseCommit, headCommit] = [resolveCommit(base), resolveCommit("HEAD")];
  const checkouts = {
    base: prepareCheckout(folder, baseCommit),
    head: prepareCheckout(folder, headCommit),
  };
  const name = [baseCommit, headCommit].map((commit) => commit.slice(0, 12)).join("-");
  const file = join(folder, `${[name, ...flags].join("-").replace(/[^\w.-]/g, "")}.jsonl`);
  const stored = existsSync(file) ? parsePairs(readFileSync(file, "utf8")) : [];
  writeFileSync(file, stored.map(toLine).join(""));
  const pairs = completePairs(
    stored,
    { parts, count },
    (version, part) => runBench(checkouts[version], part, flags),
    (pair) => {
      appendFileSync(file, toLine({ ...pair, load: loadavg()[0] ?? 0 }));
      console.log(`${pair.part}: pair ${pair.number + 1} of ${count}`);
    },
  );
  console.log(`\nfigures of all pairs: ${file}`);
  const rows = comparePairs(pairs.filter(({ part }) => parts.includes(part)));
  const marked = rows.filter(({ slower }) => slower !== "").length;
  console.log(formatTable(`Head by base, medians of pairs; ${marked} above ${MAX_RATIO}`, rows));
}

const toLine = (pair: Pair) => `${JSON.stringify(pair)}\n`;

function resolveCommit(name: string): string {
  const args = ["rev-parse", "--verify", `${name}^{commit}`];
  return execFileSync("git", args, { cwd: REPOSITORY, encoding: "utf8" }).trim();
}

/** The built service of a commit, made once. */
function prepareCheckout(folder: string, commit: string): string {
  const checkout = join(folder, commit);
  const ready = join(checkout, ".ready");
  if (existsSync(ready)) return checkout;
  console.log(`installing and building ${commit.slice(0, 12)}`);
  rmSync(checkout, { recursive: true, force: true });
  mkdirSync(dirname(checkout), { recursive: true });
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: existsSync(checkout) ? checkout : folder, stdio: "ignore" });
  run("git", "clone", "--no-checkout", REPOSITORY, checkout);
  run("git", "checkout", "--detach", commit);
  run("npm", "ci");
  run("npm", "run", "build");
  writeFileSync(ready, "");
  return checkout;
}

/** Figures beyond a limit count too, so only a run without figures has failed. */
function runBench(checkout: string, part: string, flags: readonly string[]): Figures {
  const json = join(checkout, ".figures.json");
  rmSync(json, { force: true });
  const args = ["run", "bench", "--", part, "--quick", "--json", json, ...flags];
  const { stdout, stderr } = spawnSync("npm", args, {
    cwd: checkout,
    encoding: "utf8",
    maxBuffer: 2 ** 30,
  });
  if (!existsSync(json))
    throw new Error(`${part} of ${checkout} failed:\n${`${stdout}${stderr}`.slice(-2_000)}`);
  const { results } = JSON.parse(readFileSync(json, "utf8")) as { results: Record<string, Row[]> };
  return listFigures(results);
}
