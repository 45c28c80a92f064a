import type { Network } from "../../chain/network.ts";
import { type Database, statement } from "../../db/client.ts";
import { StaleWalletError } from "../../wallets/queue/errors.ts";
import { UNFINISHED_CONDITION } from "../store/predicates.ts";
import { changeRecords } from "./change-records.ts";

/** Payments and purchases of some wallets at a payment source. */
export interface WalletRecordsFilter {
  sourceId: string;
  network: Network;
  /** Payment key hashes, hex; null: all of the source. */
  vkeys: readonly string[] | null;
}

/** Records that are changed in one batch. */
const CHUNK_SIZE = 50;
/** Records that are marked in one batch. */
const MARK_CHUNK_SIZE = 1_000;

/** As long after a record has ended a rollback of up to 20 blocks, or a lock found late, may open it again. */
const REOPENING_MAX_AGE_MS = 60 * 60_000;

/** How many payments and purchases are not finished. */
export async function countUnfinishedRecords(
  database: Database,
  of: WalletRecordsFilter,
): Promise<number> {
  const [row] = await database.all<{ count: number }>(
    `SELECT count(*) AS count FROM escrow WHERE ${WALLETS_CONDITION} AND ${OPEN_CONDITION}`,
    ...paramsOf(of),
  );
  return row?.count ?? 0;
}

/** Those of some wallets, by source and payment key hash, which a record names that is not finished. */
export async function findWalletsOfUnfinishedRecords(
  database: Database,
  wallets: readonly { sourceId: string; vkey: string }[],
): Promise<{ sourceId: string; vkey: string }[]> {
  return database.all(
    `SELECT v->>'sourceId' AS sourceId, v->>'vkey' AS vkey
     FROM (SELECT value AS v FROM json_each(?))
     WHERE EXISTS (SELECT 1 FROM escrow
       WHERE source_id = v->>'sourceId' AND wallet_vkey = v->>'vkey' AND ${OPEN_CONDITION})`,
    JSON.stringify(wallets),
  );
}

/**
 * Stops work on open records whose wallet was removed, and notes that in each record. Intents and errors
 * stay.
 *
 * @param now - epoch milliseconds
 * @param until - epoch milliseconds after which no record is started
 * @returns whether all records are done
 */
export async function abandonRecords(
  database: Database,
  of: WalletRecordsFilter,
  now: number,
  until: number,
): Promise<boolean> {
  if (of.vkeys?.length === 0) return true;
  const open = { are: `${OPEN_CONDITION} AND wallet_removed IS NULL`, isWalletRemoved: true };
  return (
    (await setWalletRemoved(database, of, open, now, until)) &&
    markFinished(database, of, now, until)
  );
}

/** Those that may be open again are shown as before, so nothing but the mark is written. */
async function markFinished(
  database: Database,
  of: WalletRecordsFilter,
  now: number,
  until: number,
): Promise<boolean> {
  const marked = `SELECT id FROM escrow INDEXED BY escrow_changed
    WHERE side IN ('payment', 'purchase') AND network = ?3
      AND source_type IN ('Web3ChainV1', 'Web3ChainV2') AND changed_at > ?4
      AND ${WALLETS_CONDITION} AND NOT (${OPEN_CONDITION}) AND wallet_removed IS NULL`;
  const params = [...paramsOf(of), of.network, now - REOPENING_MAX_AGE_MS];
  for (;;) {
    const rows = await database.all(`${marked} LIMIT 1`, ...params);
    if (rows.length === 0) return true;
    if (Date.now() >= until) return false;
    await database.batch([
      statement(
        `UPDATE escrow SET wallet_removed = 1, due_at = NULL, revision = revision + 1
         WHERE id IN (${marked} LIMIT ${MARK_CHUNK_SIZE})`,
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
  database: Database,
  of: WalletRecordsFilter,
  now: number,
  until: number,
): Promise<boolean> {
  const removed = { are: "wallet_removed IS NOT NULL", isWalletRemoved: false };
  return setWalletRemoved(database, of, removed, now, until);
}

/** One that ended with nothing but deviating locks is finished, though its state is no last one. */
const OPEN_CONDITION = `${UNFINISHED_CONDITION} AND (on_chain_state IS NULL OR expired_at IS NULL)`;
const WALLETS_CONDITION = `source_id = ?1 AND (?2 IS NULL OR wallet_vkey IN (SELECT value FROM json_each(?2)))`;

const paramsOf = ({ sourceId, vkeys }: WalletRecordsFilter) => [
  sourceId,
  vkeys && JSON.stringify(vkeys),
];

async function setWalletRemoved(
  database: Database,
  of: WalletRecordsFilter,
  { are, isWalletRemoved }: { are: string; isWalletRemoved: boolean },
  now: number,
  until: number,
): Promise<boolean> {
  for (;;) {
    const rows = await database.all<{ id: string }>(
      `SELECT id FROM escrow WHERE ${WALLETS_CONDITION} AND ${are} LIMIT ${CHUNK_SIZE}`,
      ...paramsOf(of),
    );
    if (rows.length === 0) return true;
    if (Date.now() >= until) return false;
    const ids = rows.map(({ id }) => id);
    try {
      await changeRecords(database, of.network, ids, now, () => ({ isWalletRemoved }));
    } catch (error) {
      // One was changed since it was read: all are read again.
      if (!(error instanceof StaleWalletError)) throw error;
    }
  }
}
