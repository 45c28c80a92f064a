/** Records for which wallets have something to do: `due_at`, which is computed whenever one is written. */
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { timedSteps } from "../actions/rules.ts";
import type { EscrowRecord } from "../record.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../row.ts";

type Ledger = Pick<Database, "all">;

/** A managed wallet, as a payment source has it. */
export interface SourceWallet {
  network: Network;
  /** Payment key hash, hex. */
  vkey: string;
  sourceId: string;
}

/** Locks stand on a wallet's line, all other steps on its lanes. */
export type Kind = "lock" | "step";

const OF_KIND: Record<Kind, string> = {
  lock: "coalesce(want->>'step', '') = 'FundsLocking'",
  step: "coalesce(want->>'step', '') <> 'FundsLocking'",
};

/** Which records are due without a want, since a step of theirs comes by itself. */
export interface Automatic {
  payments: boolean;
  refunds: boolean;
}

const OF_WALLET = `network = ? AND wallet->>'vkey' = ? AND due_at IS NOT NULL AND due_at <= ?
  AND source_id = ?`;

/**
 * Purchases that a wallet shall lock, what has waited longest first.
 *
 * @param now - epoch milliseconds
 */
export async function dueLocks(
  ledger: Ledger,
  { network, vkey, sourceId }: SourceWallet,
  now: number,
  limit: number,
): Promise<EscrowRecord[]> {
  const rows = await ledger.all<EscrowRow>(
    `SELECT ${ESCROW_COLUMNS} FROM escrow WHERE ${OF_WALLET} AND ${OF_KIND.lock}
     ORDER BY due_at, id LIMIT ?`,
    network,
    vkey,
    now,
    sourceId,
    limit,
  );
  return rows.map(recordOfRow);
}

/** By when what is wanted has to be done, epoch milliseconds of the chain; null: whenever. */
const DEADLINE = `CASE ${timedSteps()
  .map(
    ({ step, from, deadline }) =>
      `WHEN want->>'step' = '${step}' AND on_chain_state = '${from}'
         THEN CAST(terms->>'${deadline}' AS INTEGER)`,
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
 * Records of which a wallet shall take a step, what is most urgent first, however many are due; last those of
 * which it is not decided yet what comes by itself.
 */
export async function dueSteps(
  ledger: Ledger,
  { network, vkey, sourceId }: SourceWallet,
  { now, latest, urgentBefore }: StepTimes,
  limit: number,
  { payments, refunds }: Automatic,
): Promise<EscrowRecord[]> {
  // Whole rows are read of those alone that are chosen.
  const rows = await ledger.all<EscrowRow>(
    `SELECT ${ESCROW_COLUMNS} FROM escrow WHERE id IN (
       SELECT id FROM escrow WHERE ${OF_WALLET} AND ${OF_KIND.step}
         AND iif(want IS NULL, iif(side = 'payment', ?, ?), coalesce(want->>'tryAt', 0) <= ?)
       ORDER BY want IS NULL, coalesce(${DEADLINE}, ?), want->>'since', due_at, id LIMIT ?)`,
    network,
    vkey,
    latest,
    sourceId,
    Number(payments),
    Number(refunds),
    now,
    urgentBefore,
    limit,
  );
  return rows.map(recordOfRow);
}

/** When a wallet's next record of a kind is due, epoch milliseconds; null: none is. */
export async function nextDue(
  ledger: Ledger,
  { network, vkey, sourceId }: SourceWallet,
  kind: Kind,
  now: number,
): Promise<number | null> {
  const [row] = await ledger.all<{ next: number | null }>(
    `SELECT min(due_at) AS next FROM escrow
     WHERE network = ? AND wallet->>'vkey' = ? AND due_at IS NOT NULL AND due_at > ?
       AND source_id = ? AND ${OF_KIND[kind]}`,
    network,
    vkey,
    now,
    sourceId,
  );
  return row?.next ?? null;
}

/** Purchases of a source that shall be locked, and for which no wallet was chosen yet. */
export async function withoutWallet(
  ledger: Ledger,
  { network, sourceId }: Pick<SourceWallet, "network" | "sourceId">,
  now: number,
  limit: number,
): Promise<EscrowRecord[]> {
  const rows = await ledger.all<EscrowRow>(
    `SELECT ${ESCROW_COLUMNS} FROM escrow
     WHERE network = ? AND wallet->>'vkey' IS NULL AND due_at IS NOT NULL AND due_at <= ?
       AND source_id = ? AND ${OF_KIND.lock}
     ORDER BY due_at, id LIMIT ?`,
    network,
    now,
    sourceId,
    limit,
  );
  return rows.map(recordOfRow);
}

/** Purchases that wallets were chosen for, and that are in no transaction yet. */
export async function chosenFor(
  ledger: Ledger,
  network: Network,
  vkeys: readonly string[],
): Promise<EscrowRecord[]> {
  const rows = await ledger.all<EscrowRow>(
    `SELECT ${ESCROW_COLUMNS} FROM escrow
     WHERE network = ? AND wallet->>'vkey' IN (SELECT value FROM json_each(?))
       AND due_at IS NOT NULL AND ${OF_KIND.lock}`,
    network,
    JSON.stringify(vkeys),
  );
  return rows.map(recordOfRow);
}

/** Those of some records for which a transaction of ours was ever stored. */
export async function everTried(
  ledger: Ledger,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await ledger.all<{ id: string }>(
    `SELECT DISTINCT record_id AS id FROM escrow_transaction
     WHERE record_id IN (SELECT value FROM json_each(?)) AND want IS NOT NULL`,
    JSON.stringify(ids),
  );
  return new Set(rows.map(({ id }) => id));
}

/** The record that a wallet has to do something for next, of whatever source. */
export async function nextRecord(
  ledger: Ledger,
  network: Network,
  vkey: string,
): Promise<{ sourceId: string; dueAt: number } | undefined> {
  const [row] = await ledger.all<{ sourceId: string; dueAt: number }>(
    `SELECT source_id AS sourceId, due_at AS dueAt FROM escrow
     WHERE network = ? AND wallet->>'vkey' = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1`,
    network,
    vkey,
  );
  return row;
}
