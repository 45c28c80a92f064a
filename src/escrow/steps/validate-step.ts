/** Whether a step that is asked for is accepted: pure. */
import type { ChainTime } from "../../chain/chain-time.ts";
import type { OnChainState, PaymentSourceType } from "../../chain/network.ts";
import type { EscrowRecord, Side } from "../model/escrow-record.ts";
import {
  AUTOMATIC_REQUESTER,
  isAbandoned,
  isPaused,
  type Step,
  WALLET_REMOVED_NOTE,
} from "../model/intent.ts";
import { ruleOf } from "../model/step-rules.ts";
import { isStepPossible, MAX_TIMESTAMP_MS, windowOf } from "../model/windows.ts";

interface ApiStep {
  side: Side;
  steps: Record<PaymentSourceType, Step>;
}

const createApiStep = (side: Side, step: Step, stepOfV2 = step): ApiStep => ({
  side,
  steps: { Web3ChainV1: step, Web3ChainV2: stepOfV2 },
});

/** By the last part of their paths. */
export const API_STEPS = {
  "submit-result": createApiStep("payment", "SubmitResult"),
  "authorize-refund": createApiStep("payment", "AuthorizeRefund"),
  withdraw: createApiStep("payment", "Withdraw"),
  "request-refund": createApiStep("purchase", "SetRefundRequested"),
  "cancel-refund-request": createApiStep("purchase", "UnSetRefundRequested", "AuthorizeWithdrawal"),
  "withdraw-refund": createApiStep("purchase", "WithdrawRefund"),
};
export type ApiStepName = keyof typeof API_STEPS;

/** What is asked of a record. */
export interface StepRequest {
  name: ApiStepName;
  /** Of `submit-result`; null of the others. */
  resultHash: string | null;
}

/** What the record's state says of it; the times are judged by `untimely`. */
type Verdict =
  /** It is under way, or the chain shows it: nothing is left to do. */
  { is: "done" } | { is: "open"; step: Step } | { is: "refused"; reason: string };

/** How long before its deadline a step is not accepted any more: it has to reach a block. */
const MIN_LEAD_TIME_MS = 2 * 60_000;

/** The states that only this step leads to, or after which nobody asks for it again. */
const DONE_STATES: Partial<Record<Step, readonly OnChainState[]>> = {
  AuthorizeRefund: ["RefundAuthorized"],
  AuthorizeWithdrawal: ["WithdrawAuthorized"],
  SetRefundRequested: ["RefundRequested", "Disputed"],
  Withdraw: ["Withdrawn"],
  WithdrawRefund: ["RefundWithdrawn"],
};

/**
 * Validates a requested step by the record's state and intent.
 *
 * @param newest - intent of the record's newest transaction on the chain. Null: another party's transaction.
 */
export function validateStep(
  record: EscrowRecord,
  request: StepRequest,
  newest: Step | null,
): Verdict {
  const { side, sourceType, state, progress } = record;
  const { intent, pendingTransaction } = progress;
  const step = API_STEPS[request.name].steps[sourceType];
  const isSame = intent?.step === step && intent.resultHash === request.resultHash;
  if (isSame) return isPaused(record) ? toPausedVerdict(record) : { is: "done" };
  if (state.onChainState === null) return toRefusedVerdict(`the ${side}'s funds are not locked`);
  if (intent !== null && intent.by !== AUTOMATIC_REQUESTER) {
    const isTaken =
      pendingTransaction !== null || isStepPossible(intent.step, state.onChainState, sourceType);
    if (isTaken)
      return toRefusedVerdict(`${intent.step} of the ${side} was requested and is not done yet`);
  }
  if (isStepDone(record, step, newest, request.resultHash)) return { is: "done" };
  if (isPaused(record)) return toPausedVerdict(record);
  if (pendingTransaction !== null)
    return toRefusedVerdict(`${intent?.step} of the ${side} is pending`);
  if (windowOf(record, step) !== null) return { is: "open", step };
  return toRefusedVerdict(explainImpossibleStep(record, request.name, step));
}

function isStepDone(
  { state: { onChainState, resultHash } }: EscrowRecord,
  step: Step,
  newest: Step | null,
  given: string | null,
): boolean {
  if (step === "SubmitResult") return resultHash === given;
  return newest === step || DONE_STATES[step]?.some((one) => one === onChainState) === true;
}

const toRefusedVerdict = (reason: string): Verdict => ({ is: "refused", reason });

function toPausedVerdict(record: EscrowRecord): Verdict {
  const { side, progress } = record;
  if (isAbandoned(record)) return toRefusedVerdict(explainWalletRemoved(record));
  return toRefusedVerdict(`the ${side} waits for a person's decision: ${progress.error?.note}`);
}

/** Why nothing can be asked of a record whose wallet or payment source was removed. */
export function explainWalletRemoved({ side }: EscrowRecord): string {
  return `the ${side} cannot go on. ${WALLET_REMOVED_NOTE}`;
}

/** Why the contract does not allow a step in a record's state. @param name - what it is called there */
export function explainImpossibleStep(record: EscrowRecord, name: string, step: Step): string {
  const { side, sourceType, terms, state } = record;
  const { onChainState } = state;
  if (step === "AuthorizeRefund" && onChainState === "RefundRequested")
    return `there is nothing to authorize: without a result the buyer can collect the refund from ${formatTime(Number(terms.submitResultTime))}`;
  if (step === "AuthorizeWithdrawal" && onChainState === "RefundRequested")
    return "a refund that was requested before the result cannot be cancelled on Web3ChainV2: the seller may still submit a result";
  // Out of a state that shows it already, the contract takes it again; nobody has anything from that.
  const from = (ruleOf(step, sourceType)?.transitions ?? [])
    .filter((one) => !DONE_STATES[step]?.some((state) => state === one.from))
    .map((one) => String(one.from));
  if (from.includes(String(onChainState)))
    return `${name} is impossible: its earliest time is after its deadline`;
  return `the ${side} is ${onChainState}, and ${name} is possible while it is ${DISJUNCTION_FORMAT.format(from)}`;
}

const DISJUNCTION_FORMAT = new Intl.ListFormat("en", { type: "disjunction" });

/** Whether a step pays the escrow out: it is taken now, or not accepted. */
export function isFinalStep(step: Step): boolean {
  return step === "Withdraw" || step === "WithdrawRefund";
}

/**
 * Why a step that the state allows is not accepted now; null: it is. What only a cooldown holds up is
 * accepted, and waits for its end.
 */
export function validateTiming(
  record: EscrowRecord,
  name: string,
  step: Step,
  time: ChainTime,
): string | null {
  const window = windowOf(record, step);
  const last = window?.deadline && window.deadline - MIN_LEAD_TIME_MS;
  if (last && time.latestTime > last)
    return `the time to request ${name} ended at ${formatTime(last)}, 2 minutes before the deadline`;
  const begins = window?.notBefore ?? 0;
  if (isFinalStep(step) && begins > time.tipTime)
    return `${name} is possible from ${formatTime(begins)}`;
  if (last && begins > last)
    return `${name} is possible from ${formatTime(begins)}, too late for the deadline ${formatTime(window.deadline)}`;
  return null;
}

/** A lock that nobody agreed on may name a time that no calendar has. */
const formatTime = (time: number | null) =>
  new Date(Math.min(time ?? 0, MAX_TIMESTAMP_MS)).toISOString();
