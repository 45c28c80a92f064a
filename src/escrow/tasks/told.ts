import type { Move } from "../../wallets/spending/history.ts";
import { messageOf, type Task, WalletGone, type WalletWork } from "../../wallets/work.ts";
import type { EscrowRecord } from "../record.ts";
import { standsStill } from "../wanted.ts";
import { changeRecords, recordsById, type TaskChange } from "./change.ts";
import { afterFailure } from "./failure.ts";
import { moveRecords } from "./moved.ts";
import type { EscrowPorts } from "./ports.ts";
import { NOT_ASKED, partsOf } from "./task.ts";
import { problem } from "./tries.ts";

/** Work that writes events with what it tells records. */
export interface EscrowWork extends WalletWork {
  /** Whether it did, for the dispatcher to be woken. */
  hasTold(): boolean;
}

type Telling = Pick<
  EscrowWork,
  "revision" | "unchanged" | "moved" | "notBuilt" | "onUpdateFailure" | "hasTold"
>;

/**
 * The work of a wallet that its payment source has no more: nothing is begun, and records are told all the
 * same what becomes of what was under way.
 */
export function watching(
  name: string,
  stands: EscrowWork["stands"],
  { ledger, source: { network } }: Pick<EscrowPorts, "ledger" | "source">,
): EscrowWork {
  let hasTold = false;
  return {
    name,
    stands,
    revision: "escrow.rev",
    takenOver: async () => [],
    due: async () => ({ tasks: [], next: null }),
    part: () => Promise.reject(new WalletGone("the payment source has not the wallet any more")),
    async moved(moves, now) {
      hasTold ||= moves.length > 0;
      return moveRecords(ledger, network, null, moves, now);
    },
    notBuilt: async () => {},
    async onUpdateFailure(tasks, message, now) {
      const hasEvents = await noteOnEscrows(ledger, network, tasks, message, now);
      hasTold ||= hasEvents;
    },
    hasTold: () => hasTold,
  };
}

/**
 * How records are told what becomes of their tasks.
 *
 * @param read - records by their ids, as the parts were made of them
 */
export function telling(
  { ledger, source, wallet }: EscrowPorts,
  read: ReadonlyMap<string, EscrowRecord>,
): Telling & { told(): void } {
  const { network } = source;
  let hasTold = false;
  const isSame = (task: Task, now: readonly EscrowRecord[]) => {
    const { recordId, wantId } = partsOf(task.id);
    const record = now.find(({ id }) => id === recordId);
    if (record === undefined) return false;
    const { want, underWay } = record.wanted;
    return (
      want?.id === wantId &&
      underWay === null &&
      !standsStill(record) &&
      record.state.utxo === read.get(recordId)?.state.utxo
    );
  };
  return {
    revision: "escrow.rev",

    async unchanged(tasks) {
      const now = await recordsById(
        ledger,
        tasks.map(({ id }) => partsOf(id).recordId),
      );
      return tasks.filter((task) => isSame(task, now));
    },

    async moved(moves: readonly Move[], now) {
      hasTold ||= moves.length > 0;
      return moveRecords(ledger, network, wallet, moves, now);
    },

    async notBuilt(tasks, error, now) {
      const wants = new Map(tasks.map(({ id }) => [partsOf(id).recordId, partsOf(id).wantId]));
      const ids = [...wants.keys()];
      const { hasEvents } = await changeRecords(ledger, network, ids, now, (record) => {
        const { want, underWay } = record.wanted;
        if ((want ?? NOT_ASKED).id !== wants.get(record.id) || underWay !== null) return null;
        if (want === null) return withNote(record, messageOf(error));
        return { wanted: afterFailure(record, wallet, error, now) };
      });
      hasTold ||= hasEvents;
    },

    async onUpdateFailure(tasks, message, now) {
      const hasEvents = await noteOnEscrows(ledger, network, tasks, message, now);
      hasTold ||= hasEvents;
    },

    told() {
      hasTold = true;
    },

    hasTold: () => hasTold,
  };
}

/** Has records show a message as their error. @returns whether there are events to be sent */
async function noteOnEscrows(
  ledger: EscrowPorts["ledger"],
  network: EscrowPorts["source"]["network"],
  tasks: readonly Pick<Task, "id">[],
  message: string,
  now: number,
): Promise<boolean> {
  const ids = tasks.map(({ id }) => partsOf(id).recordId);
  const { hasEvents } = await changeRecords(ledger, network, ids, now, (record) =>
    withNote(record, message),
  );
  return hasEvents;
}

/** A record with a message as its error; null: it shows the same, or a person has to see to another. */
function withNote({ wanted }: EscrowRecord, message: string): TaskChange | null {
  const isShown = wanted.error?.isManual || wanted.error?.note === message;
  return isShown ? null : { wanted: { ...wanted, error: problem(message) } };
}
