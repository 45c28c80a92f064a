/** The transactions of wallets as the database keeps them. */
import type { Network } from "../../../chain/network.ts";
import { type Statement, statement } from "../../../db/client.ts";
import {
  isOpen,
  progressOf,
  TRANSACTION_PHASES,
  type TransactionPhase,
} from "../../model/phases.ts";
import type { WalletTransaction } from "../../model/wallet-transaction.ts";
import { findEarliestTime } from "../../queue/backoff.ts";
import { subjectIdOf } from "../../queue/store.ts";
import {
  parseTransaction,
  serializeContent,
  type TransactionRow,
} from "../model/serialize-transaction.ts";
import type { WalletDatabase, WalletState } from "./wallet.ts";

/** How long after it was confirmed a transaction is expected to be final. */
const FINALITY_DELAY_MS = 400_000;
/** How often the cron looks at one that ended, until it can never come. */
const ENDED_POLL_INTERVAL_MS = 60_000;

/** The transactions of a wallet that are not final, in the order in which they were stored. */
export async function readOpenTransactions(
  db: WalletDatabase,
  network: Network,
  vkey: string,
): Promise<WalletTransaction[]> {
  return (await readUnsettledTransactions(db, network, vkey)).filter(({ phase }) => isOpen(phase));
}

/** The same, and final ones of which not all records say yet that they are. */
export async function readUnsettledTransactions(
  db: WalletDatabase,
  network: Network,
  vkey: string,
): Promise<WalletTransaction[]> {
  const rows = await db.all<TransactionRow>(
    `SELECT hash, phase, sequence, source_id AS sourceId, content, block_height AS blockHeight,
       block_hash AS blockHash, block_time AS blockTime, over_height AS overHeight, error,
       updated_at AS movedAt
     FROM wallet_transaction JOIN wallet_transaction_content USING (hash)
     WHERE network = ? AND wallet_vkey = ? AND due_at IS NOT NULL ORDER BY sequence`,
    network,
    vkey,
  );
  return rows.map(parseTransaction);
}

/** Those of some hashes that the database knows. */
export async function findKnownHashes(
  db: WalletDatabase,
  hashes: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ hash: string }>(
    "SELECT hash FROM wallet_transaction WHERE hash IN (SELECT value FROM json_each(?))",
    JSON.stringify(hashes),
  );
  return new Set(rows.map(({ hash }) => hash));
}

/** The subjects of a transaction's tasks, by id. None: no managed wallet has the transaction. */
export async function readSubjectIds(
  db: Pick<WalletDatabase, "all">,
  hash: string,
): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `SELECT task.value->>'id' AS id FROM wallet_transaction, json_each(tasks) AS task WHERE hash = ?`,
    hash,
  );
  return rows.map(({ id }) => subjectIdOf(id));
}

/** The signed bytes of transactions, by hash. */
export async function readSignedBytes(
  db: WalletDatabase,
  hashes: readonly string[],
): Promise<Map<string, Uint8Array>> {
  if (hashes.length === 0) return new Map();
  const rows = await db.all<{ hash: string; cbor: string | null }>(
    `SELECT hash, cbor FROM wallet_transaction_content WHERE hash IN (SELECT value FROM json_each(?))`,
    JSON.stringify(hashes),
  );
  return new Map(
    rows.flatMap(({ hash, cbor }) =>
      cbor === null ? [] : [[hash, Uint8Array.from(Buffer.from(cbor, "base64"))] as const],
    ),
  );
}

