import type { Network } from "../chain/network.ts";
import { type Statement, statement } from "../db/client.ts";
import { isoTimeSql, type SqlExpression } from "../db/clock.ts";
import { newId } from "../db/id.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import type { EventKind } from "./event-kinds.ts";

/** Event kinds that a change of a payment or purchase can cause. */
export type RecordEventKind = Extract<
  EventKind,
  `${"PURCHASE" | "PAYMENT"}_${`ON_${string}` | "DEADLINE_NEAR"}`
>;

/** An event about a record, as it is written with the change that caused it. */
export interface RecordEvent {
  id: string;
  kind: RecordEventKind;
  recordId: string;
  /** Ids of the record's wallets. */
  walletIds: readonly string[];
  /** 1, 2, 3 … per record. */
  sequence: number;
  /** The record as GET shows it, with `placeholder` in place of the change's stamp. */
  data: string;
  /** Which of the batch's stamps is this record's; see `db/clock.ts`. */
  stampIndex: number;
}

/** SQL condition: an active endpoint subscribes to the kind. @param kind - SQL of the kind */
export const isSubscribedSql = (kind: string) =>
  `EXISTS (SELECT 1 FROM webhook_subscription WHERE webhook_subscription.kind = ${kind})`;

/**
 * Writes events in the batch of their change, so that neither exists without the other. Events of kinds
 * without a subscription are left out. The batch must carry an operation key: events alone could be
 * written twice.
 *
 * @param events - JSON text of an array of `RecordEvent`
 * @param stamp - SQL of the stamp, given the SQL of an event's `stampIndex`
 * @param now - epoch milliseconds
 */
export function writeEvents(
  events: string,
  context: { network: Network; sourceId: string; now: number; placeholder: string },
  stamp: (index: string) => SqlExpression,
): Statement[] {
  const at = stamp("(value->>'stampIndex')");
  return [
    statement(
      `INSERT INTO event
         (id, kind, network, source_id, wallet_ids, record_id, sequence, data, created_at)
       SELECT value->>'id', value->>'kind', ?, ?, value->'walletIds', value->>'recordId',
         value->>'sequence', replace(value->>'data', ?, ${isoTimeSql(at.sql)}), ?
       FROM json_each(?) WHERE ${isSubscribedSql("value->>'kind'")}`,
      context.network,
      context.sourceId,
      context.placeholder,
      ...at.params,
      context.now,
      events,
    ),
  ];
}

/** An event of a record that carries no change stamp. */
export interface PlainEvent {
  kind: Exclude<EventKind, RecordEventKind>;
  /** A network's name, a CAIP-2 id or `service`: who may learn of the event follows from it. */
  network: string;
  /** The payment source it belongs to; null: only endpoints for all sources get it. */
  sourceId: string | null;
  /** The only API key, besides Admins, that may receive it; null: any may. */
  ownerId: string | null;
  /** Ids of the managed wallets it is about: a key that is bound to wallets has to be bound to all of them. */
  walletIds?: readonly string[];
  /** Its subject, such as an attempt or a wallet. */
  recordId: string;
  /** 1, 2, 3 … per record. */
  sequence: number;
  /** What receivers get as `data`; amounts are decimal text. Holds no secret. */
  data: object;
}

const TRUE_CONDITION: SqlExpression = { sql: "TRUE", params: [] };

/**
 * Writes one event in the batch of its change, which must carry an operation key.
 *
 * @param now - epoch milliseconds
 * @param onlyIf - an SQL condition, such as that the change was made; otherwise nothing is written
 *
 * @example
 * await database.batch([
 *   moveAttempt(attempt),
 *   writeEvent({ kind: "X402_PAYMENT_SETTLED", network: "eip155:8453", … }, now),
 * ]);
 * await wakeDispatcher(env, requestId);
 */
export function writeEvent(
  event: PlainEvent,
  now: number,
  onlyIf: SqlExpression = TRUE_CONDITION,
): Statement {
  const data = { sql: "?", params: [JSON.stringify(event.data)] };
  return writeEventWithSqlData(event, data, now, onlyIf);
}

/**
 * The same, for data that the batch itself computes.
 *
 * @param data - SQL of `data`, JSON text
 */
export function writeEventWithSqlData(
  event: Omit<PlainEvent, "data">,
  data: SqlExpression,
  now: number,
  onlyIf: SqlExpression = TRUE_CONDITION,
): Statement {
  return statement(
    `INSERT INTO event
       (id, kind, network, source_id, owner_id, wallet_ids, record_id, sequence, data, created_at)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ${data.sql}, ?
     WHERE (${onlyIf.sql}) AND ${isSubscribedSql("?")}`,
    newId(now),
    event.kind,
    event.network,
    event.sourceId,
    event.ownerId,
    event.walletIds ? JSON.stringify(event.walletIds) : null,
    event.recordId,
    event.sequence,
    ...data.params,
    now,
    ...onlyIf.params,
    event.kind,
  );
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
