import { sql } from "drizzle-orm";
import { type Database, type Statement, statement, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { StaleWallet } from "../spending/stored/wallet.ts";
import type { TransferChange } from "./outcome.ts";
import { type TransferRow, transfer } from "./tables.ts";

/** A transfer that was just asked for. @param now - epoch milliseconds */
export function newTransfer(
  {
    wallet,
    topUp,
    ...asked
  }: Pick<TransferRow, "network" | "sourceId" | "toAddress" | "coin" | "assets" | "createdById"> & {
    /** The one that pays. */
    wallet: { id: string; vkey: string; address: string };
    topUp: { ruleId: string; walletId: string } | null;
  },
  now: number,
): TransferRow {
  return {
    ...asked,
    id: newId(now),
    walletId: wallet.id,
    walletVkey: wallet.vkey,
    walletAddress: wallet.address,
    topUpRuleId: topUp?.ruleId ?? null,
    topUpWalletId: topUp?.walletId ?? null,
    state: "Pending",
    error: null,
    tx: null,
    told: {},
    failures: 0,
    dueAt: now,
    createdAt: now,
    updatedAt: now,
    lastCheckedAt: null,
    rev: 0,
    lastOp: null,
  };
}

/** The statement that inserts a transfer. */
export function insertTransfer(db: Database, row: TransferRow): Statement {
  return db.orm.insert(transfer).values(row).toSQL();
}

/**
 * The statement that changes transfers as they were read; it aborts its batch when one of them has
 * changed.
 *
 * @param op - identifies the write, so that one whose answer was lost can be told from a stale one
 */
export function updateTransfers(
  changes: readonly { row: TransferRow; change: TransferChange }[],
  now: number,
  op: string = newId(now),
): Statement {
  const rows = changes.map(({ row, change }) => {
    const { tx, told, ...rest } = { ...row, ...change };
    const { id, rev, state, error, failures, dueAt, lastCheckedAt } = rest;
    return {
      ...{ id, rev, state, error, failures, dueAt, lastCheckedAt },
      tx: tx && JSON.stringify(tx),
      told: JSON.stringify(told),
    };
  });
  return statement(
    `UPDATE transfer SET state = v->>'state', error = v->>'error', tx = v->>'tx', told = v->>'told',
       failures = v->>'failures', due_at = v->>'dueAt', last_checked_at = v->>'lastCheckedAt',
       updated_at = ?2, rev = iif(rev = v->>'rev', rev + 1, NULL), last_op = ?3
     FROM (SELECT value AS v FROM json_each(?1)) WHERE id = v->>'id'`,
    JSON.stringify(rows),
    now,
    op,
  );
}

/**
 * Changes transfers as they were read.
 *
 * @param events - written with the change
 * @param db - with `writes: "idempotent"`
 * @throws StaleWallet
 */
export async function changeTransfers(
  db: Database,
  changes: readonly { row: TransferRow; change: TransferChange }[],
  events: readonly Statement[],
  now: number,
): Promise<void> {
  const [first] = changes;
  if (first === undefined) return;
  const op = newId(now);
  try {
    await db.batch([updateTransfers(changes, now, op), ...events]);
  } catch (error) {
    if (!violates(error, "transfer.rev")) throw error;
    const [current] = await readTransfers(db, [first.row.id]);
    if (current?.lastOp !== op) throw new StaleWallet("a transfer was moved meanwhile");
  }
}

export async function readTransfers(db: Database, ids: readonly string[]): Promise<TransferRow[]> {
  if (ids.length === 0) return [];
  return db.orm
    .select()
    .from(transfer)
    .where(sql`${transfer.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`);
}
