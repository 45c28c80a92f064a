import type { Network } from "../chain/network.ts";
import { type Database, statement } from "../db/client.ts";
import { StaleWallet } from "../wallets/spending/stored/wallet.ts";
import { UNFINISHED } from "./tables.ts";
import { changeRecords } from "./tasks/change.ts";

/** Payments and purchases of some wallets at a payment source. */
export interface RecordsOfWallets {
  sourceId: string;
  network: Network;
  /** Payment key hashes, hex; null: all of the source. */
  vkeys: readonly string[] | null;
}

/** Records that are changed in one batch. */
const CHUNK = 50;
/** Records that are marked in one batch. */
const MARKED_CHUNK = 1_000;

/** As long after a record has ended a rollback of up to 20 blocks, or a lock found late, may open it again. */
const MAY_RETURN_MS = 60 * 60_000;

/** How many payments and purchases are not finished. */
export async function countUnfinished(ledger: Database, of: RecordsOfWallets): Promise<number> {
  const [row] = await ledger.all<{ count: number }>(
    `SELECT count(*) AS count FROM escrow WHERE ${OF_WALLETS} AND ${OPEN}`,
    ...paramsOf(of),
  );
  return row?.count ?? 0;
}

/** Those of some wallets, by source and payment key hash, which a record names that is not finished. */
export async function namedByUnfinished(
  ledger: Database,
  wallets: readonly { sourceId: string; vkey: string }[],
): Promise<{ sourceId: string; vkey: string }[]> {
  return ledger.all(
    `SELECT v->>'sourceId' AS sourceId, v->>'vkey' AS vkey
     FROM (SELECT value AS v FROM json_each(?))
     WHERE EXISTS (SELECT 1 FROM escrow
       WHERE source_id = v->>'sourceId' AND ${WALLET} = v->>'vkey' AND ${OPEN})`,
    JSON.stringify(wallets),
  );
}

/**
 * Has nothing done any more for records that are not finished, or may be open again, since their wallet was
 * removed, and says so in each of them. What is wanted of them, and what went wrong, stays as it is.
 *
 * @param now - epoch milliseconds
 * @param until - epoch milliseconds after which none is begun
 * @returns whether all have been told
 */
export async function abandonRecords(
  ledger: Database,
  of: RecordsOfWallets,
  now: number,
  until: number,
): Promise<boolean> {
  if (of.vkeys?.length === 0) return true;
  const open = { are: `${OPEN} AND wallet_removed IS NULL`, isWalletRemoved: true };
  return (await tellEach(ledger, of, open, now, until)) && markFinished(ledger, of, now, until);
}

/** Those that may be open again are shown as before, so nothing but the mark is written. */
async function markFinished(
  ledger: Database,
  of: RecordsOfWallets,
  now: number,
  until: number,
): Promise<boolean> {
  const marked = `SELECT id FROM escrow INDEXED BY escrow_changed
    WHERE side IN ('payment', 'purchase') AND network = ?3
      AND source_type IN ('Web3ChainV1', 'Web3ChainV2') AND changed_at > ?4
      AND ${OF_WALLETS} AND NOT (${OPEN}) AND wallet_removed IS NULL`;
  const params = [...paramsOf(of), of.network, now - MAY_RETURN_MS];
  for (;;) {
    const rows = await ledger.all(`${marked} LIMIT 1`, ...params);
    if (rows.length === 0) return true;
    if (Date.now() >= until) return false;
    await ledger.batch([
      statement(
        `UPDATE escrow SET wallet_removed = 1, due_at = NULL, rev = rev + 1
         WHERE id IN (${marked} LIMIT ${MARKED_CHUNK})`,
        ...params,
      ),
    ]);
  }
}

/**
 * Has records go on whose wallet is back.
 *
 * @param now - epoch milliseconds
 * @param until - epoch milliseconds after which none is begun
 * @returns whether all have been told
 */
export function resumeRecords(
  ledger: Database,
  of: RecordsOfWallets,
  now: number,
  until: number,
): Promise<boolean> {
  const removed = { are: "wallet_removed IS NOT NULL", isWalletRemoved: false };
  return tellEach(ledger, of, removed, now, until);
}

/** The wallet that acts for a record; earlier versions kept it among the terms. */
const WALLET = "coalesce(wallet->>'vkey', terms->>'$.wallet.vkey')";
/** One that ended with nothing but deviating locks is finished, though its state is no last one. */
const OPEN = `${UNFINISHED} AND (on_chain_state IS NULL OR expired_at IS NULL)`;
const OF_WALLETS = `source_id = ?1 AND (?2 IS NULL OR ${WALLET} IN (SELECT value FROM json_each(?2)))`;

const paramsOf = ({ sourceId, vkeys }: RecordsOfWallets) => [
  sourceId,
  vkeys && JSON.stringify(vkeys),
];

async function tellEach(
  ledger: Database,
  of: RecordsOfWallets,
  { are, isWalletRemoved }: { are: string; isWalletRemoved: boolean },
  now: number,
  until: number,
): Promise<boolean> {
  for (;;) {
    const rows = await ledger.all<{ id: string }>(
      `SELECT id FROM escrow WHERE ${OF_WALLETS} AND ${are} LIMIT ${CHUNK}`,
      ...paramsOf(of),
    );
    if (rows.length === 0) return true;
    if (Date.now() >= until) return false;
    const ids = rows.map(({ id }) => id);
    try {
      await changeRecords(ledger, of.network, ids, now, () => ({ isWalletRemoved }));
    } catch (error) {
      // One was changed since it was read: all are read again.
      if (!(error instanceof StaleWallet)) throw error;
    }
  }
}
