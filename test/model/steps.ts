import { formatAddress } from "../../src/chain/address.ts";
import type { ScriptSource, WalletOutput } from "../../src/chain/transaction/transaction-plan.ts";
import { type Statement, statement } from "../../src/db/client.ts";
import { progressOf } from "../../src/wallets/model/phases.ts";
import type { WalletTransaction } from "../../src/wallets/model/wallet-transaction.ts";
import { computeRetryDelay } from "../../src/wallets/queue/backoff.ts";
import {
  DeadlinePassedError,
  MissingInputError,
  PriorTransactionPendingError,
} from "../../src/wallets/queue/errors.ts";
import type { Task, WalletFeature } from "../../src/wallets/queue/feature.ts";
import { isProviderDown } from "../../src/wallets/queue/isolate-failures.ts";
import type { WalletDatabase } from "../../src/wallets/spending/store/wallet.ts";
import { payeeOf } from "./payments.ts";

export const STEPS = `CREATE TABLE step (id TEXT PRIMARY KEY, state TEXT NOT NULL, output TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 0, hash TEXT, revision INTEGER NOT NULL, due_at INTEGER NOT NULL, deadline INTEGER, is_measured INTEGER NOT NULL,
  can_be_overtaken INTEGER NOT NULL, is_alone INTEGER NOT NULL DEFAULT 0,
  is_overtaken INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0, reason TEXT)`;

interface Step {
  id: string;
  state: "Asked" | "UnderWay" | "Done" | "Failed" | "Over";
  output: string;
  /** What it asks for, which may change until it is under way. */
  version: number;
  hash: string | null;
  revision: number;
  due_at: number;
  deadline: number | null;
  is_measured: 0 | 1;
  can_be_overtaken: 0 | 1;
  is_alone: 0 | 1;
  is_overtaken: 0 | 1;
  failures: number;
  reason: string | null;
}

export const STEP_COIN = 4_000_000n;
export const MAX_TRIES = 10;
const WAIT_MS = 10_000;
/** How long after its deadline a provider may still show that a step was done. */
const LATE_MS = 120_000;

export const STEP_SCRIPT: ScriptSource = {
  from: "witness",
  hash: "5c".repeat(28),
  cbor: "450101002499",
};
export const STEP_ADDRESS = formatAddress({
  network: "Preprod",
  payment: { kind: "script", hash: STEP_SCRIPT.hash },
  stake: null,
});

