import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../../db/client.ts";
import { isOpen, meaningOf, PHASES, type Phase } from "./life.ts";
import type { WalletTransaction } from "./transaction.ts";
import { contentOf, type TransactionRow, transactionOf } from "./written.ts";

/** A database as far as wallets need one, so that a model of it is enough for tests. */
export type WalletDatabase = Pick<Database, "all" | "batch">;

/** An output of the wallet, and the transaction that spent it without having been made by the service. */
export interface SpentElsewhere {
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
  lineRoot: string | null;
  collateral: string | null;
  sequence: number;
  /** The newest outputs that somebody else has spent, the oldest of them first. */
  spentElsewhere: readonly SpentElsewhere[];
  /** Why it gets nothing done; null: nothing holds it up. */
  held: string | null;
}

/** Somebody else moved the wallet, or one of its records, since it was read: read it again. */
export class StaleWallet extends Error {
  override name: string = "StaleWallet";
}

/** A record of a task was changed since it was read, and the wallet was not moved. */
export class RecordChanged extends StaleWallet {
  override name = "RecordChanged";
}

/** How long after it was confirmed a transaction is expected to be final. */
const FINALITY_MS = 400_000;
/** How often the cron looks at one that ended, until it can never come. */
const ENDED_MS = 60_000;

export async function readWallet(
  db: WalletDatabase,
  network: Network,
  vkey: string,
): Promise<WalletState> {
  const [row] = await db.all<
    Omit<WalletState, "spentElsewhere"> & { spentElsewhere: string | null }
  >(
    `SELECT network, vkey, version, line_root AS lineRoot, collateral, sequence,
       spent_elsewhere AS spentElsewhere, held FROM hot_wallet
     WHERE network = ? AND vkey = ?`,
    network,
    vkey,
  );
  const never = { version: null, lineRoot: null, collateral: null, sequence: 0, held: null };
  if (row === undefined) return { network, vkey, ...never, spentElsewhere: [] };
  return { ...row, spentElsewhere: JSON.parse(row.spentElsewhere ?? "[]") };
}

/** The transactions of a wallet that are not final, in the order in which they were stored. */
export async function readOpen(
  db: WalletDatabase,
  network: Network,
  vkey: string,
): Promise<WalletTransaction[]> {
  const rows = await db.all<TransactionRow>(
    `SELECT hash, phase, sequence, source_id AS sourceId, content, block_height AS blockHeight,
       block_hash AS blockHash, block_time AS blockTime, over_height AS overHeight, error,
       updated_at AS movedAt
     FROM wallet_transaction
     WHERE network = ? AND wallet_vkey = ? AND due_at IS NOT NULL ORDER BY sequence`,
    network,
    vkey,
  );
  return rows.map(transactionOf);
}

/** How many transactions the wallets of a network have stored, ever. */
export async function storedSoFar(db: WalletDatabase, network: Network): Promise<number> {
  const [row] = await db.all<{ stored: number | null }>(
    "SELECT sum(sequence) AS stored FROM hot_wallet WHERE network = ?",
    network,
  );
  return row?.stored ?? 0;
}

/** Those of some hashes that the database knows. */
export async function knownOf(
  db: WalletDatabase,
  hashes: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ hash: string }>(
    "SELECT hash FROM wallet_transaction WHERE hash IN (SELECT value FROM json_each(?))",
    JSON.stringify(hashes),
  );
  return new Set(rows.map(({ hash }) => hash));
}

/** The signed bytes of transactions, by hash. */
export async function readBytes(
  db: WalletDatabase,
  hashes: readonly string[],
): Promise<Map<string, Uint8Array>> {
  if (hashes.length === 0) return new Map();
  const rows = await db.all<{ hash: string; cbor: string | null }>(
    `SELECT hash, cbor FROM wallet_transaction WHERE hash IN (SELECT value FROM json_each(?))`,
    JSON.stringify(hashes),
  );
  return new Map(
    rows.flatMap(({ hash, cbor }) =>
      cbor === null ? [] : [[hash, Uint8Array.from(Buffer.from(cbor, "base64"))] as const],
    ),
  );
}

/** Ids of the sources through which a wallet's open transactions were sent, the oldest first. */
export async function sourcesOfOpen(
  db: WalletDatabase,
  network: Network,
  vkey: string,
): Promise<string[]> {
  const rows = await db.all<{ sourceId: string }>(
    `SELECT source_id AS sourceId FROM wallet_transaction
     WHERE network = ? AND wallet_vkey = ? AND due_at IS NOT NULL
     GROUP BY source_id ORDER BY min(sequence)`,
    network,
    vkey,
  );
  return rows.map(({ sourceId }) => sourceId);
}

/** Those of some wallets that have a transaction which is not final. */
export async function vkeysOfOpen(
  db: WalletDatabase,
  network: Network,
  vkeys: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ vkey: string }>(
    `SELECT DISTINCT wallet_vkey AS vkey FROM wallet_transaction
     WHERE network = ? AND wallet_vkey IN (SELECT value FROM json_each(?)) AND due_at IS NOT NULL`,
    network,
    JSON.stringify(vkeys),
  );
  return new Set(rows.map(({ vkey }) => vkey));
}

/**
 * Writes a batch that moves the wallet.
 *
 * @param op - identifies the write, so that one whose answer was lost can be told from a stale one
 * @param revisions - columns that guard the records of the other statements
 * @returns the wallet as it is now
 * @throws StaleWallet, RecordChanged
 */
