import type { Network } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import { StaleWallet } from "../wallets/spending/stored/wallet.ts";
import { UNFINISHED } from "./tables.ts";
import { changeRecords } from "./tasks/change.ts";
import type { RecordError } from "./wanted.ts";

/** Payments and purchases of some wallets at a payment source. */
export interface RecordsOfWallets {
  sourceId: string;
  network: Network;
  /** Payment key hashes, hex; null: all of the source. */
  vkeys: readonly string[] | null;
}

/** Records that are changed in one batch. */
const CHUNK = 50;

const REMOVED: RecordError = {
  isManual: true,
  type: "Unknown",
  note: "Its wallet or payment source was removed: nothing is done for it any more. Add the wallet again to go on",
  txHash: null,
};

/** How many payments and purchases are not finished. */
export async function countUnfinished(ledger: Database, of: RecordsOfWallets): Promise<number> {
  const [row] = await ledger.all<{ count: number }>(
    `SELECT count(*) AS count FROM escrow WHERE ${OF_WALLETS}`,
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
 * Has nothing done any more for records that are not finished, and says so in each of them.
 *
 * @param now - epoch milliseconds
 * @param until - epoch milliseconds after which none is begun
 * @returns whether all have been told
 */
export function giveUpRecords(
  ledger: Database,
  of: RecordsOfWallets,
  now: number,
  until: number,
): Promise<boolean> {
  return changeErrors(
    ledger,
    of,
    { from: "error IS NULL OR error->>'note' <> ?3", to: REMOVED },
    now,
    until,
  );
}

/**
 * Has what was given up with its wallet go on.
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
  return changeErrors(ledger, of, { from: "error->>'note' = ?3", to: null }, now, until);
}

/** The wallet that acts for a record; earlier versions kept it among the terms. */
const WALLET = "coalesce(wallet->>'vkey', terms->>'$.wallet.vkey')";
/** One that ended with nothing but deviating locks is finished, though its state is no last one. */
const OPEN = `${UNFINISHED} AND (on_chain_state IS NULL OR expired_at IS NULL)`;
const OF_WALLETS = `source_id = ?1 AND ${OPEN}
  AND (?2 IS NULL OR ${WALLET} IN (SELECT value FROM json_each(?2)))`;

const paramsOf = ({ sourceId, vkeys }: RecordsOfWallets) => [
  sourceId,
  vkeys && JSON.stringify(vkeys),
];

async function changeErrors(
  ledger: Database,
  of: RecordsOfWallets,
  { from, to }: { from: string; to: RecordError | null },
  now: number,
  until: number,
): Promise<boolean> {
  for (;;) {
    const rows = await ledger.all<{ id: string }>(
      `SELECT id FROM escrow WHERE ${OF_WALLETS} AND (${from}) LIMIT ${CHUNK}`,
      ...paramsOf(of),
      REMOVED.note,
    );
    if (rows.length === 0) return true;
    if (Date.now() >= until) return false;
    const ids = rows.map(({ id }) => id);
    try {
      await changeRecords(ledger, of.network, ids, now, ({ wanted }) => ({
        wanted: { ...wanted, error: to },
      }));
    } catch (error) {
      // One was changed since it was read: all are read again.
      if (!(error instanceof StaleWallet)) throw error;
    }
  }
}
