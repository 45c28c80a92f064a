import type { Network } from "../../chain/network.ts";
import { TransactionTooLarge } from "../../chain/transaction/build.ts";
import { outputNamed, type PlannedOutput } from "../../chain/transaction/plan.ts";
import { minimumCoin } from "../../chain/transaction/selection.ts";
import type { Database, Statement } from "../../db/client.ts";
import { noteOnRecords } from "../note-on-records.ts";
import { WAIT_MS } from "../pauses.ts";
import type { Move } from "../spending/history.ts";
import { meaningOf } from "../spending/life.ts";
import { NotYet } from "../spending/making/window.ts";
import { afterTry, waitOf } from "../waits.ts";
import {
  messageOf,
  TaskError,
  type TransactionPart,
  WalletGone,
  type WalletWork,
} from "../work.ts";
import { afterSpent, spenderOf } from "./spent.ts";
import {
  changeReferenceScripts,
  isRead,
  openReferenceScripts,
  type ReferenceScriptChange,
  readReferenceScripts,
  updateReferenceScript,
} from "./store.ts";
import type { ReferenceScriptRow } from "./tables.ts";

/** The name of the feature in stored transactions. */
export const REFERENCE_SCRIPT_WORK = "reference-script";

type Purpose = "Publish" | "Withdraw";

const taskIdOf = (row: ReferenceScriptRow) => `${row.id}:${purposeOf(row)}`;
const rowIdOf = (taskId: string) => taskId.slice(0, taskId.indexOf(":"));
const purposeOf = ({ state }: ReferenceScriptRow): Purpose =>
  state.startsWith("Withdraw") ? "Withdraw" : "Publish";

/**
 * What a wallet does for the reference scripts of a payment source: it makes an output of its own that
 * carries the script, and spends that when the script is withdrawn.
 *
 * @param db - with `writes: "idempotent"`
 */
export function referenceScriptWork(
  db: Database,
  wallet: { network: Network; vkey: string; sourceId: string },
): WalletWork {
  /** As they were last read. */
  const rows = new Map<string, ReferenceScriptRow>();
  const rowOf = (task: string): ReferenceScriptRow => {
    const row = rows.get(rowIdOf(task));
    if (row === undefined) throw new Error(`reference script ${task} was not read`);
    return row;
  };
  return {
    name: REFERENCE_SCRIPT_WORK,
    stands: "line",
    most: 1,
    revision: "reference_script.rev",

    takenOver: async () => [],

    async due(now) {
      const open = await openReferenceScripts(db, wallet);
      for (const row of open) rows.set(row.id, row);
      const later = open.flatMap(({ dueAt }) => (dueAt !== null && dueAt > now ? [dueAt] : []));
      return {
        tasks: open
          .filter(({ dueAt }) => dueAt !== null && dueAt <= now)
          .map((row) => ({ id: taskIdOf(row) })),
        next: later.length > 0 ? Math.min(...later) : null,
      };
    },

    async part({ id }, { parameters, provider }) {
      const row = rowOf(id);
      if (purposeOf(row) === "Publish") return publishPart(row, parameters);
      const spender = await spenderOf(row, provider);
      if (spender !== undefined) throw new OutputSpent(spender);
      if (row.output !== null && (await isRead(db, wallet.network, row.output)))
        throw new NotYet("waits for transactions that read the script", Date.now() + WAIT_MS);
      return withdrawPart(row);
    },

    async moved(moves, now) {
      const found = await readReferenceScripts(
        db,
        moves.map(({ task }) => rowIdOf(task.id)),
      );
      return moves.flatMap((move): Statement[] => {
        const row = found.find(({ id }) => id === rowIdOf(move.task.id));
        const change = row && changeBy(row, move, now);
        return row && change ? [updateReferenceScript(db, row, change, now)] : [];
      });
    },

    async notBuilt(tasks, error, now) {
      await changeReferenceScripts(
        db,
        tasks.map(({ id }) => {
          const row = rowOf(id);
          return updateReferenceScript(db, row, afterFailure(row, error, now), now);
        }),
      );
    },

    onUpdateFailure(tasks, message, now) {
      const ids = tasks.map(({ id }) => rowIdOf(id));
      return noteOnRecords(db, "reference_script", ids, message, now);
    },
  };
}