/** Ids of the sources through which a wallet's open transactions were sent, the oldest first. */
export async function listOpenSources(
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
export async function listOpenVkeys(
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

/** The statements that store a transaction. */
export function insertTransaction(
  { network, vkey }: Pick<WalletState, "network" | "vkey">,
  transaction: WalletTransaction,
  cbor: Uint8Array | null,
  { requestId, now }: { requestId: string; now: number },
): Statement[] {
  const { hash, phase, sequence, sourceId, overHeight, error, tasks, fee, validTo } = transaction;
  return [
    statement(
      `INSERT INTO wallet_transaction (hash, network, wallet_vkey, source_id, phase, sequence,
         tasks, fee, valid_to, over_height, error, request_id, created_at, updated_at, due_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14)`,
      hash,
      network,
      vkey,
      sourceId,
      phase,
      sequence,
      JSON.stringify(tasks.map(({ feature, id }) => ({ feature, id }))),
      String(fee),
      validTo,
      overHeight,
      error,
      requestId,
      now,
      computeDueAt(transaction, now),
    ),
    statement(
      "INSERT INTO wallet_transaction_content (hash, content, cbor) VALUES (?, ?, ?)",
      hash,
      serializeContent(transaction),
      cbor && Buffer.from(cbor).toString("base64"),
    ),
  ];
}

/** The statements that tell what became of some transactions. */
export function updateTransactions(
  transactions: readonly WalletTransaction[],
  now: number,
): Statement[] {
  const rows = transactions.map((one) => {
    const { hash, phase, blockHeight, blockHash, blockTime, overHeight, error, movedAt } = one;
    return {
      ...{ hash, phase, blockHeight, blockHash, blockTime, overHeight, error, movedAt },
      dueAt: computeDueAt(one, now),
      content: one.failedUpdates ? serializeContent(one) : null,
    };
  });
  const update = statement(
    `UPDATE wallet_transaction SET phase = v->>'phase', block_height = v->>'blockHeight',
       block_hash = iif(v->>'dueAt' IS NULL, NULL, v->>'blockHash'), block_time = v->>'blockTime',
       over_height = v->>'overHeight',
       error = v->>'error', due_at = v->>'dueAt', updated_at = v->>'movedAt'
     FROM (SELECT value AS v FROM json_each(?1))
     WHERE hash = v->>'hash'`,
    JSON.stringify(rows),
  );
  const changed = rows.filter(({ dueAt, content }) => dueAt === null || content !== null);
  if (changed.length === 0) return [update];
  return [
    update,
    statement(
      `UPDATE wallet_transaction_content SET
         cbor = iif(v->>'dueAt' IS NULL, NULL, cbor), content = coalesce(v->>'content', content)
       FROM (SELECT value AS v FROM json_each(?1))
       WHERE hash = v->>'hash'`,
      JSON.stringify(changed),
    ),
  ];
}

/** Deletes the content of those of some transactions that are final. @param hashes - SQL that selects them */
export function deleteFinalContents(hashes: Statement): Statement {
  return statement(
    `DELETE FROM wallet_transaction_content WHERE hash IN (
       SELECT hash FROM wallet_transaction WHERE hash IN (${hashes.sql}) AND due_at IS NULL)`,
    ...hashes.params,
  );
}

/** SQL: whether a transaction has ended for its wallet, which has told its tasks, and does not tell them again. */
export const HAS_ENDED_CONDITION = `phase IN (${TRANSACTION_PHASES.filter(
  (phase) => progressOf(phase) === "Ended",
)
  .map((phase) => `'${phase}'`)
  .join()})`;

/** Those of some hashes whose transactions have ended for their wallets. */
export async function findEndedHashes(
  db: Pick<WalletDatabase, "all">,
  hashes: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.all<{ hash: string }>(
    `SELECT hash FROM wallet_transaction
     WHERE hash IN (SELECT value FROM json_each(?)) AND ${HAS_ENDED_CONDITION}`,
    JSON.stringify(hashes),
  );
  return new Set(rows.map(({ hash }) => hash));
}

/**
 * Builds the statements for a rollback that undoes transactions. Their wallets poll for them at once, resend
 * them while they are valid, and repeat their tasks afterwards.
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

function computeDueAt(
  { phase, failedUpdates = [] }: WalletTransaction,
  now: number,
): number | null {
  return findEarliestTime([
    computeChainDueAt(phase, now),
    ...failedUpdates.map(({ tryAt }) => tryAt),
  ]);
}

function computeChainDueAt(phase: TransactionPhase, now: number): number | null {
  if (!isOpen(phase)) return null;
  if (phase === "Confirmed") return now + FINALITY_DELAY_MS;
  return progressOf(phase) === "Ended" ? now + ENDED_POLL_INTERVAL_MS : now;
}
