import { attemptOrder } from "../attempts/row.ts";
import type { AttemptOrder, SettleOrder } from "../rpc-types.ts";
import { type Attempt, type Effect, type Payment, type Phase, WORK } from "./payment-state.ts";

/**
 * How a request relates to the payment. `own`: the one whose answer is not a replay, sent again.
 * `repeat`: the same payment by the same key. `rival`: the same payment by another key. `other`:
 * the authorization in another payload, for another source or for other terms.
 */
export const RELATIONS = ["own", "repeat", "rival", "other"] as const;
type Relation = (typeof RELATIONS)[number];

/*
 * The reaction to a request: a row per phase, a column per relation, in the order of RELATIONS. A
 * cell is `anew` (its own attempt begins), `carry` (the attempt is resumed as it was begun),
 * `withdraw` (the attempt is ended, then the request is evaluated again), `join` (the request waits
 * for what is in progress, or for what the phase requires), `told` the outcome, or `conflict`.
 */
const MET: Record<Phase, string> = {
  claimed: "anew anew anew anew",
  writing: "carry carry withdraw conflict",
  withdrawing: "join join join conflict",
  verified: "join join join conflict",
  refused: "join join join conflict",
  settled: "told told told conflict",
  failed: "told told told conflict",
  settledRecorded: "told told told conflict",
  failedRecorded: "told anew anew anew",
  closed: "told told told conflict",
};
/** The same while a run is beginning the attempt. */
const BUSY = "join join join conflict";

/** A stored value holds 2 MB, and an attempt takes some 2 kB. */
const MAX_EARLIER = 32;

/** The reaction to a request: an immediate answer, or work to be done first. */
export type Meeting =
  | { payment: Payment; reply: "told" }
  | { payment: Payment; reply: "conflict" }
  | { payment: Payment; reply: "work"; effect: Effect; relation: Relation };

/**
 * Meets a request.
 *
 * @param payment - null: the authorization is free
 * @param isBusy - whether a run is working on the payment
 * @param isWatched - whether a failed payment was compared with the chain for this request: only then
 *   does another attempt begin
 */
export function meet(
  payment: Payment | null,
  order: SettleOrder,
  { isBusy, isWatched }: { isBusy: boolean; isWatched: boolean },
): Meeting {
  const work = (next: Payment, effect: Effect): Meeting => ({
    payment: next,
    reply: "work",
    effect,
    relation: relationOf(next, order),
  });
  if (!payment) return work(begin(order, []), "judge");
  const { phase } = payment;
  const isBeginning = phase === "claimed" || phase === "writing";
  const row = isBusy && isBeginning ? BUSY : MET[phase];
  const cell = row.split(" ")[RELATIONS.indexOf(relationOf(payment, order))];
  switch (cell) {
    case "told":
    case "conflict":
      return { payment, reply: cell };
    case "carry":
      return work({ ...payment, ownRequest: order.requestId }, "judge");
    case "withdraw":
      return work({ ...payment, phase: "withdrawing" }, "withdraw");
    case "anew": {
      if (phase === "claimed") return work(begin(order, payment.earlier), "judge");
      if (!isWatched) return work(payment, "watch");
      const { earlier, ...latest } = payment;
      if (earlier.length >= MAX_EARLIER) return { payment, reply: "told" };
      return work(begin(order, [latest, ...earlier]), "judge");
    }
    default:
      return work(payment, WORK[phase] ?? "watch");
  }
}

/** An attempt that has just taken hold of its authorization. */
function begin(order: SettleOrder, earlier: Attempt[]): Payment {
  return {
    phase: "claimed",
    order: attemptOrder(order),
    ownRequest: order.requestId,
    payer: null,
    wallet: null,
    job: null,
    outcome: null,
    version: 0,
    isFinal: false,
    successReported: false,
    earlier,
  };
}

function relationOf(payment: Payment, order: SettleOrder): Relation {
  if (!isSamePayment(payment.order, order)) return "other";
  if (payment.ownRequest === order.requestId) return "own";
  return payment.order.caller.id === order.caller.id ? "repeat" : "rival";
}

/** The same payload, for the same source and the same terms. */
function isSamePayment(a: AttemptOrder, b: AttemptOrder): boolean {
  const [one, other] = [a.requirements, b.requirements];
  return (
    a.payloadHash === b.payloadHash &&
    a.paymentSourceId === b.paymentSourceId &&
    one.network === other.network &&
    one.amount === other.amount &&
    one.asset.toLowerCase() === other.asset.toLowerCase() &&
    one.payTo.toLowerCase() === other.payTo.toLowerCase()
  );
}
