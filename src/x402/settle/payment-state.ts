import { toAttemptOutcome } from "../attempts/attempt-row.ts";
import type {
  AttemptOrder,
  AttemptOutcome,
  JobStatus,
  RemoteSettlement,
  SettlementJob,
} from "../model/messages.ts";
import type { Facilitator } from "../networks/settlement-network.ts";

/**
 * The phases of one authorization's payment.
 *
 * `claimed`: to be verified; nothing was sent to D1. `writing`: the attempt's row was sent to D1,
 * which may have it. `withdrawing`: D1 is asked to end that row; the attempt can have no other
 * outcome. `verified`: D1 has the row, the wallet may have the job. `refused`: the chain would
 * reject it, to be recorded in D1. `settled`, `failed`: decided by the wallet, to be recorded in
 * D1. `settledRecorded`, `failedRecorded`: recorded, but a re-org may still change it. `closed`:
 * settled and final.
 */
export const PAYMENT_PHASES = [
  "claimed",
  "writing",
  "withdrawing",
  "verified",
  "refused",
  "settled",
  "failed",
  "settledRecorded",
  "failedRecorded",
  "closed",
] as const;
export type PaymentPhase = (typeof PAYMENT_PHASES)[number];

/**
 * Events of a payment's object.
 *
 * `valid`, `invalid`: the verdict on the payment. `written`: D1 has the row. `late`: it has, but
 * there is no time left to sign. `ended`: it has, and the row was withdrawn before. `denied`: it
 * refused the row. `broken`: an answer was lost or an upstream failed, so that nothing more is
 * known. `withdrawn`: the row has failed. `settled`, `failed`: the wallet's result, `final` that it
 * will not change. `recorded`: D1 has the outcome. `alarm`: no run is working on it.
 */
export type PaymentEvent =
  | { kind: "valid"; payer: string; wallet: SettlingWallet; job: SettlementJob }
  | { kind: "invalid"; payer: string | null; reason: string; message: string | null }
  | ({ kind: "settled" | "failed"; attemptId: string } & Omit<JobStatus, "state">)
  | { kind: "final"; attemptId: string }
  | {
      kind: "written" | "late" | "ended" | "denied" | "broken" | "withdrawn" | "recorded" | "alarm";
    };

/** What the object must do; its result is the next event. */
export type PaymentEffect = "verify" | "write" | "withdraw" | "submit" | "record" | "watch";

/**
 * The phase after each event that changes something. `gone`: the attempt is deleted, since it cannot
 * reach the chain and D1 has no open row of it.
 *
 * `writing` ends only with a write that ends or verifies the row. Until then a copy of the first
 * write may still arrive.
 */
const TRANSITIONS: Record<
  PaymentPhase,
  { readonly [Kind in PaymentEvent["kind"]]?: PaymentPhase | "gone" }
> = {
  claimed: { valid: "writing", invalid: "refused", broken: "gone", alarm: "gone" },
  writing: {
    valid: "writing",
    invalid: "refused",
    written: "verified",
    late: "withdrawing",
    ended: "gone",
    denied: "withdrawing",
    alarm: "withdrawing",
  },
  withdrawing: { withdrawn: "gone", alarm: "withdrawing" },
  verified: { settled: "settled", failed: "failed", alarm: "verified" },
  refused: { recorded: "gone", alarm: "refused" },
  settled: { recorded: "settledRecorded", alarm: "settled" },
  failed: { recorded: "failedRecorded", alarm: "failed" },
  settledRecorded: {
    settled: "settled",
    failed: "failed",
    final: "closed",
    alarm: "settledRecorded",
  },
  failedRecorded: { settled: "settled", final: "gone", alarm: "failedRecorded" },
  closed: {},
};

/** The effect of each phase. */
export const PHASE_EFFECTS: Record<PaymentPhase, PaymentEffect | null> = {
  claimed: "verify",
  writing: "write",
  withdrawing: "withdraw",
  verified: "submit",
  refused: "record",
  settled: "record",
  failed: "record",
  settledRecorded: "watch",
  failedRecorded: "watch",
  closed: null,
};

/** What settles an attempt. Without an id and an address when another facilitator does. */
export interface SettlingWallet extends Facilitator {
  remote?: RemoteSettlement;
}

/** One attempt to settle, as the object of its authorization remembers it. */
export interface PaymentAttempt {
  phase: PaymentPhase;
  /** Never changes: id, key and terms of the attempt. */
  readonly order: AttemptOrder;
  /** The request whose answer is not a replay: the one that began or last resumed the attempt. */
  ownRequest: string;
  payer: string | null;
  wallet: SettlingWallet | null;
  job: SettlementJob | null;
  outcome: AttemptOutcome | null;
  /** Number of outcomes that D1 has. */
  revision: number;
  isFinal: boolean;
  /** Whether success was reported to any caller. */
  successReported: boolean;
}

