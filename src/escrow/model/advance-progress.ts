import type { OnChainState } from "../../chain/network.ts";
import { addNote, type EscrowRecord } from "./escrow-record.ts";
import {
  AUTOMATIC_REQUESTER,
  type Intent,
  isTerminal,
  nextActionOf,
  type PendingTransaction,
  type Progress,
  type RecordError,
} from "./intent.ts";
import type { TransactionRecord } from "./transaction-record.ts";
import { lookUpNextAction } from "./transitions.ts";
import type { ProgressUndo, UndoData } from "./undo-data.ts";
import { computeStateAfterStep, isStepPossible } from "./windows.ts";

type ProgressRecord = Pick<EscrowRecord, "side" | "sourceType" | "state" | "progress">;

/** What a transaction on the chain made of a record's escrow. */
export interface ChainTransition {
  txHash: string;
  onChainState: OnChainState;
  /** Hex, `""` when there is none. */
  resultHash: string;
  /** The output that holds the funds now, `hash#index`. */
  utxo: string | null;
  /** The intent of the transaction. Null: another party's transaction. */
  transactionIntent: Intent | null;
  /** What is wrong, added to the table's note. */
  reason?: string;
}

/** What a transaction does to the intent. */
interface IntentOutcome {
  /** Whether the intent is done, or is not possible any more. */
  isIntentEnded: boolean;
  error: Pick<RecordError, "isManual" | "note" | "isOfOtherFunds"> | null;
}

/**
 * Computes the progress of a record after a transaction changed its escrow. The service's own transaction
 * looks its intent up in the transition table. Another party's transaction finds the present intent done,
 * possible or impossible. Without an intent, or when a person must decide, the table uses the record's
 * action. Later intents stay, and so do intents that wait for an earlier state.
 */
export function advanceProgress(
  record: ProgressRecord,
  moved: ChainTransition,
): { progress: Progress; undo: ProgressUndo } {
  const { sourceType, state, progress } = record;
  const { txHash, onChainState, utxo, transactionIntent, reason } = moved;
  const { intent, pendingTransaction, expiredAt } = progress;
  const isIntentPossible =
    intent !== null && isStepPossible(intent.step, state.onChainState, sourceType);
  const subject = transactionIntent ?? (isIntentPossible ? intent : null);
  const isTask = transactionIntent === null && subject !== null && !progress.error?.isManual;
  const outcome =
    (isTask ? findIntentOutcome(record, subject, moved) : null) ??
    lookUpTransitionOutcome(record, subject, moved);

  const pointless = isTerminal(onChainState) ? intent : null;
  const ended = outcome.isIntentEnded ? (pointless ?? subject) : null;
  const left = ended !== null && ended.id === intent?.id ? null : intent;
  const error = computeRecordError(progress.error, outcome, txHash, reason);
  // What spends the output that this one made may still come.
  const isDisplaced = pendingTransaction?.spends !== utxo || utxo === null;
  return {
    progress: {
      intent: left,
      pendingTransaction: left === null || isDisplaced ? null : pendingTransaction,
      error,
      expiredAt: null,
    },
    undo: {
      endedIntent: ended,
      error: progress.error,
      isErrorCleared: progress.error !== null && error === null,
      expiredAt,
    },
  };
}

const INTENT_REMAINS: IntentOutcome = { isIntentEnded: false, error: null };
const INTENT_DONE: IntentOutcome = { isIntentEnded: true, error: null };
const LOCKED_TWICE_NOTE =
  "Another user of the wallet's key locked the funds, and the service's lock may land too. Look for it among the wallet's transactions, then clear the error to go on with the lock that was found";

/**
 * What another party's transaction does to an intent. Another user of the wallet's key may have
 * sent it. Null: the table decides, because a person must.
 */
