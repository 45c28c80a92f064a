import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { readTip } from "../../indexer/chain-tip.ts";
import type { Move } from "../../wallets/spending/history.ts";
import { meaningOf, type Phase } from "../../wallets/spending/life.ts";
import { ChangeSet } from "../fold/changes.ts";
import { loadRecords } from "../fold/load-records.ts";
import { writeChanges } from "../fold/write-changes.ts";
import type { EscrowRecord, WalletName } from "../record.ts";
import type { TransactionStatus } from "../transaction-record.ts";
import { standsStill, type Want } from "../wanted.ts";
import { partsOf } from "./task.ts";
import { afterTry } from "./tries.ts";

/** After this many collaterals a step is left to a person. */
const MAX_LOST_COLLATERALS = 2;
const NOT_TAKEN = "the network did not take the transaction";

/** What a transaction of a wallet moves. */
interface Told {
  record: EscrowRecord;
  wantId: string;
  /** The escrow's output that its part spends; null of a lock. Left out by what was stored before. */
  spends: string | null | undefined;
  txHash: string;
  phase: Phase;
  /** Why it ended, for people. */
  reason: string | null;
}

/**
 * Statements that tell records what became of their tasks, guarded by the records' revisions
 * (`escrow.rev`): for the batch in which a wallet stores a transaction, or writes what became of it.
 * A record has its row of the transaction from then on, and at most one is under way. That it landed
 * is told by the fold alone.
 *
 * A transaction for something that is not wanted any more must not be stored: then the statements
 * abort the batch.
 *
 * @param wallet - whose transactions they are; null: the payment source has it no more
 * @param now - epoch milliseconds
 */
export async function moveRecords(
  db: Pick<Database, "all">,
  network: Network,
  wallet: WalletName | null,
  all: readonly Move[],
  now: number,
): Promise<Statement[]> {
  const moves = all.filter(({ transaction }) => meaningOf(transaction.phase) !== "Landed");
  if (moves.length === 0) return [];
  const { records, stored } = await loadRecords(
    db,
    moves.map(({ transaction }) => transaction.hash),
    "SELECT value FROM json_each(?2)",
    JSON.stringify(moves.map(({ task }) => partsOf(task.id).recordId)),
  );
  const tipHeight = (await readTip(db, network)) ?? 0;
  const bySource = Map.groupBy(records, ({ sourceId }) => sourceId);
  return [...bySource].flatMap(([sourceId, found]) => {
    const changes = new ChangeSet(found, now, tipHeight, { stored });
    const isWanted = moves.every((move) => {
      const { recordId, wantId } = partsOf(move.task.id);
      const record = found.find(({ id }) => id === recordId);
      if (record === undefined) return true;
      const { hash: txHash, phase, error: reason } = move.transaction;
      const { spends } = move.task.detail;
      return tell(changes, { record, wantId, spends, txHash, phase, reason }, wallet);
    });
    return isWanted ? writeChanges(changes, { sourceId, network }) : [abort(found)];
  });
}

/** @returns whether the batch may be written */
function tell(changes: ChangeSet, told: Told, wallet: WalletName | null): boolean {
  const { record, txHash, phase } = told;
  const stored = changes.stored(record, txHash);
  switch (meaningOf(phase)) {
    case "UnderWay":
      if (stored !== undefined) return beginAgain(changes, told);
      // One that a database forgot was sent long ago: what it was for may be over.
      return begin(changes, told, wallet) || phase !== "Stored";
    case "Landed":
      return true;
    case "Ended":
      end(changes, told);
      return true;
  }
}

/** A new transaction was stored. */
function begin(changes: ChangeSet, told: Told, wallet: WalletName | null): boolean {
  const { record, wantId, txHash, spends = record.state.utxo } = told;
  const { want, underWay } = record.wanted;
  if (want?.id !== wantId || underWay !== null || standsStill(record)) return false;
  if (spends !== record.state.utxo) return false;
  record.wallet ??= wallet;
  start(changes, record, want, changes.newTransaction(record, txHash));
  return true;
}

/** One that had ended for us is in a block all the same, or was sent again. */
function beginAgain(changes: ChangeSet, { record, wantId, txHash }: Told): boolean {
  const { want, underWay } = record.wanted;
  const transaction = changes.stored(record, txHash)?.transaction;
  const mayCome = transaction !== undefined && transaction.status !== "Confirmed";
  if (!mayCome || want?.id !== wantId) return true;
  if (underWay !== null && underWay.transaction.txHash !== txHash)
    changes.write(record, { ...underWay.transaction, status: "RolledBack" }, want);
  start(changes, record, want, { ...transaction, ...NOT_IN_BLOCK });
  return true;
}

const NOT_IN_BLOCK = {
  status: "Pending",
  fees: null,
  blockHeight: null,
  blockTime: null,
  newOnChainState: null,
} as const;

function start(
  changes: ChangeSet,
  record: EscrowRecord,
  want: Want,
  transaction: ReturnType<ChangeSet["newTransaction"]>,
): void {
  changes.write(record, transaction, want);
  const { error } = record.wanted;
  changes.want(record, {
    ...record.wanted,
    underWay: { transaction, spends: record.state.utxo },
    error: error?.isManual ? error : null,
  });
}

/** The transaction will not do it: what is wanted is wanted still. */
function end(changes: ChangeSet, { record, txHash, phase, reason }: Told): void {
  const stored = changes.stored(record, txHash);
  const { want, underWay, error } = record.wanted;
  if (stored === undefined || stored.transaction.status === "Confirmed") return;
  changes.write(record, { ...stored.transaction, status: statusOf(phase) }, stored.want);
  if (want === null || underWay?.transaction.txHash !== txHash) return;
  const wanted = { ...record.wanted, underWay: null };
  // It was given up meanwhile.
  if (wanted.expiredAt !== null) {
    changes.want(record, { ...wanted, want: null });
    return;
  }
  // What it stood on is gone, for no fault of its own.
  if (phase === "Orphaned") {
    changes.want(record, wanted);
    return;
  }
  const lost = (want.lostCollaterals ?? 0) + (phase === "Failed" ? 1 : 0);
  const tried = afterTry(wanted, reason ?? NOT_TAKEN, changes.now);
  changes.want(record, {
    ...tried,
    want: tried.want && { ...tried.want, ...(lost > 0 && { lostCollaterals: lost }) },
    error:
      phase === "Failed" && lost >= MAX_LOST_COLLATERALS
        ? collateralLost(lost)
        : (tried.error ?? error),
  });
}

function statusOf(phase: Phase): TransactionStatus {
  return phase === "Expired" ? "FailedViaTimeout" : "RolledBack";
}

function collateralLost(times: number) {
  const note = `The contract refused this step in a block, and the collateral was taken, ${times} times: have it tried once more by POST …/retry, or give it up by POST …/error-state-recovery`;
  return { isManual: true, type: "Unknown", note, txHash: null };
}

/** Fails the batch as if the records had been changed meanwhile. */
function abort(records: EscrowRecord[]): Statement {
  const ids = JSON.stringify(records.map(({ id }) => id));
  return statement(
    "UPDATE escrow SET rev = NULL WHERE id IN (SELECT value FROM json_each(?))",
    ids,
  );
}
