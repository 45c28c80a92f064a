import type { TaskUpdate } from "../../wallets/model/wallet-transaction.ts";
import { describeError, WalletRemovedError } from "../../wallets/queue/errors.ts";
import type { Task, WalletFeature } from "../../wallets/queue/feature.ts";
import type { EscrowRecord } from "../model/escrow-record.ts";
import { isPaused } from "../model/intent.ts";
import { applyTaskUpdates } from "./apply-task-updates.ts";
import { changeRecords, loadRecordsById, type TaskChange } from "./change-records.ts";
import type { EscrowPorts } from "./feature-ports.ts";
import { computeProgressAfterFailure } from "./progress-after-failure.ts";
import { toRecordError } from "./retry-intent.ts";
import { NO_INTENT, parseTaskId } from "./task-id.ts";

type RecordUpdates = Pick<
  WalletFeature,
  "revision" | "filterCurrent" | "onTransaction" | "onFailure" | "onUpdateFailure" | "hasEvents"
>;

/**
 * The work of a wallet that its payment source has removed. It begins nothing, and updates records
 * of pending transactions.
 */
export function createRemovedWalletFeature(
  name: string,
  placement: WalletFeature["placement"],
  { database, source: { network } }: Pick<EscrowPorts, "database" | "source">,
): WalletFeature {
  let hasWrittenEvents = false;
  return {
    name,
    placement,
    revision: "escrow.revision",
    listDue: async () => ({ tasks: [], nextDueAt: null }),
    buildPart: () =>
      Promise.reject(new WalletRemovedError("the payment source no longer has the wallet")),
    async onTransaction(updates, now) {
      hasWrittenEvents ||= updates.length > 0;
      return applyTaskUpdates(database, network, null, updates, now);
    },
    onFailure: async () => {},
    async onUpdateFailure(tasks, message, now) {
      const hasEvents = await addNoteToRecords(database, network, tasks, message, now);
      hasWrittenEvents ||= hasEvents;
    },
    hasEvents: () => hasWrittenEvents,
  };
}

/** How records are told what becomes of their tasks. */
export function createRecordUpdates({
  database,
  source,
  wallet,
  read,
}: EscrowPorts): RecordUpdates & { onEvents(): void } {
  const { network } = source;
  let hasWrittenEvents = false;
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
    revision: "escrow.revision",

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

    async onTransaction(updates: readonly TaskUpdate[], now) {
      hasWrittenEvents ||= updates.length > 0;
      return applyTaskUpdates(database, network, wallet, updates, now, read);
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
      hasWrittenEvents ||= hasEvents;
    },

    async onUpdateFailure(tasks, message, now) {
      const hasEvents = await addNoteToRecords(database, network, tasks, message, now);
      hasWrittenEvents ||= hasEvents;
    },

    onEvents() {
      hasWrittenEvents = true;
    },

    hasEvents: () => hasWrittenEvents,
  };
}

/** Has records show a message as their error. @returns whether there are events to be sent */
async function addNoteToRecords(
  database: EscrowPorts["database"],
  network: EscrowPorts["source"]["network"],
  tasks: readonly Pick<Task, "id">[],
  message: string,
  now: number,
): Promise<boolean> {
  const ids = tasks.map(({ id }) => parseTaskId(id).recordId);
  const { hasEvents } = await changeRecords(database, network, ids, now, (record) =>
    toNoteChange(record, message),
  );
  return hasEvents;
}

/** A record with a message as its error; null: it shows the same, or a person has to see to another. */
function toNoteChange({ progress }: EscrowRecord, message: string): TaskChange | null {
  const isShown = progress.error?.isManual || progress.error?.note === message;
  return isShown ? null : { progress: { ...progress, error: toRecordError(message) } };
}
