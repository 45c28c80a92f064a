import type { LogEvent } from "./log-events.ts";

/**
 * Writes one structured line. `fields` never hold a secret: no token, key, mnemonic or webhook URL.
 *
 * @param event - one of `log-events.ts`, which says what an operator does about it
 */
export function log(
  level: "info" | "warn" | "error",
  event: LogEvent,
  fields: Record<string, unknown> = {},
): void {
  console[level](JSON.stringify({ event, ...fields }));
}
