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
  const waitFor = (waitsFor: string, code: ReasonCode): NextStep => ({
    ...requestedStep,
    waitsFor,
    code,
    isOurTurn: false,
  });
  if (isAbandoned(record)) return waitFor("a person who adds its removed wallet again", "person");
  if (error?.isManual) return waitFor("a person's decision", "person");
  if (pendingTransaction)
    return waitFor(
      `transaction ${pendingTransaction.transaction.txHash} to be in a block`,
      "chain",
    );
  if (intent && !window) return waitFor("the escrow to return to an earlier state", "chain");
  if (isOver) return waitFor("blocks that show whether the step was in time", "chain");
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
  if (!times) return findCounterpartyStep(record);
  const automaticStep = { step, ...times, isAutomatic: true };
  return error?.note === NOT_WORTH_WITHDRAWING_NOTE
    ? {
        ...automaticStep,
        waitsFor: "a request, since the withdrawal costs more than it pays",
        code: "person",
        isOurTurn: false,
      }
    : { ...automaticStep, waitsFor: null, code: null, isOurTurn: true };
}

/** What the other party, or an administrator, may do next. */
function findCounterpartyStep(record: NextStepRecord): NextStep {
  const { state, terms } = record;
  const waitFor = (waitsFor: string, more: Partial<NextStep> = {}): NextStep => ({
    ...NO_NEXT_STEP,
    ...{ waitsFor, code: "chain", ...more },
  });
  const deadlineFor = (step: Step) => ({ deadline: windowOf(record, step)?.deadline ?? null });
  switch (state.onChainState) {
    case null:
      return waitFor("the buyer's lock", deadlineFor("FundsLocking"));
    case "FundsLocked":
      return waitFor("the seller's result", deadlineFor("SubmitResult"));
    case "RefundRequested":
      return waitFor("the buyer to collect the refund, unless the seller submits a result", {
        notBefore: Number(terms.submitResultTime),
      });
    case "Disputed":
      return waitFor("one party to give in, or the settlement of the dispute", {
        code: "person",
        notBefore: Number(terms.externalDisputeUnlockTime),
      });
    case "ResultSubmitted":
      return waitFor("the seller to withdraw", { notBefore: Number(terms.unlockTime) });
    case "WithdrawAuthorized":
      return waitFor("the seller to withdraw");
    case "RefundAuthorized":
      return waitFor("the buyer to collect the refund");
    default:
      return NO_NEXT_STEP;
  }
}

function computeLatestTime(...times: (number | null | undefined)[]): number | null {
  const known = times.filter((time) => time != null);
  return known.length === 0 ? null : Math.max(...known);
}
