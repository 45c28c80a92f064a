/** What wallets have to do for transfers. */

import { and, asc, eq, isNotNull, sql } from "drizzle-orm";
import type { Network } from "../../chain/network.ts";
import { type Database, statement } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { walletsDueIn } from "../due.ts";
import { MAX_TRIES } from "../pauses.ts";
import { tellOfTopUps } from "./distributions.ts";
import { changeTransfers } from "./store.ts";
import { type TransferRow, transfer } from "./tables.ts";

/** The name of transfers in stored transactions. */
export const TRANSFER_WORK = "transfer";

/** A managed wallet, as a payment source has it. */
export interface SourceWallet {
  network: Network;
  /** Payment key hash, hex. */
  vkey: string;
  sourceId: string;
}

/** Whether it is not tried again, and has failed as soon as nothing of it can land any more. */
export const isGivenUp = ({ state, failures }: Pick<TransferRow, "state" | "failures">) =>
  state === "Pending" && failures >= MAX_TRIES;

/**
 * Transfers that a wallet has to build transactions for, what has waited longest first, then those
 * that were given up; they may not be due yet.
 */
export function openTransfers(
  db: Database,
  { network, vkey, sourceId }: SourceWallet,
  limit: number,
): Promise<TransferRow[]> {
  return db.orm
    .select()
    .from(transfer)
    .where(and(hasWork(network, vkey), eq(transfer.sourceId, sourceId)))
    .orderBy(...LIVE_FIRST)
    .limit(limit);
}

/** Those that were given up come last. */
const LIVE_FIRST = [
  sql`${transfer.failures} >= ${MAX_TRIES}`,
  asc(transfer.dueAt),
  asc(transfer.id),
] as const;

/** Of a wallet, and waiting for a transaction, or for its end. */
function hasWork(network: Network, vkey: string) {
  return and(
    eq(transfer.network, network),
    eq(transfer.walletVkey, vkey),
    isNotNull(transfer.dueAt),
  );
}

/**
 * Tells given-up transfers of a wallet that they have failed, where none of their transactions can
 * land any more.
 *
 * @param now - epoch milliseconds
 */
export async function failGivenUp(
  db: Database,
  { network, vkey }: SourceWallet,
  now: number,
): Promise<void> {
  await db.batch([
    statement(
      `UPDATE transfer SET state = 'Failed', due_at = NULL, updated_at = ?3, rev = rev + 1,
         last_op = NULL
       WHERE network = ?1 AND wallet_vkey = ?2 AND due_at <= ?3 AND failures >= ?4
         AND id NOT IN (
           SELECT task.value->>'id' FROM wallet_transaction AS tx, json_each(tx.content, '$.tasks') AS task
           WHERE tx.network = ?1 AND tx.wallet_vkey = ?2 AND tx.due_at IS NOT NULL
             AND task.value->>'work' = ?5)`,
      network,
      vkey,
      now,
      MAX_TRIES,
      TRANSFER_WORK,
    ),
  ]);
}

/** The transfer for whose source a wallet works next: the one that has waited longest. */
export async function nextTransfer(
  db: Database,
  network: Network,
  vkey: string,
): Promise<TransferRow | undefined> {
  const [row] = await db.orm
    .select()
    .from(transfer)
    .where(hasWork(network, vkey))
    .orderBy(...LIVE_FIRST)
    .limit(1);
  return row;
}

/** Transfers that are given up together. */
const GIVEN_UP_AT_ONCE = 100;

/**
 * Gives up transfers that a wallet has not sent for a payment source that was removed: there is no
 * provider left to ask.
 *
 * @param now - epoch milliseconds
 * @throws StaleWallet
 */
export async function failTransfersWithoutSource(
  db: Database,
  wallet: SourceWallet,
  now: number,
): Promise<void> {
  const failure = "the wallet's payment source was removed";
  const batch = { id: newId(now), txHash: null };
  const failed = (await openTransfers(db, wallet, GIVEN_UP_AT_ONCE)).map((row) => {
    const late = row.tx === null ? "" : "; what was sent to the network before may still land";
    const change = {
      state: "Failed",
      error: failure + late,
      failures: MAX_TRIES,
      dueAt: null,
    } as const;
    return { row, change, batch, failure };
  });
  const { changes, events } = tellOfTopUps(failed, now);
  await changeTransfers(db, changes, events, now);
}

/** Wallets with transfers to build. */
export const walletsWithTransfers = walletsDueIn("transfer");
