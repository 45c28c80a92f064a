import { ERROR_CODES } from "../../src/http/errors/codes.ts";
import { LOG_EVENTS } from "../../src/log-events.ts";

/** A line of a guide that is only a link to a file, whose extension is the name of its language. */
const LINE = /^\[((?:examples|src)\/\S+\.(\w+))\]\(\.\.\/\1\)$/gm;
/** What readers see of a file of the service itself. */
const TEXTS: Readonly<Record<string, () => string>> = {
  "src/http/errors/codes.ts": describeErrors,
  "src/log-events.ts": describeLog,
};

const MAX_WIDTH = 110;
const REPEATS = /; investigate if it repeats$/;
/** Advice that several events share: its details are in the code. */
const SHARED = /^(report it|check the network's `rpcUrl`): /;
/** Nothing has to be done, whatever else happens. */
const NOTHING = /^nothing: (?!.*\b(if|when)\b)/i;

/**
 * A guide as it is served: a line that is only a link to a file becomes the program of that file. Error
 * codes and log events become readable text.
 *
 * @param read - returns the text of a file, by its path in the repository
 */
export function withFiles(guide: string, read: (path: string) => string): string {
  return guide.replace(
    LINE,
    (_, path: string, language: string) =>
      TEXTS[path]?.() ?? `\`\`\`${language}\n${read(path).trimEnd()}\n\`\`\``,
  );
}

/** A section for each error code, to which `error.docs` leads. */
function describeErrors(): string {
  const sections = Object.entries(ERROR_CODES).map(
    ([code, { status, meaning, remedy }]) => `### ${code}\n\n**${status}** ${meaning}\n\n${remedy}`,
  );
  return sections.join("\n\n");
}

/** The log's events: a table of those that need somebody, and the names of the others. */
function describeLog(): string {
  const events = Object.entries(LOG_EVENTS);
  const namesOf = (pattern: RegExp) => [
    "```text",
    ...wrap(events.flatMap(([event, it]) => (pattern.test(it) ? event : []))),
    "```",
  ];
  const eventsByAdvice = new Map<string, string[]>();
  for (const [event, advice] of events) {
    if (REPEATS.test(advice) || NOTHING.test(advice)) continue;
    const shared = SHARED.exec(advice)?.[1] ?? advice;
    eventsByAdvice.set(shared, [...(eventsByAdvice.get(shared) ?? []), `\`${event}\``]);
  }
  const rows = [...eventsByAdvice].map(([advice, names]) => `| ${names.join(", ")} | ${advice} |`);
  return [
    "These events need nothing, and `src/log-events.ts` says why:",
    "",
    ...namesOf(NOTHING),
    "",
    "Investigate these if they repeat; the service tries again:",
    "",
    ...namesOf(REPEATS),
    "",
    ...["| event | what to do |", "|---|---|", ...rows],
  ].join("\n");
}

/** Names in lines of a readable width. */
function wrap(names: readonly string[]): string[] {
  const lines: string[] = [];
  for (const name of names) {
    const line = `${lines.at(-1) ?? ""} ${name}`.trim();
    if (lines.length > 0 && line.length <= MAX_WIDTH) lines[lines.length - 1] = line;
    else lines.push(name);
  }
  return lines;
}