export async function commitWallet(
  db: WalletDatabase,
  wallet: WalletState,
  change: Partial<Pick<WalletState, "lineRoot" | "collateral" | "sequence" | "spentElsewhere">>,
  statements: readonly Statement[],
  { op, revisions }: { op: string; revisions: readonly `${string}.${string}`[] },
): Promise<WalletState> {
  const { network, vkey } = wallet;
  const next = { ...wallet, ...change, version: (wallet.version ?? 0) + 1 };
  try {
    await db.batch([
      statement(
        `INSERT INTO hot_wallet (network, vkey, version, last_op, line_root, collateral, sequence,
           spent_elsewhere)
         VALUES (?1, ?2, 1, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (network, vkey) DO UPDATE SET
           version = iif(version = ?3, version + 1, NULL), last_op = ?4, line_root = ?5,
           collateral = ?6, sequence = ?7, spent_elsewhere = ?8`,
        network,
        vkey,
        wallet.version ?? 0,
        op,
        next.lineRoot,
        next.collateral,
        next.sequence,
        next.spentElsewhere.length > 0 ? JSON.stringify(next.spentElsewhere) : null,
      ),
      ...statements,
    ]);
  } catch (error) {
    if (revisions.some((column) => violates(error, column)))
      throw new RecordChanged("a record of the wallet was changed meanwhile");
    if (!violates(error, "hot_wallet.version")) throw error;
    const [row] = await db.all<{ lastOp: string | null }>(
      "SELECT last_op AS lastOp FROM hot_wallet WHERE network = ? AND vkey = ?",
      network,
      vkey,
    );
    if (row?.lastOp !== op) throw new StaleWallet("the wallet was moved meanwhile");
  }
  return next;
}

/**
 * The statement that moves a wallet for somebody beside its object, which then reads everything again. It
 * aborts its batch (`hot_wallet.version`) when the wallet was moved since it was read.
 */
export function touchWallet({
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

/** The statement that stores a transaction. */
export function insertTransaction(
  { network, vkey }: Pick<WalletState, "network" | "vkey">,
  transaction: WalletTransaction,
  cbor: Uint8Array | null,
  { requestId, now }: { requestId: string; now: number },
): Statement {
  const { hash, phase, sequence, sourceId, overHeight, error } = transaction;
  return statement(
    `INSERT INTO wallet_transaction (hash, network, wallet_vkey, source_id, phase, sequence, cbor,
       content, over_height, error, request_id, created_at, updated_at, due_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13)`,
    hash,
    network,
    vkey,
    sourceId,
    phase,
    sequence,
    cbor && Buffer.from(cbor).toString("base64"),
    contentOf(transaction),
    overHeight,
    error,
    requestId,
    now,
    dueAt(phase, now),
  );
}

/** The statement that tells what became of some transactions. */
export function updateTransactions(
  transactions: readonly WalletTransaction[],
  now: number,
): Statement {
  const rows = transactions.map(
    ({ hash, phase, blockHeight, blockHash, blockTime, overHeight, error, movedAt }) => ({
      ...{ hash, phase, blockHeight, blockHash, blockTime, overHeight, error, movedAt },
      dueAt: dueAt(phase, now),
    }),
  );
  return statement(
    `UPDATE wallet_transaction SET phase = v->>'phase', block_height = v->>'blockHeight',
       block_hash = v->>'blockHash', block_time = v->>'blockTime', over_height = v->>'overHeight',
       error = v->>'error', due_at = v->>'dueAt', updated_at = v->>'movedAt',
       cbor = iif(v->>'dueAt' IS NULL, NULL, cbor)
     FROM (SELECT value AS v FROM json_each(?1))
     WHERE hash = v->>'hash'`,
    JSON.stringify(rows),
  );
}

/** SQL: whether a transaction has ended for its wallet, which has told its tasks, and does not tell them again. */
export const HAS_ENDED = `phase IN (${PHASES.filter((phase) => meaningOf(phase) === "Ended")
  .map((phase) => `'${phase}'`)
  .join()})`;

/** Those of some hashes whose transactions have ended for their wallets. */
export async function endedOf(
  db: Pick<WalletDatabase, "all">,
  hashes: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ hash: string }>(
    `SELECT hash FROM wallet_transaction
     WHERE hash IN (SELECT value FROM json_each(?)) AND ${HAS_ENDED}`,
    JSON.stringify(hashes),
  );
  return new Set(rows.map(({ hash }) => hash));
}

/**
 * Statements for the batch of a rollback that undoes what some transactions did: their wallets look
 * for them at once, send them again while they are valid, and do their tasks anew after that.
 *
 * @param now - epoch milliseconds
 */
export function reopenTransactions(hashes: Statement, now: number): Statement[] {
  const open = `hash IN (${hashes.sql}) AND phase IN ('InBlock', 'Confirmed', 'Final')`;
  return [
    statement(
      `UPDATE hot_wallet SET version = version + 1, last_op = NULL
       WHERE (network, vkey) IN (SELECT network, wallet_vkey FROM wallet_transaction WHERE ${open})`,
      ...hashes.params,
    ),
    statement(
      `UPDATE wallet_transaction SET phase = 'RolledBack', block_height = NULL, block_hash = NULL,
         block_time = NULL, due_at = ?, updated_at = ?
       WHERE ${open}`,
      now,
      now,
      ...hashes.params,
    ),
  ];
}

function dueAt(phase: Phase, now: number): number | null {
  if (!isOpen(phase)) return null;
  if (phase === "Confirmed") return now + FINALITY_MS;
  return meaningOf(phase) === "Ended" ? now + ENDED_MS : now;
}
