/** Records for which wallets have something to do: `due_at`, which is computed whenever one is written. */
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { SourceWallet } from "../../wallets/queue/store.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import { listTimedSteps } from "../model/step-rules.ts";
import { readRecords } from "../store/load-records.ts";
import { escrow } from "../store/tables.ts";

type DatabaseReader = Pick<Database, "all">;

/** Transactions of locks belong to the wallet's outward chain; all other steps spend parallel outputs. */
export type EscrowTaskKind = "lock" | "step";

const KIND_CONDITIONS: Record<EscrowTaskKind, string> = {
  lock: "coalesce(intent->>'step', '') = 'FundsLocking'",
  step: "coalesce(intent->>'step', '') <> 'FundsLocking'",
};

/** The records that are due without an intent, since one of their steps runs automatically. */
export interface AutomaticSteps {
  payments: boolean;
  refunds: boolean;
}

const DUE_FOR_WALLET_CONDITION = `network = ? AND wallet_vkey = ? AND due_at IS NOT NULL AND due_at <= ?
  AND source_id = ?`;

/**
 * Purchases that a wallet shall lock, what has waited longest first.
 *
 * @param now - epoch milliseconds
 */
export function listDueLocks(
  database: DatabaseReader,
  { network, vkey, sourceId }: SourceWallet,
  now: number,
  limit: number,
): Promise<EscrowRecord[]> {
  return readRecords(
    database,
    `WHERE ${DUE_FOR_WALLET_CONDITION} AND ${KIND_CONDITIONS.lock}
     ORDER BY due_at, id LIMIT ${limit}`,
    ...[network, vkey, now, sourceId],
  );
}

/** By when what is wanted has to be done, epoch milliseconds of the chain; null: whenever. */
const DEADLINE_SQL = `CASE ${listTimedSteps()
  .map(
    ({ step, from, deadline }) =>
      `WHEN intent->>'step' = '${step}' AND on_chain_state = '${from}'
         THEN CAST(${escrow[deadline].name} AS INTEGER)`,
  )
  .join(" ")} END`;

/** When steps are looked for, epoch milliseconds. */
export interface StepTimes {
  /** By the wall clock, by which pauses pass. */
  now: number;
  /** The later of it and the chain's time. */
  latest: number;
  /** What has a deadline before it goes before what has none. */
  urgentBefore: number;
}

/**
 * Selects the records of which a wallet takes a step, most urgent first. Records whose automatic step is not
 * decided yet come last.
 */
export function listDueSteps(
  database: DatabaseReader,
  { network, vkey, sourceId }: SourceWallet,
  { now, latest, urgentBefore }: StepTimes,
  limit: number,
  { payments, refunds }: AutomaticSteps,
): Promise<EscrowRecord[]> {
  // Whole rows are read of those alone that are chosen.
  return readRecords(
    database,
    `WHERE id IN (
       SELECT id FROM escrow WHERE ${DUE_FOR_WALLET_CONDITION} AND ${KIND_CONDITIONS.step}
         AND iif(intent IS NULL, iif(side = 'payment', ?, ?), coalesce(intent->>'tryAt', 0) <= ?)
       ORDER BY intent IS NULL, coalesce(${DEADLINE_SQL}, ?), intent->>'since', due_at, id LIMIT ${limit})`,
    ...[network, vkey, latest, sourceId],
    ...[Number(payments), Number(refunds), now, urgentBefore],
  );
}

/** When a wallet's next record of a kind is due, epoch milliseconds; null: none is. */
export async function findNextDueTime(
  database: DatabaseReader,
  { network, vkey, sourceId }: SourceWallet,
  kind: EscrowTaskKind,
  now: number,
): Promise<number | null> {
  const [row] = await database.all<{ next: number | null }>(
    `SELECT min(due_at) AS next FROM escrow
     WHERE network = ? AND wallet_vkey = ? AND due_at IS NOT NULL AND due_at > ?
       AND source_id = ? AND ${KIND_CONDITIONS[kind]}`,
    ...[network, vkey, now, sourceId],
  );
  return row?.next ?? null;
}

/** SQL condition of the purchases that shall be locked, and for which no wallet was chosen yet. */
const UNASSIGNED_CONDITION = `network = ? AND wallet_vkey IS NULL AND due_at IS NOT NULL AND due_at <= ?
  AND ${KIND_CONDITIONS.lock}`;

/** The sources with purchases for which no wallet was chosen yet. */
export async function listUnassignedSources(
  database: DatabaseReader,
  network: Network,
  now: number,
): Promise<string[]> {
  const rows = await database.all<{ sourceId: string }>(
    `SELECT DISTINCT source_id AS sourceId FROM escrow WHERE ${UNASSIGNED_CONDITION}`,
    network,
    now,
  );
  return rows.map(({ sourceId }) => sourceId);
}

/** Purchases of a source that shall be locked, and for which no wallet was chosen yet. */
export function listUnassignedPurchases(
  database: DatabaseReader,
  { network, sourceId }: Pick<SourceWallet, "network" | "sourceId">,
  now: number,
  limit: number,
): Promise<EscrowRecord[]> {
  return readRecords(
    database,
    `WHERE ${UNASSIGNED_CONDITION} AND source_id = ? ORDER BY due_at, id LIMIT ${limit}`,
    ...[network, now, sourceId],
  );
}

/** Purchases that wallets were chosen for, and that are in no transaction yet. */
export function listAssignedPurchases(
  database: DatabaseReader,
  network: Network,
  vkeys: readonly string[],
): Promise<EscrowRecord[]> {
  return readRecords(
    database,
    `WHERE network = ? AND wallet_vkey IN (SELECT value FROM json_each(?))
       AND due_at IS NOT NULL AND ${KIND_CONDITIONS.lock}`,
    network,
    JSON.stringify(vkeys),
  );
}

/** Selects the records for which the service has ever stored a transaction. */
export async function filterAttemptedRecords(
  database: DatabaseReader,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await database.all<{ id: string }>(
    `SELECT DISTINCT record_id AS id FROM escrow_transaction
     WHERE record_id IN (SELECT value FROM json_each(?)) AND intent IS NOT NULL`,
    JSON.stringify(ids),
  );
  return new Set(rows.map(({ id }) => id));
}

/** The record that a wallet has to do something for next, of whatever source. */
export async function findNextDueRecord(
  database: DatabaseReader,
  network: Network,
  vkey: string,
): Promise<{ sourceId: string; dueAt: number } | undefined> {
  const [row] = await database.all<{ sourceId: string; dueAt: number }>(
    `SELECT source_id AS sourceId, due_at AS dueAt FROM escrow
     WHERE network = ? AND wallet_vkey = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1`,
    network,
    vkey,
  );
  return row;
}
