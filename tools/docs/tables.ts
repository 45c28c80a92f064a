import { LOG_EVENTS } from "../../src/log-events.ts";

const PLACE = /(<!-- log events: .*? -->\n)[\s\S]*?(<!-- end -->)/;
const MAX_WIDTH = 110;
const REPEATS = /; investigate if it repeats$/;
/** Advice that several events share: its details are in the code. */
const SHARED = /^(report it|check the network's `rpcUrl`): /;
/** Nothing has to be done, whatever else happens. */
const NOTHING = /^nothing: (?!.*\b(if|when)\b)/i;

/**
 * The operating guide with what is logged: a table of the events that need somebody, and the names of the
 * others.
 *
 * @throws where the guide has no place for it
 */
export function withTable(guide: string): string {
  if (!PLACE.test(guide)) throw new Error("docs/monitoring.md has no place for the log events");
  return guide.replace(PLACE, (_, begin: string, end: string) => `${begin}${renderLog()}\n${end}`);
}

function renderLog(): string {
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