/** Somebody who has the wallet's key has spent the output already, or a transaction that nobody remembers. */
class OutputSpent extends TaskError {
  override name = "OutputSpent";
  /** Hash of the transaction. */
  readonly by: string;

  constructor(by: string) {
    super(`the transaction ${by} has spent the output`);
    this.by = by;
  }
}

/** An output of the wallet itself, which it never spends for anything else. */
function publishPart(
  { walletAddress: address, cbor: script }: ReferenceScriptRow,
  parameters: Parameters<typeof minimumCoin>[1],
): TransactionPart {
  const output = (coin: bigint): PlannedOutput => ({
    address,
    value: new Map([["", coin]]),
    script,
  });
  const deposit = minimumCoin(output(0n), parameters);
  return {
    ...EMPTY,
    outputs: [output(deposit)],
    most: 1,
    detail: { purpose: "Publish", deposit: String(deposit) },
  };
}

function withdrawPart({ output, deposit, cbor }: ReferenceScriptRow): TransactionPart {
  const value = new Map([["", BigInt(deposit ?? 0)]]);
  return {
    ...EMPTY,
    spends: [{ ...outputNamed(output ?? ""), value }],
    spentScriptBytes: cbor.length / 2,
    most: 1,
    detail: { purpose: "Withdraw", deposit },
  };
}

const EMPTY = { spends: [], scriptInputs: [], mints: [], outputs: [], metadata: new Map() };

function changeBy(
  row: ReferenceScriptRow,
  { task, transaction }: Move,
  now: number,
): ReferenceScriptChange | null {
  const { purpose, deposit = null } = task.detail as { purpose: Purpose; deposit?: string | null };
  const { hash, phase, error } = transaction;
  const isOfRow = row.state === "Published" || row.state === "Withdrawn" || row.txHash === hash;
  // What has taken the output back counts, also of a row that has forgotten, or given up, that it should.
  const isTaken =
    purpose === "Withdraw" &&
    meaningOf(phase) === "Landed" &&
    row.output !== null &&
    transaction.inputs.includes(row.output);
  if (!isTaken && purpose !== purposeOfState(row)) return null;
  const made = purpose === "Publish" ? { output: `${hash}#0`, deposit } : {};
  switch (meaningOf(phase)) {
    case "UnderWay":
      return { state: `${purpose}Initiated`, txHash: hash, error: null, ...made, dueAt: null };
    case "Landed":
      return {
        state: purpose === "Publish" ? "Published" : "Withdrawn",
        txHash: hash,
        error: null,
        ...made,
        failures: 0,
        dueAt: null,
      };
    case "Ended": {
      if (!isOfRow) return null;
      const again = { state: `${purpose}Requested`, dueAt: now } as const;
      if (phase === "Orphaned") return again;
      return {
        ...again,
        ...tryAgain(row, error ?? "the network did not take the transaction", now),
      };
    }
  }
}

/** Which of the two a row is about; `Published` may be published again, not withdrawn. */
function purposeOfState(row: ReferenceScriptRow): Purpose | null {
  if (row.state === "Failed") return null;
  return row.state === "Withdrawn" ? "Withdraw" : purposeOf(row);
}

function afterFailure(row: ReferenceScriptRow, error: unknown, now: number): ReferenceScriptChange {
  const message = messageOf(error);
  if (error instanceof WalletGone || error instanceof TransactionTooLarge)
    return { state: "Failed", error: message, dueAt: null };
  if (error instanceof OutputSpent) return afterSpent(error.by);
  const wait = waitOf(error, now);
  if (wait) return wait;
  return tryAgain(row, message, now);
}

/** A script that is published stays so when it cannot be withdrawn. */
function tryAgain(row: ReferenceScriptRow, error: string, now: number): ReferenceScriptChange {
  return afterTry(row.failures, error, now, purposeOf(row) === "Publish" ? "Failed" : "Published");
}
