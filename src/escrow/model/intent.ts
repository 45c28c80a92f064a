import type { OnChainState } from "../../chain/network.ts";
import type { ReasonCode } from "../../reason-codes.ts";
import type { TransactionRecord } from "./transaction-record.ts";

/** Steps that a managed wallet can take for a record; an action is one of them and how far it is. */
export const STEPS = [
  "FundsLocking",
  "SubmitResult",
  "Withdraw",
  "AuthorizeRefund",
  "SetRefundRequested",
  "UnSetRefundRequested",
  "WithdrawRefund",
  "AuthorizeWithdrawal",
] as const;
export type Step = (typeof STEPS)[number];

/** The requester of automatic steps. */
export const AUTOMATIC_REQUESTER = "automatic";

/** A step that was asked for and is not done. */
export interface Intent {
  /** The same in every transaction that tries it; another one when the same is asked for again. */
  id: string;
  step: Step;
  /** The result that `SubmitResult` carries, hex; null of other steps. */
  resultHash: string | null;
  /** Id of the API key that asked for it; `AUTOMATIC_REQUESTER`: a rule of the service. */
  by: string;
  /** Epoch milliseconds. */
  since: number;
  /** Transactions for it whose script failed in a block. */
  lostCollaterals?: number;
  /** Tries that failed, and when the next one is made, epoch milliseconds. */
  failures?: number;
  tryAt?: number;
  /** Why it waits until then. */
  reasonCode?: ReasonCode;
}

/** The pending transaction of an intent. A record has at most one. */
export interface PendingTransaction {
  transaction: TransactionRecord;
  /** The escrow's output that it spends, `hash#index`; null of a lock. */
  spends: string | null;
}

/** What went wrong, as `NextAction` tells it. */
export interface RecordError {
  /** Whether nothing more happens until a person decides: the action is `WaitingForManualAction`. */
  isManual: boolean;
  type: string;
  note: string;
  /** The transaction on the chain that caused it, undone with it; null: something else did. */
  txHash: string | null;
  /** The want that ended with it, and that may be asked for again. */
  endedIntent?: Intent;
  /** It tells of funds beside the escrow's: what becomes of the escrow does not end it. */
  isOfOtherFunds?: true;
}

/**
 * What a record is meant to do next, and what is pending. Requests, automatic rules and the wallet
 * write it. The fold changes it by the transition table alone.
 *
 * A pending transaction has an intent. A record with a manual error waits for a person.
 */
export interface Progress {
  intent: Intent | null;
  pendingTransaction: PendingTransaction | null;
  error: RecordError | null;
  /**
   * When the lock became impossible or was given up, epoch milliseconds. A transaction that was
   * pending then may still land.
   */
  expiredAt: number | null;
}

export const IDLE_PROGRESS: Progress = {
  intent: null,
  pendingTransaction: null,
  error: null,
  expiredAt: null,
};

/** The next action as the interface shows it. */
export interface NextAction {
  requestedAction: string;
  errorType: string | null;
  errorNote: string | null;
  /** The result a submit action carries; payments only, null on purchases. */
  resultHash: string | null;
}

/** What a record does next follows from its state on the chain, what is wanted of it, and who is there to do it. */
export interface NextActionInput {
  state: { onChainState: OnChainState | null };
  progress: Progress;
  /** Whether the wallet that acts for it, or its payment source, was removed; left out: no. */
  isWalletRemoved?: boolean;
}

/** Why nothing is done for a record whose wallet or payment source was removed, and what to do about it. */
export const WALLET_REMOVED_NOTE =
  "Its wallet or payment source was removed, so the service does not act on it. Add the wallet again to go on";

/** Whether a record is not finished and nothing is done for it, since its wallet or payment source was removed. */
export function isAbandoned({
  state,
  progress,
  isWalletRemoved = false,
}: NextActionInput): boolean {
  return isWalletRemoved && progress.expiredAt === null && !isTerminal(state.onChainState);
}

/** Whether nothing more is begun for a record until a person has decided, or has added its wallet again. */
export function isPaused(record: NextActionInput): boolean {
  return record.progress.error?.isManual === true || isAbandoned(record);
}

/** What a record does next. */
export function nextActionOf(record: NextActionInput): NextAction {
  const { state, progress } = record;
  const { intent, error } = progress;
  const resultHash = intent?.resultHash ?? null;
  if (isAbandoned(record)) {
    const errorNote = error ? `${WALLET_REMOVED_NOTE}; also: ${error.note}` : WALLET_REMOVED_NOTE;
    return { requestedAction: MANUAL_ACTION, errorType: "Unknown", errorNote, resultHash };
  }
  return {
    requestedAction: actionOf(state.onChainState, progress),
    errorType: error?.type ?? null,
    errorNote: error?.note ?? null,
    resultHash,
  };
}

const MANUAL_ACTION = "WaitingForManualAction";

function actionOf(
  state: OnChainState | null,
  { intent, pendingTransaction, error, expiredAt }: Progress,
): string {
  if (error?.isManual) return MANUAL_ACTION;
  if (intent) return `${intent.step}${pendingTransaction ? "Initiated" : "Requested"}`;
  return isTerminal(state) || expiredAt !== null ? "None" : "WaitingForExternalAction";
}

/** Whether an escrow has ended: its funds were paid out. */
export function isTerminal(state: OnChainState | null): boolean {
  return state === "Withdrawn" || state === "RefundWithdrawn" || state === "DisputedWithdrawn";
}
