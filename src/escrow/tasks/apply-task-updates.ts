import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { readTip } from "../../indexer/chain-tip.ts";
import { progressOf, type TransactionPhase } from "../../wallets/model/phases.ts";
import type { TaskUpdate } from "../../wallets/model/wallet-transaction.ts";
import { NOT_ACCEPTED_REASON } from "../../wallets/queue/outcome.ts";
import type { EscrowRecord, WalletReference } from "../model/escrow-record.ts";
import { type Intent, isPaused } from "../model/intent.ts";
import type { TransactionStatus } from "../model/transaction-record.ts";
import { ChangeSet } from "../store/change-set.ts";
import { type LoadedRecords, loadRecords } from "../store/load-records.ts";
import { writeChanges } from "../store/write-changes.ts";
import type { ReadRecords } from "./feature-ports.ts";
import { retryIntent } from "./retry-intent.ts";
import { parseTaskId } from "./task-id.ts";

/** After this many collaterals a step is left to a person. */
const MAX_LOST_COLLATERALS = 2;

/** What a transaction of a wallet moves. */
interface RecordUpdate {
  record: EscrowRecord;
  intentId: string;
  /** The escrow's output that its part spends; left out of a lock. */
  spends: string | null | undefined;
  txHash: string;
  phase: TransactionPhase;
  /** Why it ended, for people. */
  reason: string | null;
}

/**
 * Builds the statements that apply task updates to records. Revisions (`escrow.revision`) guard them. They belong
 * to the batch in which a wallet stores a transaction or its new phase.
 *
 * A record has a row of each of its transactions, and at most one pending transaction. Only the sync
 * confirms a transaction. If a record no longer wants what a new transaction does, the statements abort the
 * batch.
 *
 * @param wallet - the owner of the transactions. Null: its payment source no longer has it.
 * @param now - epoch milliseconds
 * @param read - records as new transactions were built for them. Without these all records are read again.
 */
export async function applyTaskUpdates(
  db: Pick<Database, "all">,
  network: Network,
  wallet: WalletReference | null,
  all: readonly TaskUpdate[],
  now: number,
  read?: ReadRecords,
): Promise<Statement[]> {
  const updates = all.filter(({ transaction }) => progressOf(transaction.phase) !== "Landed");
  if (updates.length === 0) return [];
  const {
    records,
    storedTransactions: stored,
    tipHeight,
  } = (read && findReadRecords(read, updates)) ?? (await loadUpdatedRecords(db, network, updates));
  const bySource = Map.groupBy(records, ({ sourceId }) => sourceId);
  return [...bySource].flatMap(([sourceId, found]) => {
    const changes = new ChangeSet(found, now, tipHeight, { stored });
    const isWanted = updates.every((update) => {
      const { recordId, intentId } = parseTaskId(update.task.id);
      const record = found.find(({ id }) => id === recordId);
      if (record === undefined) return true;
      const { hash: txHash, phase, error: reason } = update.transaction;
      const { spends } = update.task.detail;
      return applyUpdate(changes, { record, intentId, spends, txHash, phase, reason }, wallet);
    });
    return isWanted ? writeChanges(changes, { sourceId, network }) : [buildAbortStatement(found)];
  });
}

interface UpdatedRecords extends LoadedRecords {
  tipHeight: number;
}

async function loadUpdatedRecords(
  db: Pick<Database, "all">,
  network: Network,
  updates: readonly TaskUpdate[],
): Promise<UpdatedRecords> {
  const [loaded, tip] = await Promise.all([
    loadRecords(
      db,
      updates.map(({ transaction }) => transaction.hash),
      "SELECT value FROM json_each(?2)",
      JSON.stringify(updates.map(({ task }) => parseTaskId(task.id).recordId)),
    ),
    readTip(db, network),
  ]);
  return { ...loaded, tipHeight: tip ?? 0 };
}

/** The records of new transactions, of which nothing is stored yet; null: some must be read. */
function findReadRecords(
  { byId, tipHeight }: ReadRecords,
  updates: readonly TaskUpdate[],
): UpdatedRecords | null {
  const ids = new Set(updates.map(({ task }) => parseTaskId(task.id).recordId));
  // Copies: what fails is stored again from the same records.
  const records = [...ids].flatMap((id) => {
    const record = byId.get(id);
    return record ? [{ ...record }] : [];
  });
  const isKnown =
    records.length === ids.size &&
    updates.every(({ transaction }) => transaction.phase === "Stored");
  return isKnown ? { records, storedTransactions: [], tipHeight } : null;
}

