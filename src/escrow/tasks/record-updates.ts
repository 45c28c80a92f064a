import { describeError, WalletRemovedError } from "../../wallets/queue/errors.ts";
import type { Task, WalletFeature } from "../../wallets/queue/feature.ts";
import type { EscrowRecord, WalletReference } from "../model/escrow-record.ts";
import { isPaused } from "../model/intent.ts";
import { applyTaskUpdates } from "./apply-task-updates.ts";
import { changeRecords, loadRecordsById, type TaskChange } from "./change-records.ts";
import type { EscrowPorts, ReadRecords } from "./feature-ports.ts";
import { computeProgressAfterFailure } from "./progress-after-failure.ts";
import { toRecordError } from "./retry-intent.ts";
import { NO_INTENT, parseTaskId } from "./task-id.ts";

type TransactionUpdates = Pick<
  WalletFeature,
  "revision" | "onTransaction" | "onUpdateFailure" | "hasEvents"
> & { onEvents(): void };

/**
 * How records are told what becomes of the transactions of their tasks.
 *
 * @param wallet - null: its payment source has removed the wallet
 * @param read - see `applyTaskUpdates`
 */
function createTransactionUpdates(
  { database, source: { network } }: Pick<EscrowPorts, "database" | "source">,
  wallet: WalletReference | null,
  read?: ReadRecords,
): TransactionUpdates {
  let hasWrittenEvents = false;
  return {
    revision: "escrow.revision",

    async onTransaction(updates, now) {
      hasWrittenEvents ||= updates.length > 0;
      return applyTaskUpdates(database, network, wallet, updates, now, read);
    },

    async onUpdateFailure(tasks, message, now) {
      const ids = tasks.map(({ id }) => parseTaskId(id).recordId);
      const { hasEvents } = await changeRecords(database, network, ids, now, (record) =>
        toNoteChange(record, message),
      );
      hasWrittenEvents ||= hasEvents;
    },

    onEvents() {
      hasWrittenEvents = true;
    },

    hasEvents: () => hasWrittenEvents,
  };
}

/**
 * The work of a wallet that its payment source has removed. It begins nothing, and updates records
 * of pending transactions.
 */
export function createRemovedWalletFeature(
  name: string,
  placement: WalletFeature["placement"],
  ports: Pick<EscrowPorts, "database" | "source">,
): WalletFeature {
  const { onEvents: _, ...transactionUpdates } = createTransactionUpdates(ports, null);
  return {
    ...transactionUpdates,
    name,
    placement,
    listDue: async () => ({ tasks: [], nextDueAt: null }),
    buildPart: () =>
      Promise.reject(new WalletRemovedError("the payment source no longer has the wallet")),
    onFailure: async () => {},
  };
}

/** How records are told what becomes of their tasks. */
export function createRecordUpdates(
  ports: EscrowPorts,
): TransactionUpdates & Pick<WalletFeature, "filterCurrent" | "onFailure"> {
  const { database, source, wallet, read } = ports;
  const { network } = source;
  const transactionUpdates = createTransactionUpdates(ports, wallet, read);
  /** The record of a task as it is now; null: it asks for something else than it was read to ask for. */
  const findCurrentRecord = (task: Task, now: readonly EscrowRecord[]): EscrowRecord | null => {
    const { recordId, intentId } = parseTaskId(task.id);
    const record = now.find(({ id }) => id === recordId);
    if (record === undefined) return null;
    const { intent, pendingTransaction } = record.progress;
    const isCurrent =
      intent?.id === intentId &&
      pendingTransaction === null &&
      !isPaused(record) &&
      record.state.utxo === read.byId.get(recordId)?.state.utxo;
    return isCurrent ? record : null;
  };
  return {
    ...transactionUpdates,

    async filterCurrent(tasks) {
      const now = await loadRecordsById(
        database,
        tasks.map(({ id }) => parseTaskId(id).recordId),
      );
      return tasks.filter((task) => {
        const record = findCurrentRecord(task, now);
        if (record) read.byId.set(record.id, record);
        return record !== null;
      });
    },

    async onFailure(tasks, error, now) {
      const wants = new Map(
        tasks.map(({ id }) => [parseTaskId(id).recordId, parseTaskId(id).intentId]),
      );
      const ids = [...wants.keys()];
      const { hasEvents } = await changeRecords(database, network, ids, now, (record) => {
        const { intent, pendingTransaction } = record.progress;
        if ((intent ?? NO_INTENT).id !== wants.get(record.id) || pendingTransaction !== null)
          return null;
        if (intent === null) return toNoteChange(record, describeError(error));
        return { progress: computeProgressAfterFailure(record, wallet, error, now) };
      });
      if (hasEvents) transactionUpdates.onEvents();
    },
  };
}

/** A record with a message as its error; null: it shows the same, or a person has to see to another. */
function toNoteChange({ progress }: EscrowRecord, message: string): TaskChange | null {
  const isShown = progress.error?.isManual || progress.error?.note === message;
  return isShown ? null : { progress: { ...progress, error: toRecordError(message) } };
}
