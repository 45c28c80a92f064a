import type { OnChainState } from "../chain/network.ts";
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

/** Who has asked for a step that comes by itself. */
export const AUTOMATIC = "automatic";

/** A step that was asked for and is not done. */
export interface Want {
  /** The same in every transaction that tries it; another one when the same is asked for again. */
  id: string;
  step: Step;
  /** The result that `SubmitResult` carries, hex; null of other steps. */
  resultHash: string | null;
  /** Id of the API key that asked for it; `AUTOMATIC`: a rule of the service. */
  by: string;
  /** Epoch milliseconds. */
  since: number;
  /** Transactions for it whose script failed in a block. */
  lostCollaterals?: number;
  /** Tries that failed, and when the next one is made, epoch milliseconds. */
  failures?: number;
  tryAt?: number;
}

/** The transaction of ours that is on its way for what is wanted: a record has at most one. */
export interface UnderWay {
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
  ended?: Want;
  /** It tells of funds beside the escrow's: what becomes of the escrow does not end it. */
  isOfOtherFunds?: true;
}

/**
 * What shall become of a record, and what of that is going on. Requests, automatic rules and the
 * wallet write it; the fold changes it by the transition table alone.
 *
 * With `underWay` there is a `want`. One under a manual error waits for the person's decision.
 */
export interface Wanted {
  want: Want | null;
  underWay: UnderWay | null;
  error: RecordError | null;
  /**
   * When it was found that nothing can be locked any more, or was given up, epoch milliseconds. What is
   * under way then may land all the same.
   */
  expiredAt: number | null;
}

export const NOTHING_WANTED: Wanted = { want: null, underWay: null, error: null, expiredAt: null };

/** The next action as the interface shows it. */
export interface NextAction {
  requestedAction: string;
  errorType: string | null;
  errorNote: string | null;
  /** The result a submit action carries; payments only, null on purchases. */
  resultHash: string | null;
}

/** What a record does next follows from its state on the chain, what is wanted of it, and who is there to do it. */
export interface Standing {
  state: { onChainState: OnChainState | null };
  wanted: Wanted;
  /** Whether the wallet that acts for it, or its payment source, was removed; left out: no. */
  isWalletRemoved?: boolean;
}

/** Why nothing is done for a record whose wallet or payment source was removed, and what to do about it. */
export const WALLET_REMOVED =
  "Its wallet or payment source was removed: nothing is done for it any more. Add the wallet again to go on";

/** Whether a record is not finished and nothing is done for it, since its wallet or payment source was removed. */
export function isAbandoned({ state, wanted, isWalletRemoved = false }: Standing): boolean {
  return isWalletRemoved && wanted.expiredAt === null && !isTerminal(state.onChainState);
}

/** Whether nothing more is begun for a record until a person has decided, or has added its wallet again. */
export function standsStill(record: Standing): boolean {
  return record.wanted.error?.isManual === true || isAbandoned(record);
}

/** What a record does next. */
export function nextActionOf(record: Standing): NextAction {
  const { state, wanted } = record;
  const { want, error } = wanted;
  const resultHash = want?.resultHash ?? null;
  if (isAbandoned(record)) {
    const errorNote = error ? `${WALLET_REMOVED}; beside that: ${error.note}` : WALLET_REMOVED;
    return { requestedAction: NEEDS_PERSON, errorType: "Unknown", errorNote, resultHash };
  }
  return {
    requestedAction: actionOf(state.onChainState, wanted),
    errorType: error?.type ?? null,
    errorNote: error?.note ?? null,
    resultHash,
  };
}

const NEEDS_PERSON = "WaitingForManualAction";

function actionOf(
  state: OnChainState | null,
  { want, underWay, error, expiredAt }: Wanted,
): string {
  if (error?.isManual) return NEEDS_PERSON;
  if (want) return `${want.step}${underWay ? "Initiated" : "Requested"}`;
  return isTerminal(state) || expiredAt !== null ? "None" : "WaitingForExternalAction";
}

/** Whether an escrow has ended: its funds were paid out. */
export function isTerminal(state: OnChainState | null): boolean {
  return state === "Withdrawn" || state === "RefundWithdrawn" || state === "DisputedWithdrawn";
}
