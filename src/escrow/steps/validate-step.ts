/** Whether a step that is asked for is accepted: pure. */
import type { ChainTime } from "../../chain/chain-time.ts";
import type { OnChainState, PaymentSourceType } from "../../chain/network.ts";
import { AUTOMATIC, isAbandoned, isPaused, type Step, WALLET_REMOVED } from "../model/intent.ts";
import type { EscrowRecord, Side } from "../model/record.ts";
import { ruleOf } from "../model/step-rules.ts";
import { isStepPossible, LAST_TIME, windowOf } from "../model/windows.ts";

/** By the last part of its path. */
export type ApiStepName =
  | "submit-result"
  | "authorize-refund"
  | "withdraw"
  | "request-refund"
  | "cancel-refund-request"
  | "withdraw-refund";

interface ApiStep {
  side: Side;
  steps: Record<PaymentSourceType, Step>;
}

const onBoth = (side: Side, step: Step): ApiStep => ({
  side,
  steps: { Web3ChainV1: step, Web3ChainV2: step },
});

export const API_STEPS: Readonly<Record<ApiStepName, ApiStep>> = {
  "submit-result": onBoth("payment", "SubmitResult"),
  "authorize-refund": onBoth("payment", "AuthorizeRefund"),
  withdraw: onBoth("payment", "Withdraw"),
  "request-refund": onBoth("purchase", "SetRefundRequested"),
  "cancel-refund-request": {
    side: "purchase",
    steps: { Web3ChainV1: "UnSetRefundRequested", Web3ChainV2: "AuthorizeWithdrawal" },
  },
  "withdraw-refund": onBoth("purchase", "WithdrawRefund"),
};

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
const MIN_BEFORE_DEADLINE_MS = 2 * 60_000;

/** The states that only this step leads to, or after which nobody asks for it again. */
const SHOWN_BY: Partial<Record<Step, readonly OnChainState[]>> = {
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
  if (isSame) return isPaused(record) ? refusedUntilDecided(record) : { is: "done" };
  if (state.onChainState === null) return refused(`the ${side}'s funds are not locked`);
  if (intent !== null && intent.by !== AUTOMATIC) {
    const isTaken =
      pendingTransaction !== null || isStepPossible(intent.step, state.onChainState, sourceType);
    if (isTaken) return refused(`${intent.step} of the ${side} was requested and is not done yet`);
  }
  if (isShown(record, step, newest, request.resultHash)) return { is: "done" };
  if (isPaused(record)) return refusedUntilDecided(record);
  if (pendingTransaction !== null) return refused(`${intent?.step} of the ${side} is pending`);
  if (windowOf(record, step) !== null) return { is: "open", step };
  return refused(explainImpossible(record, request.name, step));
}

function isShown(
  { state: { onChainState, resultHash } }: EscrowRecord,
  step: Step,
  newest: Step | null,
  given: string | null,
): boolean {
  if (step === "SubmitResult") return resultHash === given;
  return newest === step || SHOWN_BY[step]?.some((one) => one === onChainState) === true;
}

const refused = (reason: string): Verdict => ({ is: "refused", reason });

function refusedUntilDecided(record: EscrowRecord): Verdict {
  const { side, progress } = record;
  if (isAbandoned(record)) return refused(explainRemoved(record));
  return refused(`the ${side} waits for a person's decision: ${progress.error?.note}`);
}

/** Why nothing can be asked of a record whose wallet or payment source was removed. */
export function explainRemoved({ side }: EscrowRecord): string {
  return `the ${side} cannot go on. ${WALLET_REMOVED}`;
}

/** Why the contract does not allow a step in a record's state. @param name - what it is called there */
export function explainImpossible(record: EscrowRecord, name: string, step: Step): string {
  const { side, sourceType, terms, state } = record;
  const { onChainState } = state;
  if (step === "AuthorizeRefund" && onChainState === "RefundRequested")
    return `there is nothing to authorize: without a result the buyer can collect the refund from ${iso(Number(terms.submitResultTime))}`;
  if (step === "AuthorizeWithdrawal" && onChainState === "RefundRequested")
    return "a refund that was requested before the result cannot be cancelled on Web3ChainV2: the seller may still submit a result";
  // Out of a state that shows it already, the contract takes it again; nobody has anything from that.
  const from = (ruleOf(step, sourceType)?.transitions ?? [])
    .filter((one) => !SHOWN_BY[step]?.some((state) => state === one.from))
    .map((one) => String(one.from));
  if (from.includes(String(onChainState)))
    return `${name} is impossible: its earliest time is after its deadline`;
  return `the ${side} is ${onChainState}, and ${name} is possible while it is ${EITHER.format(from)}`;
}

const EITHER = new Intl.ListFormat("en", { type: "disjunction" });

/** Whether a step pays the escrow out: it is taken now, or not accepted. */
export function endsEscrow(step: Step): boolean {
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
  const last = window?.deadline && window.deadline - MIN_BEFORE_DEADLINE_MS;
  if (last && time.latest > last)
    return `the time to request ${name} ended at ${iso(last)}, 2 minutes before the deadline`;
  const begins = window?.notBefore ?? 0;
  if (endsEscrow(step) && begins > time.tip) return `${name} is possible from ${iso(begins)}`;
  if (last && begins > last)
    return `${name} is possible from ${iso(begins)}, too late for the deadline ${iso(window.deadline)}`;
  return null;
}

/** A lock that nobody agreed on may name a time that no calendar has. */
const iso = (time: number | null) => new Date(Math.min(time ?? 0, LAST_TIME)).toISOString();
