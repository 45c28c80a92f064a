import { toIsoTime } from "../../http/envelope.ts";
import type { DeliveryAttempt } from "./send-event.ts";

/**
 * So many attempts of a delivery are kept: those of its schedule, and of one replay. They are in the
 * delivery's own row, so that to keep them costs no further write.
 */
const MAX_LOGGED_ATTEMPTS = 20;

/** One attempt as it is stored: its number, and what came of it. */
type LoggedAttempt = [
  number: number,
  /** Epoch milliseconds of its claim. */
  at: number,
  durationMs: number,
  responseStatus: number | null,
  error: string | null,
];

/** What is logged of an attempt, but for its time: that of the claim, which the row has. */
export function toLoggedAttempt(
  number: number,
  attempt: DeliveryAttempt | null,
): LoggedAttempt | null {
  return attempt && [number, 0, attempt.durationMs, attempt.status, attempt.error];
}

/**
 * SQL of a delivery's log with one attempt more.
 *
 * @param log - SQL of the log so far; null: none
 * @param attempt - SQL of the JSON of `toLoggedAttempt`; null: nothing was sent
 * @param at - SQL of the attempt's time, epoch milliseconds
 */
export function appendAttemptSql(log: string, attempt: string, at: string): string {
  const entry = `json_replace(${attempt}, '$[1]', ${at})`;
  const truncated = `iif(json_array_length(${log}) >= ${MAX_LOGGED_ATTEMPTS}, json_remove(${log}, '$[0]'), ${log})`;
  return `iif(${attempt} IS NULL, ${log},
    json_insert(ifnull(${truncated}, '[]'), '$[#]', json(${entry})))`;
}

/** SQL of the time of a log's newest attempt, epoch milliseconds; null: there was none. */
export function lastAttemptAtSql(log: string): string {
  return `json_extract(${log}, '$[#-1][1]')`;
}

/** The attempts of a stored log as they are shown, oldest first. */
export function toAttemptsResponse(log: string | null) {
  const attempts = JSON.parse(log ?? "[]") as LoggedAttempt[];
  return attempts.map(([number, at, durationMs, responseStatus, error]) => ({
    number,
    at: toIsoTime(at),
    durationMs,
    responseStatus,
    error,
  }));
}
