import { ProviderError } from "../chain/provider/provider.ts";
import { DatabaseUnavailableError } from "../db/client.ts";
import { SealError } from "../db/sealed.ts";
import { log } from "../log.ts";
import type { LogEvent } from "../log-events.ts";
import { StaleCursorError } from "./cursor.ts";

/** Delay before a pass made stale by another run is repeated, with all its provider calls. */
const STALE_RETRY_DELAY_MS = 1_000;

/** Errors whose message is meant for operators; any other may hold secrets. */
const REPORTABLE_ERRORS = [ProviderError, SealError, DatabaseUnavailableError];

/** How a failed run is told. */
interface FailureReport {
  requestId: string;
  /** The log's event for a failed run, and for one whose failure could not be recorded. */
  events: { failed: LogEvent; unrecorded: LogEvent };
  /** What the log says of the run. */
  logFields: Record<string, unknown>;
  /** Keeps the reason where operators see it. */
  record?(reason: string): Promise<void>;
}

/**
 * Tells operators why a run did not complete. Never throws.
 *
 * @returns when to try again before the cron does, epoch milliseconds; null: leave it to the cron
 */
export async function reportFailure(
  error: unknown,
  { requestId, events, logFields: fields, record }: FailureReport,
): Promise<number | null> {
  // Another run was faster: not a failure, read again.
  if (error instanceof StaleCursorError) return Date.now() + STALE_RETRY_DELAY_MS;
  log("error", events.failed, { ...fields, requestId, error: String(error) });
  if (record === undefined) return null;
  const reason =
    error instanceof Error && REPORTABLE_ERRORS.some((kind) => error instanceof kind)
      ? error.message
      : `internal error, see the log of request ${requestId}`;
  try {
    await record(reason);
  } catch (unrecorded) {
    log("error", events.unrecorded, { ...fields, error: String(unrecorded) });
  }
  return error instanceof ProviderError ? error.retryAt : null;
}

/** What an operator should know of a source, though its sync goes on. */
type Anomaly =
  /** The provider shows a transaction after later ones were applied: those are applied again. */
  | "late"
  /** The steps skipped before a transaction are not known: its escrow is not changed. */
  | "gap"
  /** The ledger accepted a transaction that cannot be decoded: no more is followed than what it spends. */
  | "unreadable";

/** Tells the operator of a transaction, in the log. */
export function logAnomaly(
  oddity: Anomaly,
  fields: { source: string; tx: string; reason: string; record?: string },
): void {
  log(oddity === "unreadable" ? "error" : "warn", `sync.transaction_${oddity}`, fields);
}
