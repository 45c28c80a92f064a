/** When a move is lawful: the rules about time of docs/escrow-contract.md, for those who obey them. */
import type { DemoMove } from "./moves.ts";

/** Ends of a transaction's validity, Unix milliseconds, each the start of a slot of a second. */
export interface Window {
  from: number;
  to: number;
}

/** Room for clock differences on both sides of a validity. */
const ROOM_MS = 5 * 60_000;
const SLOT_MS = 1000;
const slotFrom = (time: number) => Math.ceil(time / SLOT_MS) * SLOT_MS;

/** When all of the moves may be made at the earliest, Unix milliseconds: a slot's start, or 0. */
export function opensAt(moves: readonly DemoMove[]): number {
  return slotFrom(Math.max(0, ...moves.map((move) => Number(earliest(move)))));
}

/**
 * The validity of a transaction that makes all of the moves now. Where their time is over the
 * validity is over too, and the ledger refuses it.
 *
 * @param now - Unix milliseconds, from `opensAt` on
 */
export function windowOf(moves: readonly DemoMove[], now: number): Window {
  const lastSlots = moves.flatMap((move) => {
    const deadline = latest(move);
    return deadline === null ? [] : [slotFrom(Number(deadline)) - SLOT_MS];
  });
  return {
    from: Math.max(opensAt(moves), slotFrom(now - ROOM_MS)),
    to: Math.min(slotFrom(now + ROOM_MS), ...lastSlots),
  };
}

/** The validity starts at or after it. */
function earliest({ escrow: { datum }, action }: DemoMove): bigint {
  switch (action) {
    case "withdraw":
      return datum.state === "WithdrawAuthorized" ? 0n : datum.unlockTime;
    case "withdrawRefund":
      return datum.state === "RefundAuthorized" ? 0n : datum.submitResultTime;
    case "withdrawDisputed":
      return datum.externalDisputeUnlockTime;
    case "submitResult":
    case "authorizeRefund":
      return datum.sellerCooldownTime;
    default:
      return datum.buyerCooldownTime;
  }
}

/** The validity ends before it. */
function latest({ escrow: { datum }, action }: DemoMove): bigint | null {
  if (action === "requestRefund") return datum.unlockTime;
  if (action !== "submitResult") return null;
  return datum.resultHash === "" ? datum.submitResultTime : datum.externalDisputeUnlockTime;
}
