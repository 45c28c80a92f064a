/** What a record does next, as `NextStep` shows it. */

import type { ReasonCode } from "../../reason-codes.ts";
import { findAutomaticStep } from "./compute-due-at.ts";
import type { EscrowRecord } from "./escrow-record.ts";
import { isAbandoned, isTerminal, type Step } from "./intent.ts";
import { NOT_WORTH_WITHDRAWING_NOTE } from "./is-worth-withdrawing.ts";
import { findLastDeadline, type StepWindow, windowOf } from "./windows.ts";

type NextStepRecord = Pick<
  EscrowRecord,
  "side" | "sourceType" | "sourceId" | "terms" | "state" | "progress" | "wallet" | "isWalletRemoved"
>;

/** The next step of a managed wallet. Times are epoch milliseconds of the chain. */
export interface NextStep extends StepWindow {
  /** Null: none, as far as is known. */
  step: Step | null;
  /** What it waits for beside its time, for people; null: nothing. */
  waitsFor: string | null;
  /** The same as a code. Of what another party has to do: `chain`, on which it appears. */
  code: ReasonCode | null;
  /** Whether what holds up its wallet or its source holds it up too. */
  isOurTurn: boolean;
  /** Whether nobody has asked for it: then it does not come where such steps are turned off. */
  isAutomatic: boolean;
}

const NO_NEXT_STEP: NextStep = {
  step: null,
  notBefore: null,
  deadline: null,
  waitsFor: null,
  code: null,
  isOurTurn: false,
  isAutomatic: false,
};

/** Finds the next step of a record: requested, automatic, or another party's. */
export function findNextStep(record: NextStepRecord): NextStep {
  const { intent, pendingTransaction, error, expiredAt } = record.progress;
  const window = intent && windowOf(record, intent.step);
  // Nothing more is built for it: only what was sent before may still come.
  const isOver = Boolean(window?.deadline && (intent?.tryAt ?? 0) > window.deadline);
  const requestedStep = {
    step: intent?.step ?? null,
    notBefore: computeLatestTime(
      window?.notBefore,
      pendingTransaction || isOver ? null : intent?.tryAt,
    ),
    deadline: intent && (window ? window.deadline : findLastDeadline(record, intent.step)),
    isAutomatic: false,
  };
  if (isAbandoned(record))
    return {
      ...requestedStep,
      waitsFor: "a person who adds its removed wallet again",
      code: "person",
      isOurTurn: false,
    };
  if (error?.isManual)
    return {
      ...requestedStep,
      waitsFor: "a person's decision",
      code: "person",
      isOurTurn: false,
    };
  if (pendingTransaction) {
    const waitsFor = `transaction ${pendingTransaction.transaction.txHash} to be in a block`;
    return { ...requestedStep, waitsFor: waitsFor, code: "chain", isOurTurn: false };
  }
  if (intent && !window)
    return {
      ...requestedStep,
      waitsFor: "the escrow to return to an earlier state",
      code: "chain",
      isOurTurn: false,
    };
  if (isOver)
    return {
      ...requestedStep,
      waitsFor: "blocks that show whether the step was in time",
      code: "chain",
      isOurTurn: false,
    };
  if (intent)
    return {
      ...requestedStep,
      waitsFor: error?.note ?? null,
      code: error && (intent.reasonCode ?? "failing"),
      isOurTurn: error === null,
    };
  if (expiredAt !== null || isTerminal(record.state.onChainState)) return NO_NEXT_STEP;
  const step = findAutomaticStep(record);
  const times = step && windowOf(record, step);
  if (times && error?.note === NOT_WORTH_WITHDRAWING_NOTE)
    return {
      step,
      ...times,
      waitsFor: "a request, since the withdrawal costs more than it pays",
      code: "person",
      isOurTurn: false,
      isAutomatic: true,
    };
  if (times)
    return {
      step,
      ...times,
      waitsFor: null,
      code: null,
      isOurTurn: true,
      isAutomatic: true,
    };
  return findCounterpartyStep(record);
}

/** What the other party, or an administrator, may do next. */
function findCounterpartyStep(record: NextStepRecord): NextStep {
  const { state } = record;
  const toCounterpartyStep = (what: string, step?: Step): NextStep => ({
    ...NO_NEXT_STEP,
    waitsFor: what,
    code: "chain",
    deadline: (step && windowOf(record, step)?.deadline) ?? null,
  });
  switch (state.onChainState) {
    case null:
      return toCounterpartyStep("the buyer's lock", "FundsLocking");
    case "FundsLocked":
      return toCounterpartyStep("the seller's result", "SubmitResult");
    case "RefundRequested":
      return {
        ...toCounterpartyStep(
          "the buyer to collect the refund, unless the seller submits a result",
        ),
        notBefore: Number(record.terms.submitResultTime),
      };
    case "Disputed":
      return {
        ...toCounterpartyStep("one party to give in, or the settlement of the dispute"),
        code: "person",
        notBefore: Number(record.terms.externalDisputeUnlockTime),
      };
    case "ResultSubmitted":
      return {
        ...toCounterpartyStep("the seller to withdraw"),
        notBefore: Number(record.terms.unlockTime),
      };
    case "WithdrawAuthorized":
      return toCounterpartyStep("the seller to withdraw");
    case "RefundAuthorized":
      return toCounterpartyStep("the buyer to collect the refund");
    default:
      return NO_NEXT_STEP;
  }
}

function computeLatestTime(
  one: number | null | undefined,
  other: number | null | undefined,
): number | null {
  const times = [one ?? null, other ?? null].filter((time) => time !== null);
  return times.length === 0 ? null : Math.max(...times);
}
