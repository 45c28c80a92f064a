/** What happens next with an escrow, in a sentence: who has to do what, and until when. */
import { formatRelativeTime, toEpochMs, toSentence } from "../../ui/format.ts";
import { textAt } from "../../ui/path.ts";
import { toWords } from "../../ui/words.ts";
import type { EscrowRow, Side } from "./sides.ts";

/** The same in a few words: the step that is under way, or what is waited for. */
export function nameNext(side: Side, { NextAction, onChainState }: EscrowRow): string {
  const { requestedAction } = NextAction;
  if (requestedAction !== "WaitingForExternalAction") return toWords(requestedAction);
  const isSeller = side === "payment";
  switch (onChainState) {
    case null:
      return isSeller ? "Waits for the buyer" : "Waits for the lock";
    case "FundsLocked":
      return isSeller ? "Our result is due" : "Seller's result is due";
    case "ResultSubmitted":
      return "Payout after unlock time";
    case "RefundRequested":
      return "Refund, or a result";
    case "Disputed":
      return "Waits for an agreement";
    case "WithdrawAuthorized":
      return "Payout follows";
    case "RefundAuthorized":
      return "Refund follows";
    default:
      return toWords(requestedAction);
  }
}

/** What holds an escrow up: the API tells it as `waits for …`, as a clause, or only what it waits for. */
export function describeWait(reason: string, code: string): string {
  if (/^waits /.test(reason)) return toSentence(reason);
  if (code === "failing") return `The last try failed: ${reason}.`;
  if (code === "funds" || /^the (database|payment source|wallet)\b/.test(reason))
    return toSentence(reason);
  return `It waits for ${reason}.`;
}

/** @param now - epoch milliseconds */
export function describeNext(side: Side, row: EscrowRow, now: number): string {
  const { requestedAction, errorType } = row.NextAction;
  const formatDueTime = (path: string) => {
    const time = toEpochMs(textAt(row, path));
    return time === null ? "" : formatRelativeTime(time, now);
  };
  if (requestedAction === "WaitingForManualAction")
    return "A person has to decide. The reason stands below, then the actions that end it.";
  if (errorType === "InsufficientFunds")
    return "The wallet lacks funds. The page of wallets says what to send where; then the wallet goes on.";
  if (requestedAction.endsWith("Requested"))
    return "The wallet makes the transaction as soon as it may. Nothing has to be done.";
  if (requestedAction.endsWith("Initiated"))
    return "The transaction is on its way to the chain. Nothing has to be done.";
  if (requestedAction === "None" && row.onChainState === null)
    return "It ended without a lock. Nothing is left to do.";
  const isSeller = side === "payment";
  const isOver = (path: string) => (toEpochMs(textAt(row, path)) ?? Infinity) <= now;
  switch (row.onChainState) {
    case null:
      return isSeller
        ? `The buyer may lock the price; the time for it ends ${formatDueTime("payByTime")}.`
        : `The price is to be locked; the time for it ends ${formatDueTime("payByTime")}.`;
    case "FundsLocked":
      if (isOver("submitResultTime"))
        return isSeller
          ? "The time for the result is over. The buyer gets the money back."
          : "The time for the result is over. The refund is automatic.";
      return isSeller
        ? `The result is to be submitted: the time for it ends ${formatDueTime("submitResultTime")}. Without it the buyer gets the money back.`
        : `The seller may submit the result: the time for it ends ${formatDueTime("submitResultTime")}. Without a result the refund is automatic.`;
    case "ResultSubmitted":
      if (isOver("unlockTime")) return "The time for a dispute is over. The payout is automatic.";
      return isSeller
        ? `The buyer may dispute until the unlock time, ${formatDueTime("unlockTime")}; then the payout is automatic.`
        : `The result is there. A dispute is possible until the unlock time, ${formatDueTime("unlockTime")}; then the seller is paid.`;
    case "RefundRequested":
      if (isOver("submitResultTime"))
        return "The time for the result is over. The refund is automatic.";
      return isSeller
        ? `The buyer asked for the money back. A result may still be submitted; the time for it ends ${formatDueTime("submitResultTime")}.`
        : `The refund is automatic once the seller's time is over, ${formatDueTime("submitResultTime")}, unless a result is submitted.`;
    case "Disputed":
      return `Both sides claim the money. One side gives in, or administrators settle it: possible ${isOver("externalDisputeUnlockTime") ? "now" : formatDueTime("externalDisputeUnlockTime")}.`;
    case "WithdrawAuthorized":
      return "The seller may withdraw at once. The payout is automatic.";
    case "RefundAuthorized":
      return "The buyer may collect the refund at once. The refund is automatic.";
    case "FundsOrDatumInvalid":
      return "The locked funds differ from the quote. The service makes no transaction for this escrow.";
    default:
      return "The escrow is over.";
  }
}
