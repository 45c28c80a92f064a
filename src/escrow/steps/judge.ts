/** Whether a step that is asked for is accepted: pure. */
import type { ChainTime } from "../../chain/chain-time.ts";
import type { OnChainState } from "../../chain/network.ts";
import { ruleOf } from "../actions/rules.ts";
import { isStepPossible, LAST_TIME, windowOf } from "../actions/windows.ts";
import type { EscrowRecord } from "../record.ts";
import { AUTOMATIC, isAbandoned, type Step, standsStill, WALLET_REMOVED } from "../wanted.ts";
import { ASKED, type AskedName } from "./asked.ts";

/** What is asked of a record. */
export interface StepAsked {
  name: AskedName;
  /** Of `submit-result`; null of the others. */
  resultHash: string | null;
}

/** What the record's state says of it; the times are judged by `untimely`. */
export type Verdict =
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
 * Judges what is asked of a record by its state and by what is wanted of it already.
 *
 * @param newest - what the record's newest transaction on the chain was made for; null: it is not ours
 */
export function judge(record: EscrowRecord, asked: StepAsked, newest: Step | null): Verdict {
  const { side, sourceType, state, wanted } = record;
  const { want, underWay } = wanted;
  const step = ASKED[asked.name].steps[sourceType];
  const isSame = want?.step === step && want.resultHash === asked.resultHash;
  if (isSame) return standsStill(record) ? refusedUntilDecided(record) : { is: "done" };
  if (state.onChainState === null) return refused(`the ${side}'s funds are not locked`);
  if (want !== null && want.by !== AUTOMATIC) {
    const isTaken = underWay !== null || isStepPossible(want.step, state.onChainState, sourceType);
    if (isTaken) return refused(`${want.step} of the ${side} was asked for and is not done yet`);
  }
  if (isShown(record, step, newest, asked.resultHash)) return { is: "done" };
  if (standsStill(record)) return refusedUntilDecided(record);
  if (underWay !== null) return refused(`${want?.step} of the ${side} is under way`);
  if (windowOf(record, step) !== null) return { is: "open", step };
  return refused(whyNot(record, asked.name, step));
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
  const { side, wanted } = record;
  if (isAbandoned(record)) return refused(notInUse(record));
  return refused(
    `the ${side} waits for a person's decision, which POST /${side}/error-state-recovery takes: ${wanted.error?.note}`,
  );
}

/** Why nothing can be asked of a record whose wallet or payment source was removed. */
export function notInUse({ side }: EscrowRecord): string {
  return `the ${side} cannot go on. ${WALLET_REMOVED}`;
}

/** Why the contract does not allow a step in a record's state. @param name - what it is called there */
export function whyNot(record: EscrowRecord, name: string, step: Step): string {
  const { side, sourceType, terms, state } = record;
  const { onChainState } = state;
  if (step === "AuthorizeRefund" && onChainState === "RefundRequested")
    return `there is nothing to authorise: without a result the buyer can collect the refund from ${iso(Number(terms.submitResultTime))}`;
  if (step === "AuthorizeWithdrawal" && onChainState === "RefundRequested")
    return "a refund that was requested before the result cannot be cancelled on Web3ChainV2: the seller may still submit one";
  // Out of a state that shows it already, the contract takes it again; nobody has anything from that.
  const from = (ruleOf(step, sourceType)?.transitions ?? [])
    .filter((one) => !SHOWN_BY[step]?.some((state) => state === one.from))
    .map((one) => String(one.from));
  if (from.includes(String(onChainState)))
    return `${name} can never be done here: it could only begin after its end`;
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
export function untimely(
  record: EscrowRecord,
  name: string,
  step: Step,
  time: ChainTime,
): string | null {
  const window = windowOf(record, step);
  const last = window?.deadline && window.deadline - MIN_BEFORE_DEADLINE_MS;
  if (last && time.latest > last)
    return `${name} had to be asked for until ${iso(last)}, 2 minutes before its time is over`;
  const begins = window?.notBefore ?? 0;
  if (endsEscrow(step) && begins > time.tip) return `${name} is possible from ${iso(begins)}`;
  if (last && begins > last)
    return `${name} is possible from ${iso(begins)}, too late for its end at ${iso(window.deadline)}`;
  return null;
}

/** A lock that nobody agreed on may name a time that no calendar has. */
const iso = (time: number | null) => new Date(Math.min(time ?? 0, LAST_TIME)).toISOString();