/** What the object stores: the latest attempt, and those that a re-org may still settle. */
export interface Payment extends PaymentAttempt {
  /** Attempts before that failed and are not final, newest first; bounded by `onRequest`. */
  earlier: PaymentAttempt[];
}

export interface PaymentTransition {
  payment: Payment | null;
  effect: PaymentEffect | null;
}

/** The result of an event: the payment from then on (null: none), and what is to be done. */
export function advancePayment(payment: Payment, event: PaymentEvent): PaymentTransition {
  if ("attemptId" in event && event.attemptId !== payment.order.attemptId)
    return advanceEarlierAttempt(payment, event);
  const phase = TRANSITIONS[payment.phase][event.kind];
  if (phase === undefined) return { payment, effect: null };
  if (phase === "gone") return { payment: dropLatestAttempt(payment), effect: null };
  const isSame = event.kind === "alarm" && phase === payment.phase;
  const next = isSame ? payment : { ...payment, ...applyEvent(payment, event), phase };
  if (event.kind === "recorded") {
    const { isFinal, order } = next;
    if (!isFinal) return { payment: next, effect: null };
    return advancePayment(next, { kind: "final", attemptId: order.attemptId });
  }
  return {
    payment: phase === "closed" ? { ...next, earlier: [] } : next,
    effect: PHASE_EFFECTS[phase],
  };
}

function applyEvent(payment: Payment, event: PaymentEvent): Partial<Payment> {
  switch (event.kind) {
    case "valid":
      return { payer: event.payer, wallet: event.wallet, job: event.job };
    case "invalid": {
      const { payer, reason: errorReason, message: errorMessage } = event;
      const outcome = { success: false, transaction: "", payer, errorReason, errorMessage };
      return { payer, outcome, isFinal: true };
    }
    case "settled":
    case "failed": {
      const { kind, isFinal } = event;
      return { outcome: toAttemptOutcome(kind, event, payment.payer), isFinal, job: null };
    }
    case "recorded":
      return { revision: payment.revision + 1 };
    case "final":
      return { isFinal: true };
    default:
      return {};
  }
}

/** An earlier attempt that the chain settled after all replaces the latest, which failed. */
function advanceEarlierAttempt(
  payment: Payment,
  event: PaymentEvent & { attemptId: string },
): PaymentTransition {
  const { earlier, ...latest } = payment;
  const attempt = earlier.find(({ order }) => order.attemptId === event.attemptId);
  const others = earlier.filter((one) => one !== attempt);
  if (attempt && event.kind === "final")
    return { payment: { ...payment, earlier: others }, effect: null };
  if (attempt && event.kind === "settled" && payment.phase === "failedRecorded")
    return advancePayment({ ...attempt, earlier: [latest, ...others] }, event);
  return { payment, effect: null };
}

/** Drops the latest attempt. An earlier attempt may still settle. */
function dropLatestAttempt({ earlier: [latest, ...earlier] }: Payment): Payment | null {
  return latest ? { ...latest, earlier } : null;
}

/** Attempts to compare with the chain: earlier ones only while the latest has not settled. */
export function listWatchedAttempts({ earlier, ...latest }: Payment): PaymentAttempt[] {
  return latest.phase === "failedRecorded" ? [latest, ...earlier] : [latest];
}

/** The event of the wallet's answer for an attempt; null: nothing new. */
export function toPaymentEvent(attempt: PaymentAttempt, status: JobStatus): PaymentEvent | null {
  const { attemptId } = attempt.order;
  const { outcome } = attempt;
  const { state, ...rest } = status;
  if (state === "pending") return null;
  // The wallet deletes old final jobs.
  if (state === "unknown") return outcome ? { kind: "final", attemptId } : null;
  if (outcome && hasSameOutcome(outcome, status))
    return status.isFinal ? { kind: "final", attemptId } : null;
  // A second look tells a failure from one wrong answer of a node.
  const isFirstLook = state === "failed" && attempt.wallet?.remote !== undefined;
  return { kind: state, attemptId, ...rest, isFinal: rest.isFinal && !isFirstLook };
}

/** Whether the wallet's answer still agrees with the outcome; all failures are equal. */
function hasSameOutcome(outcome: AttemptOutcome, { state, transaction }: JobStatus): boolean {
  return outcome.success
    ? state === "settled" && transaction === outcome.transaction
    : state === "failed";
}
