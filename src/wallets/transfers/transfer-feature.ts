import { TransactionTooLargeError } from "../../chain/transaction/build-transaction.ts";
import { computeMinimumCoin } from "../../chain/transaction/select-inputs.ts";
import type { Value } from "../../chain/transaction/value.ts";
import type { Database, Statement } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { isInChain, progressOf } from "../model/phases.ts";
import type { TaskUpdate } from "../model/wallet-transaction.ts";
import { findEarliestTime, MAX_ATTEMPTS } from "../queue/backoff.ts";
import { EMPTY_PART, type WalletFeature } from "../queue/feature.ts";
import { decideEndOutcome } from "../queue/outcome.ts";
import { PENDING_STATE, type SourceWallet } from "../queue/store.ts";
import {
  createSubjectFeature,
  type SubjectOutcome,
  type SubjectPort,
  splitDueTasks,
} from "../queue/subject-feature.ts";
import { failGivenUpTransfers, isGivenUp, readTransfers, updateTransfers } from "./store.ts";
import {
  TRANSFER_FEATURE,
  type TransferChange,
  type TransferDetail,
  type TransferRow,
  type TransferTransaction,
} from "./tables.ts";
import { addTopUpEvents } from "./top-up-events.ts";

/** Transfers that one transaction pays. */
const MAX_TRANSFERS_PER_TRANSACTION = 100;
/** How often it is looked whether given-up transfers can no longer land. */
const GIVE_UP_CHECK_INTERVAL_MS = 60_000;

/**
 * What a wallet does for the transfers of a payment source: one transaction pays as many of them as
 * it has room and funds for.
 *
 * @param db - with `writes: "idempotent"`
 */
export function createTransferFeature(db: Database, wallet: SourceWallet): WalletFeature {
  /** Names the transaction that is made next. */
  let batchId = "";
  let hasEvents = false;
  const port = createTransferPort(db, (events) => {
    hasEvents ||= events.length > 0;
  });
  const feature = createSubjectFeature(db, port, wallet);
  return {
    ...feature,
    placement: "chained",
    maxTasks: MAX_TRANSFERS_PER_TRANSACTION,

    async listDue(now, limit) {
      const open = await feature.readOpen(limit);
      const givenUp = open.filter(isGivenUp);
      if (givenUp.some(({ task }) => (task.dueAt ?? 0) <= now))
        await failGivenUpTransfers(db, wallet, now);
      const live = open.filter((row) => !isGivenUp(row));
      const { tasks, nextDueAt } = splitDueTasks(live, now);
      batchId = newId(now);
      const later = givenUp.length > 0 ? now + GIVE_UP_CHECK_INTERVAL_MS : null;
      return {
        tasks: tasks.map((task) => ({
          ...task,
          isAutomatic: feature.requireRow(task.id).topUpRuleId !== null,
        })),
        nextDueAt: findEarliestTime([nextDueAt, later]),
      };
    },

    async buildPart(task, { parameters }) {
      const { toAddress: address, coin, assets } = feature.requireRow(task.id);
      const value: Value = new Map([
        ["", BigInt(coin)],
        ...assets.map(({ unit, quantity }) => [unit, BigInt(quantity)] as const),
      ]);
      const least = computeMinimumCoin({ address, value }, parameters);
      if (BigInt(coin) < least) value.set("", least);
      const detail: TransferDetail = { coin: String(value.get("")), batchId };
      return { ...EMPTY_PART, outputs: [{ address, value }], detail };
    },

    hasEvents: () => hasEvents,
  };
}

/** What the queue knows of transfers. */
export function createTransferPort(
  db: Database,
  onEvents: (events: readonly Statement[]) => void = () => {},
): SubjectPort<TransferRow, TransferChange> {
  return {
    name: TRANSFER_FEATURE,
    revision: "transfer.revision",
    read: (ids) => readTransfers(db, ids),
    update(changed, now) {
      const { changes, events } = addTopUpEvents(changed, now);
      onEvents(events);
      return [updateTransfers(changes, now), ...events];
    },
    // What a transfer pays never changes, only whether it is to be paid.
    isSame: (row) => row.state === "Pending" && !isGivenUp(row),
    hasSent: ({ tx }) => tx !== null,
    decideAfterUpdate: decideTransferOutcome,
    decideAfterFailure: (row, error, now) =>
      error instanceof TransactionTooLargeError
        ? giveUpTransfer(row, "the wallet's outputs are too small or too many: transfer less", now)
        : null,
    giveUp: giveUpTransfer,
  };
}

/** What became of a transfer by what became of its transaction; null: nothing new. */
function decideTransferOutcome(
  row: TransferRow,
  { task, transaction }: TaskUpdate,
  now: number,
): SubjectOutcome<TransferChange> | null {
  const { coin } = task.detail as TransferDetail;
  const { hash, phase, blockHeight, blockTime } = transaction;
  const tx: TransferTransaction = { hash, coin, blockHeight: null, blockTime: null };
  const attempts = row.task?.attempts ?? 0;
  switch (progressOf(phase)) {
    case "UnderWay":
      // One that was given up may land all the same.
      return {
        change: { state: "Sent", error: null, tx },
        task: { ...PENDING_STATE, attempts: isInChain(phase) ? 0 : attempts },
      };
    case "Landed":
      return {
        change: {
          state: "Confirmed",
          error: null,
          tx: { ...tx, blockHeight, blockTime },
          lastCheckedAt: now,
        },
        task: PENDING_STATE,
      };
    case "Ended": {
      // One that landed and is gone again may have ended in the same look at the chain.
      const wasCurrent =
        row.tx?.hash === hash && (row.state === "Sent" || row.state === "Confirmed");
      if (!wasCurrent) return null;
      const change: TransferChange = { state: "Pending", error: null, tx };
      const outcome = decideEndOutcome(attempts, transaction, now);
      if ("task" in outcome) return { change, task: outcome.task };
      const after = giveUpTransfer({ ...row, tx }, outcome.givenUp, now);
      return { ...after, change: { ...change, ...after.change } };
    }
  }
}

/** Not to be tried again. Whatever was signed for it may still land, until its wallet says otherwise. */
function giveUpTransfer(
  { tx }: TransferRow,
  reason: string,
  now: number,
  hasSource = true,
): SubjectOutcome<TransferChange> {
  if (tx === null || !hasSource) return { change: { state: "Failed", error: reason }, task: null };
  return {
    change: {},
    task: { attempts: MAX_ATTEMPTS, reasonCode: "failing", reason, dueAt: now },
  };
}