/** @returns whether the batch may be written */
function applyUpdate(
  changes: ChangeSet,
  told: RecordUpdate,
  wallet: WalletReference | null,
): boolean {
  const { record, txHash, phase } = told;
  const stored = changes.findStoredTransaction(record, txHash);
  switch (progressOf(phase)) {
    case "UnderWay":
      if (stored !== undefined) return restartIntent(changes, told);
      // One that a database forgot was sent long ago: what it was for may be over.
      return startIntent(changes, told, wallet) || phase !== "Stored";
    case "Landed":
      return true;
    case "Ended":
      endTransaction(changes, told);
      return true;
  }
}

/** A new transaction was stored. */
function startIntent(
  changes: ChangeSet,
  told: RecordUpdate,
  wallet: WalletReference | null,
): boolean {
  const { record, intentId, txHash, spends = record.state.utxo } = told;
  const { intent, pendingTransaction } = record.progress;
  if (intent?.id !== intentId || pendingTransaction !== null || isPaused(record)) return false;
  if (spends !== record.state.utxo) return false;
  record.wallet ??= wallet;
  setPendingTransaction(changes, record, intent, changes.createTransaction(record, txHash));
  return true;
}

/** One that had ended for us is in a block all the same, or was sent again. */
function restartIntent(changes: ChangeSet, { record, intentId, txHash }: RecordUpdate): boolean {
  const { intent, pendingTransaction } = record.progress;
  const transaction = changes.findStoredTransaction(record, txHash)?.transaction;
  const mayCome = transaction !== undefined && transaction.status !== "Confirmed";
  if (!mayCome || intent?.id !== intentId) return true;
  if (pendingTransaction !== null && pendingTransaction.transaction.txHash !== txHash)
    changes.writeTransaction(
      record,
      { ...pendingTransaction.transaction, status: "RolledBack" },
      intent,
    );
  setPendingTransaction(changes, record, intent, { ...transaction, ...PENDING_FIELDS });
  return true;
}

const PENDING_FIELDS = {
  status: "Pending",
  fees: null,
  blockHeight: null,
  blockTime: null,
  newOnChainState: null,
} as const;

function setPendingTransaction(
  changes: ChangeSet,
  record: EscrowRecord,
  intent: Intent,
  transaction: ReturnType<ChangeSet["createTransaction"]>,
): void {
  changes.writeTransaction(record, transaction, intent);
  const { error } = record.progress;
  changes.setProgress(record, {
    ...record.progress,
    pendingTransaction: { transaction, spends: record.state.utxo },
    error: error?.isManual ? error : null,
  });
}

/** The transaction will not do it: what is wanted is wanted still. */
function endTransaction(changes: ChangeSet, { record, txHash, phase, reason }: RecordUpdate): void {
  const stored = changes.findStoredTransaction(record, txHash);
  const { intent, pendingTransaction, error } = record.progress;
  if (stored === undefined || stored.transaction.status === "Confirmed") return;
  changes.writeTransaction(
    record,
    { ...stored.transaction, status: statusOf(phase) },
    stored.intent,
  );
  if (intent === null || pendingTransaction?.transaction.txHash !== txHash) return;
  const progress = { ...record.progress, pendingTransaction: null };
  // It was given up meanwhile.
  if (progress.expiredAt !== null) {
    changes.setProgress(record, { ...progress, intent: null });
    return;
  }
  // An ancestor is gone, which is no failure of this transaction.
  if (phase === "Orphaned") {
    changes.setProgress(record, progress);
    return;
  }
  const lost = (intent.lostCollaterals ?? 0) + (phase === "Failed" ? 1 : 0);
  const tried = retryIntent(progress, reason ?? NOT_ACCEPTED_REASON, changes.now);
  changes.setProgress(record, {
    ...tried,
    intent: tried.intent && { ...tried.intent, ...(lost > 0 && { lostCollaterals: lost }) },
    error:
      phase === "Failed" && lost >= MAX_LOST_COLLATERALS
        ? createCollateralLostError(lost)
        : (tried.error ?? error),
  });
}

function statusOf(phase: TransactionPhase): TransactionStatus {
  return phase === "Expired" ? "FailedViaTimeout" : "RolledBack";
}

function createCollateralLostError(times: number) {
  const note = `The contract refused this step in a block ${times} times, and the network took the collateral. Retry the step, or clear the error to give the step up`;
  return { isManual: true, type: "Unknown", note, txHash: null };
}

/** Fails the batch as if the records had been changed meanwhile. */
function buildAbortStatement(records: EscrowRecord[]): Statement {
  const ids = JSON.stringify(records.map(({ id }) => id));
  return statement(
    "UPDATE escrow SET revision = NULL WHERE id IN (SELECT value FROM json_each(?))",
    ids,
  );
}
