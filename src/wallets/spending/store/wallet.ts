/** A wallet's row, which every batch of it moves: so two objects of one wallet never go on side by side. */

import type { Network } from "../../../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../../../db/client.ts";
import { RecordChangedError, StaleWalletError } from "../../queue/errors.ts";
import type { StoredCounts } from "../model/journal.ts";

/** A database as far as wallets need one, so that a model of it is enough for tests. */
export type WalletDatabase = Pick<Database, "all" | "batch">;

/** An output of the wallet, and the transaction that spent it without having been made by the service. */
export interface ForeignSpend {
  /** `<transaction>#<index>`. */
  output: string;
  /** Hex. */
  txHash: string;
  /** When it was noticed, epoch milliseconds. */
  at: number;
}

/** A wallet as it was read; see `hotWallet` in `tables.ts`. */
export interface WalletState {
  network: Network;
  vkey: string;
  /** Null: it has no row yet. */
  version: number | null;
  chainRoot: string | null;
  collateral: string | null;
  sequence: number;
  /** The newest foreign spends, oldest first. */
  spentElsewhere: readonly ForeignSpend[];
  /** Why it gets nothing done; null: nothing holds it up. */
  blocker: string | null;
}

export async function readWallet(
  db: WalletDatabase,
  network: Network,
  vkey: string,
): Promise<WalletState> {
  const [row] = await db.all<
    Omit<WalletState, "spentElsewhere"> & { spentElsewhere: string | null }
  >(
    `SELECT network, vkey, version, chain_root AS chainRoot, collateral, sequence,
       spent_elsewhere AS spentElsewhere, blocker FROM hot_wallet
     WHERE network = ? AND vkey = ?`,
    network,
    vkey,
  );
  const never = { version: null, chainRoot: null, collateral: null, sequence: 0, blocker: null };
  if (row === undefined) return { network, vkey, ...never, spentElsewhere: [] };
  return { ...row, spentElsewhere: JSON.parse(row.spentElsewhere ?? "[]") };
}

/** The statement that counts the transactions which the wallets of a network have stored, ever. */
export function selectStoredCounts(network: Network): Statement {
  return statement(
    `SELECT ifnull(sum(sequence), 0) AS total, json_group_object(vkey, sequence) AS each
     FROM hot_wallet WHERE network = ?`,
    network,
  );
}

export async function countStoredTransactions(
  db: WalletDatabase,
  network: Network,
): Promise<StoredCounts> {
  const { sql, params } = selectStoredCounts(network);
  const [counts = { total: 0, each: "{}" }] = await db.all<StoredCounts>(sql, ...params);
  return counts;
}

/**
 * Commits a batch that increments the wallet's version.
 *
 * @param op - identifies the write, which may be applied although its answer was lost.
 * @param revisions - columns that guard the records of the other statements.
 * @returns the present wallet, and the results of the statements; none if the answer was lost.
 * @throws StaleWalletError, RecordChangedError.
 */
export async function commitWallet(
  db: WalletDatabase,
  wallet: WalletState,
  change: Partial<Pick<WalletState, "chainRoot" | "collateral" | "sequence" | "spentElsewhere">>,
  statements: readonly Statement[],
  { op, revisions }: { op: string; revisions: readonly `${string}.${string}`[] },
): Promise<{ wallet: WalletState; results: D1Result[] }> {
  const { network, vkey } = wallet;
  const next = { ...wallet, ...change, version: (wallet.version ?? 0) + 1 };
  try {
    const [, ...results] = await db.batch([
      statement(
        `INSERT INTO hot_wallet (network, vkey, version, last_op, chain_root, collateral, sequence,
           spent_elsewhere)
         VALUES (?1, ?2, 1, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (network, vkey) DO UPDATE SET
           version = iif(version = ?3, version + 1, NULL), last_op = ?4, chain_root = ?5,
           collateral = ?6, sequence = ?7, spent_elsewhere = ?8`,
        network,
        vkey,
        wallet.version ?? 0,
        op,
        next.chainRoot,
        next.collateral,
        next.sequence,
        next.spentElsewhere.length > 0 ? JSON.stringify(next.spentElsewhere) : null,
      ),
      ...statements,
    ]);
    return { wallet: next, results };
  } catch (error) {
    if (revisions.some((column) => violates(error, column)))
      throw new RecordChangedError("a record of the wallet was changed meanwhile");
    if (!violates(error, "hot_wallet.version")) throw error;
    const [row] = await db.all<{ lastOp: string | null }>(
      "SELECT last_op AS lastOp FROM hot_wallet WHERE network = ? AND vkey = ?",
      network,
      vkey,
    );
    if (row?.lastOp !== op) throw new StaleWalletError("the wallet was moved meanwhile");
    return { wallet: next, results: [] };
  }
}

/**
 * The statement that moves a wallet for somebody beside its object, which then reads everything again. It
 * aborts its batch (`hot_wallet.version`) when the wallet was moved since it was read.
 */
export function bumpWalletVersion({
  network,
  vkey,
  version,
}: Pick<WalletState, "network" | "vkey" | "version">): Statement {
  return statement(
    `INSERT INTO hot_wallet (network, vkey, version, sequence) VALUES (?1, ?2, 1, 0)
     ON CONFLICT (network, vkey) DO UPDATE SET version = iif(version = ?3, version + 1, NULL),
       last_op = NULL`,
    network,
    vkey,
    version ?? 0,
  );
}
