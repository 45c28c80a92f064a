import { TransactionTooLargeError } from "../../chain/transaction/build-transaction.ts";
import { computeMinimumCoin } from "../../chain/transaction/select-inputs.ts";
import {
  type PlannedOutput,
  parseOutputReference,
} from "../../chain/transaction/transaction-plan.ts";
import type { Database } from "../../db/client.ts";
import { TaskError } from "../../task-error.ts";
import { progressOf } from "../model/phases.ts";
import type { TaskUpdate } from "../model/wallet-transaction.ts";
import { RETRY_DELAY_MS } from "../queue/backoff.ts";
import { RetryLaterError, WalletRemovedError } from "../queue/errors.ts";
import { EMPTY_PART, type TransactionPart, type WalletFeature } from "../queue/feature.ts";
import { decideEndOutcome } from "../queue/outcome.ts";
import { PENDING_STATE, type SourceWallet } from "../queue/store.ts";
import {
  createSubjectFeature,
  type SubjectOutcome,
  type SubjectPort,
} from "../queue/subject-feature.ts";
import {
  isReferenced,
  type Purpose,
  type ReferenceScriptChange,
  readReferenceScripts,
  updateReferenceScript,
} from "./store.ts";
import { REFERENCE_SCRIPT_FEATURE, type ReferenceScriptRow } from "./tables.ts";
import { findSpender, toWithdrawnChange } from "./withdraw-spent-script.ts";

const purposeOf = ({ state }: ReferenceScriptRow): Purpose =>
  state.startsWith("Withdraw") ? "Withdraw" : "Publish";

/**
 * Creates the feature that publishes and withdraws reference scripts of a payment source. An output of the
 * wallet carries the script. The withdrawal spends that output.
 *
 * @param db - with `writes: "idempotent"`
 */
export function createReferenceScriptFeature(db: Database, wallet: SourceWallet): WalletFeature {
  const feature = createSubjectFeature(db, createReferenceScriptPort(db), wallet);
  return {
    ...feature,
    placement: "chained",
    maxTasks: 1,
    async buildPart({ id }, { parameters, provider }) {
      const row = feature.requireRow(id);
      if (purposeOf(row) === "Publish") return buildPublishPart(row, parameters);
      const spender = await findSpender(row, provider);
      if (spender !== undefined) throw new OutputSpentError(spender);
      if (row.output !== null && (await isReferenced(db, wallet.network, row.output)))
        throw new RetryLaterError(
          "waits for transactions that read the script",
          Date.now() + RETRY_DELAY_MS,
        );
      return buildWithdrawPart(row);
    },
  };
}

/** What the queue knows of reference scripts. */
export function createReferenceScriptPort(
  db: Database,
): SubjectPort<ReferenceScriptRow, ReferenceScriptChange> {
  return {
    name: REFERENCE_SCRIPT_FEATURE,
    revision: "reference_script.revision",
    read: (ids) => readReferenceScripts(db, ids),
    update: (changed, now) =>
      changed.map(({ row, change }) => updateReferenceScript(db, row, change, now)),
    hasSent: ({ txHash }) => txHash !== null,
    decideAfterUpdate: decideScriptOutcome,
    decideAfterFailure(_, error) {
      if (error instanceof TransactionTooLargeError) return toFailedOutcome(error.message);
      if (error instanceof OutputSpentError)
        return { change: toWithdrawnChange(error.spenderHash), task: null };
      return error instanceof WalletRemovedError ? toFailedOutcome(error.message) : null;
    },
    giveUp: (row, reason, _, hasSource) =>
      hasSource ? toGivenUpOutcome(row, reason) : toFailedOutcome(reason),
  };
}

/** Somebody who has the wallet's key has spent the output already, or a transaction that nobody remembers. */
class OutputSpentError extends TaskError {
  override name = "OutputSpentError";
  /** Hash of the transaction. */
  readonly spenderHash: string;

  constructor(by: string) {
    super(`the transaction ${by} has spent the output`);
    this.spenderHash = by;
  }
}

/** An output of the wallet itself, which it never spends for anything else. */
function buildPublishPart(
  { walletAddress: address, cbor: script }: ReferenceScriptRow,
  parameters: Parameters<typeof computeMinimumCoin>[1],
): TransactionPart {
  const createOutput = (coin: bigint): PlannedOutput => ({
    address,
    value: new Map([["", coin]]),
    script,
  });
  const deposit = computeMinimumCoin(createOutput(0n), parameters);
  return {
    ...EMPTY_PART,
    outputs: [createOutput(deposit)],
    maxParts: 1,
    detail: { purpose: "Publish", deposit: String(deposit) },
  };
}

function buildWithdrawPart({ output, deposit, cbor }: ReferenceScriptRow): TransactionPart {
  const value = new Map([["", BigInt(deposit ?? 0)]]);
  return {
    ...EMPTY_PART,
    spends: [{ ...parseOutputReference(output ?? ""), value }],
    spentScriptBytes: cbor.length / 2,
    maxParts: 1,
    detail: { purpose: "Withdraw", deposit },
  };
}

type ScriptOutcome = SubjectOutcome<ReferenceScriptChange>;

function decideScriptOutcome(
  row: ReferenceScriptRow,
  { task, transaction }: TaskUpdate,
  now: number,
): ScriptOutcome | null {
  const { purpose, deposit = null } = task.detail as { purpose: Purpose; deposit?: string | null };
  const { hash, phase } = transaction;
  const isOfRow = row.state === "Published" || row.state === "Withdrawn" || row.txHash === hash;
  // What has taken the output back counts, also of a row that has forgotten, or given up, that it should.
  const isTaken =
    purpose === "Withdraw" &&
    progressOf(phase) === "Landed" &&
    row.output !== null &&
    transaction.inputs.includes(row.output);
  if (!isTaken && purpose !== findOpenPurpose(row)) return null;
  const made = purpose === "Publish" ? { output: `${hash}#0`, deposit } : {};
  const attempts = row.task?.attempts ?? 0;
  switch (progressOf(phase)) {
    case "UnderWay":
      return {
        change: { state: `${purpose}Initiated`, txHash: hash, error: null, ...made },
        task: { ...PENDING_STATE, attempts },
      };
    case "Landed":
      return {
        change: {
          state: purpose === "Publish" ? "Published" : "Withdrawn",
          txHash: hash,
          error: null,
          ...made,
        },
        task: PENDING_STATE,
      };
    case "Ended": {
      if (!isOfRow) return null;
      const change = { state: `${purpose}Requested` } as const;
      const outcome = decideEndOutcome(attempts, transaction, now);
      return "task" in outcome
        ? { change, task: outcome.task }
        : toGivenUpOutcome({ ...row, ...change }, outcome.givenUp);
    }
  }
}

/** Which of the two a row is about; `Published` may be published again, not withdrawn. */
function findOpenPurpose(row: ReferenceScriptRow): Purpose | null {
  if (row.state === "Failed") return null;
  return row.state === "Withdrawn" ? "Withdraw" : purposeOf(row);
}

/** A script that is published stays so when it cannot be withdrawn. */
function toGivenUpOutcome(row: ReferenceScriptRow, reason: string): ScriptOutcome {
  return purposeOf(row) === "Publish"
    ? toFailedOutcome(reason)
    : { change: { state: "Published", error: reason }, task: null };
}

const toFailedOutcome = (error: string): ScriptOutcome => ({
  change: { state: "Failed", error },
  task: null,
});