function findIntentOutcome(
  { sourceType, state, progress }: ProgressRecord,
  intent: Intent,
  moved: ChainTransition,
): IntentOutcome | null {
  const { onChainState, resultHash } = moved;
  if (onChainState === "FundsOrDatumInvalid") return null;
  // Ours may lock the price once more.
  if (intent.step === "FundsLocking" && progress.pendingTransaction !== null)
    return {
      isIntentEnded: true,
      error: { isManual: true, note: LOCKED_TWICE_NOTE, isOfOtherFunds: true },
    };
  const isDone =
    intent.step === "SubmitResult"
      ? intent.resultHash === resultHash
      : computeStateAfterStep(intent.step, state.onChainState, sourceType) === onChainState;
  if (isDone) return INTENT_DONE;
  if (isStepPossible(intent.step, onChainState, sourceType)) return INTENT_REMAINS;
  if (intent.by === AUTOMATIC_REQUESTER) return INTENT_DONE;
  const note = `${intent.step} was not done before the escrow became ${onChainState}, which does not allow the step`;
  return { isIntentEnded: true, error: { isManual: false, note } };
}

/** What the transition table makes of it. */
function lookUpTransitionOutcome(
  { side, state, progress }: ProgressRecord,
  subject: Intent | null,
  { transactionIntent, onChainState }: ChainTransition,
): IntentOutcome {
  // A wallet that was removed changes nothing of what the chain makes of it.
  const { requestedAction } = nextActionOf({
    state,
    progress: { ...progress, intent: subject, expiredAt: null },
  });
  const { action, error: note } = lookUpNextAction(
    side,
    transactionIntent ? `${transactionIntent.step}Initiated` : requestedAction,
    onChainState,
  );
  return {
    isIntentEnded: action === "None" || action === "WaitingForExternalAction",
    error: note === null ? null : { isManual: action === "WaitingForManualAction", note },
  };
}

function computeRecordError(
  before: RecordError | null,
  { error }: IntentOutcome,
  txHash: string,
  reason?: string,
): RecordError | null {
  const stays = before?.isOfOtherFunds ? before : null;
  if (error === null) return stays;
  const { isManual, note, isOfOtherFunds = stays?.isOfOtherFunds } = error;
  return {
    isManual: isManual || stays !== null,
    type: "Unknown",
    note: addNote(before?.note ?? null, reason ? `${note}: ${reason}` : note),
    txHash,
    ...(isOfOtherFunds && { isOfOtherFunds }),
  };
}

/**
 * Computes the progress of a record whose newest transaction is undone: the earlier progress, with later
 * intents. The service's own transaction becomes pending again if it may land again.
 *
 * @param undone - the undone transaction. `mayCome`: its wallet still waits for it.
 */
export function revertProgress(
  { intent, pendingTransaction, error, expiredAt }: Progress,
  undone: {
    transaction: TransactionRecord;
    madeFor: Intent | null;
    undoData: UndoData;
    mayCome: boolean;
  },
): Progress {
  const { transaction, madeFor, undoData, mayCome } = undone;
  const { undo } = undoData;
  // An automatic intent ends with the request that caused it.
  const isDisplaced =
    intent?.by === AUTOMATIC_REQUESTER &&
    undo.endedIntent !== null &&
    undo.endedIntent.by !== AUTOMATIC_REQUESTER;
  const wantedAgain = isDisplaced ? undo.endedIntent : (intent ?? undo.endedIntent);
  const again: PendingTransaction | null =
    mayCome && wantedAgain !== null && wantedAgain.id === madeFor?.id
      ? { transaction, spends: undoData.state.utxo }
      : null;
  const isAsItLeft = undo.isErrorCleared ? error === null : error?.txHash === transaction.txHash;
  const left = {
    pendingTransaction: isDisplaced ? again : (pendingTransaction ?? again),
    expiredAt: expiredAt ?? undo.expiredAt,
  };
  const isGivenUp = left.expiredAt !== null && left.pendingTransaction === null;
  return {
    ...left,
    // What was given up is waited for, and never locked anew; what was asked of its lock waits with it.
    intent: isGivenUp && wantedAgain?.step === "FundsLocking" ? null : wantedAgain,
    error: isAsItLeft ? undo.error : error,
  };
}
