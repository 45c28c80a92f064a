import type { Network } from "../chain/network.ts";
import { type Statement, statement } from "../db/client.ts";
import { isoText, type SqlExpression } from "../db/clock.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";

/** Event kinds that a change of a record can cause. */
export type RecordEventKind =
  | "PURCHASE_ON_CHAIN_STATUS_CHANGED"
  | "PAYMENT_ON_CHAIN_STATUS_CHANGED"
  | "PURCHASE_ON_ERROR"
  | "PAYMENT_ON_ERROR";

/** An event about a record, as it is written with the change that caused it. */
export interface RecordEvent {
  id: string;
  kind: RecordEventKind;
  recordId: string;
  /** 1, 2, 3 … per record. */
  sequence: number;
  /** The record as GET shows it, with `placeholder` wherever the change's stamp goes. */
  data: string;
  /** Which of the batch's stamps is this record's; see `db/clock.ts`. */
  stampIndex: number;
}

/**
 * Writes events in the batch of the change they tell of, so that neither exists without the other.
 *
 * @param stamp - SQL of the stamp, given the SQL of an event's `stampIndex`
 * @param now - epoch milliseconds
 */
export function writeEvents(
  events: RecordEvent[],
  context: { network: Network; sourceId: string; now: number; placeholder: string },
  stamp: (index: string) => SqlExpression,
): Statement[] {
  if (events.length === 0) return [];
  const at = stamp("(value->>'stampIndex')");
  return [
    statement(
      `INSERT INTO event (id, kind, network, source_id, record_id, sequence, data, created_at)
       SELECT value->>'id', value->>'kind', ?, ?, value->>'recordId', value->>'sequence',
         replace(value->>'data', ?, ${isoText(at.sql)}), ?
       FROM json_each(?)`,
      context.network,
      context.sourceId,
      context.placeholder,
      ...at.params,
      context.now,
      JSON.stringify(events),
    ),
  ];
}

/**
 * Wakes the dispatcher after a commit. A message that cannot be sent is no loss: the events wait
 * in D1, and the sweep of the cron finds them.
 */
export async function wakeDispatcher(env: Pick<Env, "EVENTS">, requestId: string): Promise<void> {
  try {
    await env.EVENTS.send({ v: 1, requestId });
  } catch (error) {
    log("warn", "events.wake_failed", { requestId, error: String(error) });
  }
}
