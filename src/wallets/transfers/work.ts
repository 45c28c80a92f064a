import { minimumCoin } from "../../chain/transaction/selection.ts";
import type { Value } from "../../chain/transaction/value.ts";
import type { Database } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { noteOnRecords } from "../note-on-records.ts";
import { MAX_TRIES } from "../pauses.ts";
import type { Move } from "../spending/history.ts";
import { meaningOf } from "../spending/life.ts";
import type { Task, WalletWork } from "../work.ts";
import { type ChangedTransfer, tellOfTopUps } from "./distributions.ts";
import { failGivenUp, isGivenUp, openTransfers, type SourceWallet, TRANSFER_WORK } from "./due.ts";
import { afterFailure, changeBy, type TransferDetail } from "./outcome.ts";
import { changeTransfers, readTransfers, updateTransfers } from "./store.ts";
import type { TransferRow } from "./tables.ts";

/** Transfers that one transaction pays. */
const MAX_OUTPUTS = 100;
/** How often it is looked whether given-up transfers can no longer land. */
const GIVEN_UP_MS = 60_000;

/** Transfers, as a wallet does them. */
export interface TransferWork extends WalletWork {
  /** Whether it wrote events, for the dispatcher to be woken. */
  hasTold(): boolean;
}

/**
 * What a wallet does for the transfers of a payment source: one transaction pays as many of them as
 * it has room and funds for.
 *
 * @param db - with `writes: "idempotent"`
 */
export function transferWork(db: Database, wallet: SourceWallet): TransferWork {
  /** As they were last read. */
  const rows = new Map<string, TransferRow>();
  /** Names the transaction that is made next. */
  let batchId = "";
  let hasTold = false;
  const rowOf = ({ id }: Task): TransferRow => {
    const row = rows.get(id);
    if (row === undefined) throw new Error(`transfer ${id} was not read`);
    return row;
  };
  return {
    name: TRANSFER_WORK,
    stands: "line",
    most: MAX_OUTPUTS,
    revision: "transfer.rev",

    takenOver: async () => [],

    async due(now, limit) {
      const found = await openTransfers(db, wallet, limit);
      for (const row of found) rows.set(row.id, row);
      const isDue = ({ dueAt }: TransferRow) => dueAt !== null && dueAt <= now;
      const givenUp = found.filter(isGivenUp);
      if (givenUp.some(isDue)) await failGivenUp(db, wallet, now);
      const live = found.filter((row) => !isGivenUp(row));
      const tasks = live
        .filter(isDue)
        .map(({ id, topUpRuleId }) => ({ id, isAutomatic: topUpRuleId !== null }));
      batchId = newId(now);
      const later = live.flatMap(({ dueAt }) => (dueAt !== null && dueAt > now ? [dueAt] : []));
      if (givenUp.length > 0) later.push(now + GIVEN_UP_MS);
      return { tasks, next: later.length > 0 ? Math.min(...later) : null };
    },

    async part(task, { parameters }) {
      const { toAddress: address, coin, assets } = rowOf(task);
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

    async unchanged(tasks) {
      const found = await readTransfers(
        db,
        tasks.map(({ id }) => id),
      );
      // What a transfer pays never changes, only whether it is to be paid.
      const same = found.filter((row) => row.state === "Pending" && !isGivenUp(row));
      for (const row of same) rows.set(row.id, row);
      return tasks.filter(({ id }) => same.some((row) => row.id === id));
    },

    async moved(moves, now) {
      const found = await readTransfers(
        db,
        moves.map(({ task }) => task.id),
      );
      const { changes, events } = tellOfTopUps(
        moves.flatMap((move) => {
          // One that failed since its part was made must not be paid: its revision keeps the batch back.
          const asMade = move.transaction.phase === "Stored" && rows.get(move.task.id);
          const row = asMade || found.find(({ id }) => id === move.task.id);
          const change = row && changeBy(row, move, now);
          return row && change ? [{ row, change, ...causeOf(move) }] : [];
        }),
        now,
      );
      hasTold ||= events.length > 0;
      return changes.length > 0 ? [updateTransfers(changes, now), ...events] : [];
    },

    async notBuilt(tasks, error, now) {
      const batch = { id: newId(now), txHash: null };
      const failed = tasks.map((task) => {
        const row = rowOf(task);
        const change = afterFailure(row, error, now);
        const failure = change.failures === MAX_TRIES ? (change.error ?? null) : null;
        return { row, change, batch, failure };
      });
      const { changes, events } = tellOfTopUps(failed, now);
      await changeTransfers(db, changes, events, now);
      hasTold ||= events.length > 0;
    },

    onUpdateFailure(tasks, message, now) {
      const ids = tasks.map(({ id }) => id);
      return noteOnRecords(db, "transfer", ids, message, now);
    },

    hasTold: () => hasTold,
  };
}

/** The transaction of a move as events tell it, and why it has ended. */
function causeOf({ task, transaction }: Move): Pick<ChangedTransfer, "batch" | "failure"> {
  const { batchId } = task.detail as TransferDetail;
  const { hash, phase, error } = transaction;
  const hasEnded = meaningOf(phase) === "Ended";
  return {
    batch: { id: batchId, txHash: hash },
    failure: hasEnded ? (error ?? "what the transaction spends is not there any more") : null,
  };
}
