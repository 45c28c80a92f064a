import { isSameHex } from "../evm/is-same-hex.ts";
import type { AttemptOrder, SettleOrder } from "../model/messages.ts";
import {
  type Payment,
  type PaymentAttempt,
  type PaymentEffect,
  type PaymentPhase,
  PHASE_EFFECTS,
} from "./payment-state.ts";

/**
 * How a request relates to the payment. `own`: the one whose answer is not a replay, sent again.
 * `repeat`: the same payment by the same key. `rival`: the same payment by another key. `other`:
 * the authorization in another payload, for another source or for other terms.
 */
type RequestRelation = "own" | "repeat" | "rival" | "other";

/**
 * `restart`: a new attempt begins. `resume`: the request continues the attempt. `withdraw`: the
 * attempt ends, then the request is evaluated again. `join`: the request waits for the running work,
 * or for the work of the phase. `outcome`: the stored outcome is the answer.
 */
type Reaction = "restart" | "resume" | "withdraw" | "join" | "outcome" | "conflict";
type Reactions = Readonly<Record<RequestRelation, Reaction>>;

const RESTART: Reactions = {
  own: "restart",
  repeat: "restart",
  rival: "restart",
  other: "restart",
};
const JOIN: Reactions = { own: "join", repeat: "join", rival: "join", other: "conflict" };
const OUTCOME: Reactions = {
  own: "outcome",
  repeat: "outcome",
  rival: "outcome",
  other: "conflict",
};

/** The reaction to a request. While a run is beginning the attempt, the reactions are those of `JOIN`. */
const REACTIONS: Record<PaymentPhase, Reactions> = {
  claimed: RESTART,
  writing: { own: "resume", repeat: "resume", rival: "withdraw", other: "conflict" },
  withdrawing: JOIN,
  verified: JOIN,
  refused: JOIN,
  settled: OUTCOME,
  failed: OUTCOME,
  settledRecorded: OUTCOME,
  failedRecorded: { ...RESTART, own: "outcome" },
  closed: OUTCOME,
};

/** A stored value holds 2 MB, and an attempt takes some 2 kB. */
const MAX_EARLIER_ATTEMPTS = 32;

/** The reaction to a request: an immediate answer, or work to be done first. */
export type RequestReaction =
  | { payment: Payment; reply: "outcome" }
  | { payment: Payment; reply: "conflict" }
  | { payment: Payment; reply: "work"; effect: PaymentEffect; relation: RequestRelation };

/**
 * Decides what a request causes.
 *
 * @param payment - null: the authorization is free
 * @param isBusy - whether a run is working on the payment
 * @param isWatched - whether a failed payment was compared with the chain for this request: only then
 *   does another attempt begin
 */
export function onRequest(
  payment: Payment | null,
  order: SettleOrder,
  { isBusy, isWatched }: { isBusy: boolean; isWatched: boolean },
): RequestReaction {
  const toWorkReaction = (next: Payment, effect: PaymentEffect): RequestReaction => ({
    payment: next,
    reply: "work",
    effect,
    relation: relationOf(next, order),
  });
  const begin = (order: SettleOrder, earlier: PaymentAttempt[]): RequestReaction => {
    const [latest, ...others] = earlier;
    // A re-org may still settle what has failed: until then, nothing may end the authorization for good.
    if (latest && BigInt(order.requirements.amount) === 0n)
      return { payment: { ...latest, earlier: others }, reply: "outcome" };
    return toWorkReaction(beginAttempt(order, earlier), "verify");
  };
  if (!payment) return begin(order, []);
  const { phase } = payment;
  const isBeginning = phase === "claimed" || phase === "writing";
  const reactions = isBusy && isBeginning ? JOIN : REACTIONS[phase];
  const reaction = reactions[relationOf(payment, order)];
  switch (reaction) {
    case "outcome":
    case "conflict":
      return { payment, reply: reaction };
    case "resume":
      return toWorkReaction({ ...payment, ownRequest: order.requestId }, "verify");
    case "withdraw":
      return toWorkReaction({ ...payment, phase: "withdrawing" }, "withdraw");
    case "restart": {
      if (phase === "claimed") return begin(order, payment.earlier);
      if (!isWatched) return toWorkReaction(payment, "watch");
      const { earlier, ...latest } = payment;
      if (earlier.length >= MAX_EARLIER_ATTEMPTS) return { payment, reply: "outcome" };
      return begin(order, [latest, ...earlier]);
    }
    case "join":
      return toWorkReaction(payment, PHASE_EFFECTS[phase] ?? "watch");
  }
}

/** An attempt that has just taken hold of its authorization. */
function beginAttempt(order: SettleOrder, earlier: PaymentAttempt[]): Payment {
  return {
    phase: "claimed",
    order: toAttemptOrder(order),
    ownRequest: order.requestId,
    payer: null,
    wallet: null,
    job: null,
    outcome: null,
    revision: 0,
    isFinal: false,
    successReported: false,
    earlier,
  };
}

/**
 * The part of an order that is kept with an attempt. The payload is not: the request that resumes
 * the attempt brings it, as its hash shows.
 */
function toAttemptOrder({
  v: _,
  payload: __,
  waitMs: ___,
  requirements: { network, asset, amount, payTo },
  ...order
}: SettleOrder): AttemptOrder {
  return { ...order, requirements: { network, asset, amount, payTo } };
}

function relationOf(payment: Payment, order: SettleOrder): RequestRelation {
  if (!isSamePayment(payment.order, order)) return "other";
  if (payment.ownRequest === order.requestId) return "own";
  return payment.order.caller.id === order.caller.id ? "repeat" : "rival";
}

type PaymentTerms = Pick<
  AttemptOrder,
  "payloadHash" | "paymentSourceId" | "requirements" | "maxAmount"
>;

/** The same payload, for the same source and the same terms. Another charge of `upto` is no other payment. */
export function isSamePayment(a: PaymentTerms, b: PaymentTerms): boolean {
  const [one, other] = [a.requirements, b.requirements];
  return (
    a.payloadHash === b.payloadHash &&
    a.paymentSourceId === b.paymentSourceId &&
    one.network === other.network &&
    a.maxAmount === b.maxAmount &&
    (a.maxAmount !== undefined || one.amount === other.amount) &&
    isSameHex(one.asset, other.asset) &&
    isSameHex(one.payTo, other.payTo)
  );
}
