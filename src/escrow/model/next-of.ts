/** What a record does next, as `Next` shows it. */

import type { ReasonCode } from "../../reason-codes.ts";
import { automaticStep } from "./due-at.ts";
import { isAbandoned, isTerminal, type Step } from "./intent.ts";
import { NOT_WORTH_WITHDRAWING } from "./is-worth-withdrawing.ts";
import type { EscrowRecord } from "./record.ts";
import { lastDeadline, type Window, windowOf } from "./windows.ts";

type Subject = Pick<
  EscrowRecord,
  "side" | "sourceType" | "sourceId" | "terms" | "state" | "progress" | "wallet" | "isWalletRemoved"
>;

/** The next step of a managed wallet. Times are epoch milliseconds of the chain. */
export interface Next extends Window {
  /** Null: none, as far as is known. */
  step: Step | null;
  /** What it waits for beside its time, for people; null: nothing. */
  waitsFor: string | null;
  /** The same as a code. Of what another party has to do: `chain`, on which it appears. */
  code: ReasonCode | null;
  /** Whether what holds up its wallet or its source holds it up too. */
  isOurTurn: boolean;
  /** Whether nobody has asked for it: then it does not come where such steps are turned off. */
  comesByItself: boolean;
}

const NOTHING: Next = {
  step: null,
  notBefore: null,
  deadline: null,
  waitsFor: null,
  code: null,
  isOurTurn: false,
  comesByItself: false,
};

/** Finds the next step of a record: requested, automatic, or another party's. */
export function nextOf(record: Subject): Next {
  const { intent, pendingTransaction, error, expiredAt } = record.progress;
  const window = intent && windowOf(record, intent.step);
  // Nothing more is built for it: only what was sent before may still come.
  const isOver = Boolean(window?.deadline && (intent?.tryAt ?? 0) > window.deadline);
  const requestedStep = {
    step: intent?.step ?? null,
    notBefore: latest(window?.notBefore, pendingTransaction || isOver ? null : intent?.tryAt),
    deadline: intent && (window ? window.deadline : lastDeadline(record, intent.step)),
    comesByItself: false,
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
    return { ...requestedStep, waitsFor, code: "chain", isOurTurn: false };
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
  if (expiredAt !== null || isTerminal(record.state.onChainState)) return NOTHING;
  const step = automaticStep(record);
  const times = step && windowOf(record, step);
  if (times && error?.note === NOT_WORTH_WITHDRAWING)
    return {
      step,
      ...times,
      waitsFor: "a request, since the withdrawal costs more than it pays",
      code: "person",
      isOurTurn: false,
      comesByItself: true,
    };
  if (times)
    return { step, ...times, waitsFor: null, code: null, isOurTurn: true, comesByItself: true };
  return ofOthers(record);
}

/** What the other party, or an administrator, may do next. */
function ofOthers(record: Subject): Next {
  const { state } = record;
  const waitsFor = (what: string, step?: Step): Next => ({
    ...NOTHING,
    waitsFor: what,
    code: "chain",
    deadline: (step && windowOf(record, step)?.deadline) ?? null,
  });
  switch (state.onChainState) {
    case null:
      return waitsFor("the buyer's lock", "FundsLocking");
    case "FundsLocked":
    case "RefundRequested":
      return waitsFor("the seller's result", "SubmitResult");
    case "Disputed":
      return {
        ...waitsFor("one party to give in, or the settlement of the dispute"),
        code: "person",
        notBefore: Number(record.terms.externalDisputeUnlockTime),
      };
    case "ResultSubmitted":
    case "WithdrawAuthorized":
      return waitsFor("the seller to withdraw");
    case "RefundAuthorized":
      return waitsFor("the buyer to collect the refund");
    default:
      return NOTHING;
  }
}

function latest(one: number | null | undefined, other: number | null | undefined): number | null {
  const times = [one ?? null, other ?? null].filter((time) => time !== null);
  return times.length === 0 ? null : Math.max(...times);
}
