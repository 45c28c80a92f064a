import { TransactionTooLarge } from "../../chain/transaction/build-transaction.ts";
import { minimumCoin } from "../../chain/transaction/select-inputs.ts";
import type { Value } from "../../chain/transaction/value.ts";
import type { Database, Statement } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { isInChain, progressOf } from "../model/phases.ts";
import type { TaskUpdate } from "../model/wallet-transaction.ts";
import { findEarliest, MAX_TRIES } from "../queue/backoff.ts";
import type { WalletFeature } from "../queue/feature.ts";
import { countFailure } from "../queue/outcome.ts";
import { PENDING, type SourceWallet, waitForTurn } from "../queue/store.ts";
import {
  createSubjectFeature,
  endWithoutSource,
  type SubjectOutcome,
  type SubjectPort,
  splitDue,
} from "../queue/subject-feature.ts";
import { failGivenUp, isGivenUp, readTransfers, updateTransfers } from "./store.ts";
import {
  TRANSFER_FEATURE,
  type TransferChange,
  type TransferDetail,
  type TransferRow,
  type TransferTransaction,
} from "./tables.ts";
import { withTopUpEvents } from "./top-up-events.ts";

/** Transfers that one transaction pays. */
const MAX_OUTPUTS = 100;
/** How often it is looked whether given-up transfers can no longer land. */
const GIVEN_UP_MS = 60_000;

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
  const port = portOf(db, (events) => {
    hasEvents ||= events.length > 0;
  });
  const feature = createSubjectFeature(db, port, wallet);
  return {
    ...feature,
    placement: "line",
    maxTasks: MAX_OUTPUTS,

    async due(now, limit) {
      const open = await feature.readOpen(limit);
      const givenUp = open.filter(isGivenUp);
      if (givenUp.some(({ task }) => (task.dueAt ?? 0) <= now)) await failGivenUp(db, wallet, now);
      const live = open.filter((row) => !isGivenUp(row));
      const { tasks, next } = splitDue(live, now);
      batchId = newId(now);
      const later = givenUp.length > 0 ? now + GIVEN_UP_MS : null;
      return {
        tasks: tasks.map((task) => ({
          ...task,
          isAutomatic: feature.rowOf(task.id).topUpRuleId !== null,
        })),
        next: findEarliest([next, later]),
      };
    },

    async buildPart(task, { parameters }) {
      const { toAddress: address, coin, assets } = feature.rowOf(task.id);
      const value: Value = new Map([
        ["", BigInt(coin)],
        ...assets.map(({ unit, quantity }) => [unit, BigInt(quantity)] as const),
      ]);
      const least = minimumCoin({ address, value }, parameters);
      if (BigInt(coin) < least) value.set("", least);
      const detail: TransferDetail = { coin: String(value.get("")), batchId };
      return {
        spends: [],
        scriptInputs: [],
        mints: [],
        outputs: [{ address, value }],
        metadata: new Map(),
        detail,
      };
    },

    hasEvents: () => hasEvents,
  };
}

/** Gives up the transfers of a payment source that was removed. */
export function endTransfersWithoutSource(
  db: Database,
  wallet: SourceWallet,
  now: number,
): Promise<void> {
  return endWithoutSource(db, portOf(db), wallet, now);
}

function portOf(
  db: Database,
  onEvents: (events: readonly Statement[]) => void = () => {},
): SubjectPort<TransferRow, TransferChange> {
  return {
    name: TRANSFER_FEATURE,
    revision: "transfer.revision",
    read: (ids) => readTransfers(db, ids),
    update(changed, now) {
      const { changes, events } = withTopUpEvents(changed, now);
      onEvents(events);
      return [updateTransfers(changes, now), ...events];
    },
    // What a transfer pays never changes, only whether it is to be paid.
    isSame: (row) => row.state === "Pending" && !isGivenUp(row),
    hasSent: ({ tx }) => tx !== null,
    afterUpdate: transferAfterUpdate,
    afterFailure: (row, error, now) =>
      error instanceof TransactionTooLarge
        ? giveUp(row, "the wallet's outputs are too small or too many: transfer less", now)
        : null,
    giveUp,
  };
}

/** What became of a transfer by what became of its transaction; null: nothing new. */
function transferAfterUpdate(
  row: TransferRow,
  { task, transaction }: TaskUpdate,
  now: number,
): SubjectOutcome<TransferChange> | null {
  const { coin } = task.detail as TransferDetail;
  const { hash, phase, blockHeight, blockTime, error } = transaction;
  const tx: TransferTransaction = { hash, coin, blockHeight: null, blockTime: null };
  const attempts = row.task?.attempts ?? 0;
  switch (progressOf(phase)) {
    case "UnderWay":
      // One that was given up may land all the same.
      return {
        change: { state: "Sent", error: null, tx },
        task: { ...PENDING, attempts: isInChain(phase) ? 0 : attempts },
      };
    case "Landed":
      return {
        change: {
          state: "Confirmed",
          error: null,
          tx: { ...tx, blockHeight, blockTime },
          lastCheckedAt: now,
        },
        task: PENDING,
      };
    case "Ended": {
      // One that landed and is gone again may have ended in the same look at the chain.
      const wasCurrent =
        row.tx?.hash === hash && (row.state === "Sent" || row.state === "Confirmed");
      if (!wasCurrent) return null;
      const change: TransferChange = { state: "Pending", error: null, tx };
      // The transaction before it in the wallet's line ended, which is no failure of this one.
      if (phase === "Orphaned") return { change, task: { ...waitForTurn(now), attempts } };
      const reason = error ?? "the network did not accept the transaction";
      const outcome = countFailure(attempts, reason, now);
      if ("task" in outcome) return { change, task: outcome.task };
      const after = giveUp({ ...row, tx }, outcome.givenUp, now);
      return { ...after, change: { ...change, ...after.change } };
    }
  }
}

/** Not to be tried again. Whatever was signed for it may still land, until its wallet says otherwise. */
function giveUp(
  { tx }: TransferRow,
  reason: string,
  now: number,
  hasSource = true,
): SubjectOutcome<TransferChange> {
  if (tx === null || !hasSource) return { change: { state: "Failed", error: reason }, task: null };
  return {
    change: {},
    task: { attempts: MAX_TRIES, reasonCode: "failing", reason, dueAt: now },
  };
}
