import { attemptOrder, type Outcome } from "../attempts/row.ts";
import type { AttemptOrder } from "../rpc-types.ts";
import type { Attempt, Payment, Phase } from "./payment-state.ts";

/** A payment as it was stored up to November 2026: with the payload, and nested orders. */
export interface FirstPayment {
  order: AttemptOrder;
  phase: "claimed" | "verified" | "refused" | "ended";
  payer: string | null;
  wallet: Attempt["wallet"];
  job: Attempt["job"];
  outcome: Outcome | null;
  version: number;
  isRecorded: boolean;
  isFinal: boolean;
  isTold: boolean;
  earlier: FirstPayment | null;
}

/** A stored payment, whichever version of the code wrote it. */
export function restored(stored: Payment | FirstPayment): Payment {
  if (!("isRecorded" in stored)) return stored;
  const { isRecorded: _, isTold: successReported, earlier, order, outcome, ...rest } = stored;
  const attempt: Attempt = {
    ...rest,
    payer: lowerCase(stored.payer),
    outcome: outcome && { ...outcome, payer: lowerCase(outcome.payer) },
    successReported,
    order: attemptOrder(order),
    ownRequest: order.requestId,
    phase: phaseOf(stored),
  };
  if (!earlier) return { ...attempt, earlier: [] };
  const { earlier: before, ...latest } = restored(earlier);
  return { ...attempt, earlier: [latest, ...before] };
}

/** Payers were stored as checksummed addresses then. */
function lowerCase(address: string | null): string | null {
  return address?.toLowerCase() ?? null;
}

function phaseOf({ phase, outcome, isRecorded, isFinal }: FirstPayment): Phase {
  // It is unknown whether its row had been sent to D1.
  if (phase === "claimed") return "writing";
  if (phase !== "ended") return phase;
  const state = outcome?.success ? "settled" : "failed";
  if (!isRecorded) return state;
  return state === "settled" && isFinal ? "closed" : `${state}Recorded`;
}