/** A feature that spends outputs of a script, each once, which others may spend too. */
export function stepWork(db: WalletDatabase): WalletFeature {
  const read = (ids: readonly string[]) =>
    db.all<Step>(
      "SELECT * FROM step WHERE id IN (SELECT value FROM json_each(?))",
      JSON.stringify(ids),
    );
  /** One that comes late, or twice, is an error, or is left out. */
  const update = (row: Step, change: Partial<Step>, late: "error" | "skip"): Statement => {
    const next = { ...row, ...change };
    return statement(
      `UPDATE step SET state = ?2, hash = ?3, due_at = ?4, is_alone = ?5, failures = ?6, reason = ?7,
         revision = iif(revision = ?8, revision + 1, NULL) WHERE id = ?1 ${late === "skip" ? "AND revision = ?8" : ""}`,
      row.id,
      next.state,
      next.hash,
      next.due_at,
      next.is_alone,
      next.failures,
      next.reason,
      row.revision,
    );
  };
  const known = new Map<string, Step>();
  return {
    name: "step",
    placement: "parallel",
    revision: "step.revision",
    async listDue(now, limit) {
      const asked = await db.all<Step>(
        `SELECT * FROM step WHERE state = 'Asked' AND is_overtaken = 0
         ORDER BY coalesce(deadline, due_at + 600000), id LIMIT ?`,
        limit,
      );
      for (const one of asked) known.set(one.id, one);
      const due = asked.filter((one) => one.due_at <= now);
      const later = asked.filter((one) => one.due_at > now).map((one) => one.due_at);
      return { tasks: due.map(taskOf), nextDueAt: later.length > 0 ? Math.min(...later) : null };
    },
    async buildPart({ id }) {
      const step = known.get(id);
      if (!step) throw new Error(`step ${id} was not read`);
      const [txHash = "", index] = step.output.split("#");
      const value = new Map([["", STEP_COIN]]);
      const input: WalletOutput = { txHash, index: Number(index), value };
      return {
        spends: [],
        scriptInputs: [{ ...input, script: STEP_SCRIPT, redeemer: new Uint8Array([0]) }],
        mints: [],
        outputs: [{ address: payeeOfStep(step), value }],
        metadata: new Map(),
        getMeasuredUnits: (parts) =>
          step.is_measured ? { memory: 500_000n * BigInt(parts), steps: 200_000_000n } : null,
        maxParts: 5,
        detail: {},
      };
    },
    async selectForeignSpent(_, outputs) {
      const rows = await db.all<{ output: string }>(
        `SELECT output FROM step WHERE is_overtaken = 1
           AND output IN (SELECT value FROM json_each(?))`,
        JSON.stringify(outputs),
      );
      return rows.map(({ output }) => output);
    },
    async filterCurrent(tasks) {
      const rows = await read(tasks.map(({ id }) => id));
      const same = rows.filter(({ id, version }) => known.get(id)?.version === version);
      for (const row of same) known.set(row.id, row);
      return tasks.filter(({ id }) => same.some((row) => row.id === id));
    },
    async onTransaction(moves, now) {
      const isStored = moves.some(({ transaction }) => transaction.phase === "Stored");
      const rows = isStored ? [...known.values()] : await read(moves.map(({ task }) => task.id));
      return moves.flatMap(({ task, transaction }) => {
        const row = rows.find(({ id }) => id === task.id);
        return row
          ? changeBy(row, transaction, now).map((change) => update(row, change, "error"))
          : [];
      });
    },
    async onFailure(tasks, error, now) {
      const rows = await read(tasks.map(({ id }) => id));
      await db.batch(rows.map((row) => update(row, afterFailure(row, error, now), "skip")));
    },
    async onUpdateFailure(tasks, message) {
      const ids = JSON.stringify(tasks.map(({ id }) => id));
      await db.batch([
        statement(
          "UPDATE step SET reason = ? WHERE id IN (SELECT value FROM json_each(?))",
          message,
          ids,
        ),
      ]);
    },
  };
}

/** The address that a step alone pays to, while it asks for the same. */
export const payeeOfStep = ({ id, version }: Pick<Step, "id" | "version">): string =>
  payeeOf(`${id}v${version}`);

function taskOf(step: Step): Task {
  return {
    id: step.id,
    ...(step.deadline !== null && { deadline: step.deadline }),
    isReplaceable: step.can_be_overtaken === 1,
    isAlone: step.is_alone === 1,
  };
}

function changeBy(
  row: Step,
  { hash, phase, error }: WalletTransaction,
  now: number,
): Partial<Step>[] {
  const meaning = progressOf(phase);
  if (meaning !== "Ended")
    return [{ state: meaning === "Landed" ? "Done" : "UnderWay", hash, reason: null }];
  if (row.hash !== hash) return [];
  if (phase === "Failed") return [failed(row, "its script failed in a block", now)];
  if (phase === "Refused" && /Plutus/.test(error ?? "")) return [failed(row, error, now)];
  return [{ state: "Asked", due_at: phase === "Expired" ? now + WAIT_MS : now }];
}

function afterFailure(row: Step, error: unknown, now: number): Partial<Step> {
  const mayPass =
    isProviderDown(error) ||
    error instanceof PriorTransactionPendingError ||
    error instanceof MissingInputError;
  const reason = String(error);
  const isOver = error instanceof DeadlinePassedError && now > (row.deadline ?? 0) + LATE_MS;
  if (isOver) return { state: "Over", reason };
  if (mayPass || error instanceof DeadlinePassedError) return { due_at: now + WAIT_MS, reason };
  return failed(row, reason, now);
}

/** It is tried alone from now on, after growing pauses, and ends visibly. */
function failed(row: Step, reason: string | null, now: number): Partial<Step> {
  const failures = row.failures + 1;
  return {
    state: failures >= MAX_TRIES ? "Failed" : "Asked",
    is_alone: 1,
    failures,
    reason,
    due_at: now + computeRetryDelay(row.failures + 1),
  };
}
