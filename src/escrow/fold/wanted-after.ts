import type { OnChainState } from "../../chain/network.ts";
import { isStepPossible, stateAfterStep } from "../actions/windows.ts";
import { addNote, type EscrowRecord, type Side } from "../record.ts";
import type { TransactionRecord } from "../transaction-record.ts";
import {
  AUTOMATIC,
  isTerminal,
  nextActionOf,
  type RecordError,
  type UnderWay,
  type Want,
  type Wanted,
} from "../wanted.ts";
import type { Before, Taken } from "./before.ts";
import { nextPaymentAction, nextPurchaseAction } from "./transitions.ts";

type Subject = Pick<EscrowRecord, "side" | "sourceType" | "state" | "wanted">;

/** What a transaction on the chain made of a record's escrow. */
export interface Moved {
  txHash: string;
  onChainState: OnChainState;
  /** Hex, `""` when there is none. */
  resultHash: string;
  /** The output that holds the funds now, `hash#index`. */
  utxo: string | null;
  /** What it was made for, if it is one of ours for this record. */
  madeFor: Want | null;
  /** What is wrong, added to the table's note. */
  reason?: string;
}

/** What becomes of the want that a transaction meets. */
interface Outcome {
  /** Whether it is over: done, or not possible any more. */
  isOver: boolean;
  error: Pick<RecordError, "isManual" | "note" | "isOfOtherFunds"> | null;
}

/**
 * What is wanted of a record once a transaction moved its escrow. One of ours meets its own task under way
 * in the transition table, whatever the record says by then. A stranger's meets what is wanted, which is
 * done, still possible, or not any more; where nothing is, or a person's decision is due, it meets the
 * record's action in the table. What was asked for later than a task of ours stays as it is, and a want that
 * waits for the state it was asked in takes no part.
 */
export function wantedAfter(record: Subject, moved: Moved): { wanted: Wanted; taken: Taken } {
  const { sourceType, state, wanted } = record;
  const { txHash, onChainState, utxo, madeFor, reason } = moved;
  const { want, underWay, expiredAt } = wanted;
  const stands = want !== null && isStepPossible(want.step, state.onChainState, sourceType);
  const subject = madeFor ?? (stands ? want : null);
  const isTask = madeFor === null && subject !== null && !wanted.error?.isManual;
  const outcome =
    (isTask ? outcomeOf(record, subject, moved) : null) ?? tableOutcome(record, subject, moved);

  const pointless = isTerminal(onChainState) ? want : null;
  const ended = outcome.isOver ? (pointless ?? subject) : null;
  const left = ended !== null && ended.id === want?.id ? null : want;
  const error = errorAfter(wanted.error, outcome, txHash, reason);
  // What spends the output that this one made may still come.
  const isDisplaced = underWay?.spends !== utxo || utxo === null;
  return {
    wanted: {
      want: left,
      underWay: left === null || isDisplaced ? null : underWay,
      error,
      expiredAt: null,
    },
    taken: {
      ended,
      error: wanted.error,
      isErrorCleared: wanted.error !== null && error === null,
      expiredAt,
    },
  };
}

const STAYS: Outcome = { isOver: false, error: null };
const DONE: Outcome = { isOver: true, error: null };
const LOCKED_TWICE =
  "Somebody who has the wallet's key locked the funds while our own lock was on its way, which may land as well: look for it among the wallet's transactions, then go on with the one that was found by POST /purchase/error-state-recovery";

/**
 * What becomes of a want when a stranger's transaction moves the escrow. Who shares the wallet's key may have
 * done it. Null: the table decides, since a person has to.
 */
function outcomeOf(
  { sourceType, state, wanted }: Subject,
  want: Want,
  moved: Moved,
): Outcome | null {
  const { onChainState, resultHash } = moved;
  if (onChainState === "FundsOrDatumInvalid") return null;
  // Ours may lock the price once more.
  if (want.step === "FundsLocking" && wanted.underWay !== null)
    return { isOver: true, error: { isManual: true, note: LOCKED_TWICE, isOfOtherFunds: true } };
  const isDone =
    want.step === "SubmitResult"
      ? want.resultHash === resultHash
      : stateAfterStep(want.step, state.onChainState, sourceType) === onChainState;
  if (isDone) return DONE;
  if (isStepPossible(want.step, onChainState, sourceType)) return STAYS;
  if (want.by === AUTOMATIC) return DONE;
  const note = `${want.step} was not done before the escrow became ${onChainState}, where it is not possible`;
  return { isOver: true, error: { isManual: false, note } };
}

/** What the transition table makes of it. */
function tableOutcome(
  { side, state, wanted }: Subject,
  subject: Want | null,
  { madeFor, onChainState }: Moved,
): Outcome {
  // A wallet that was removed changes nothing of what the chain makes of it.
  const { requestedAction } = nextActionOf({
    state,
    wanted: { ...wanted, want: subject, expiredAt: null },
  });
  const { action, error: note } = decide(
    side,
    madeFor ? `${madeFor.step}Initiated` : requestedAction,
    onChainState,
  );
  return {
    isOver: action === "None" || action === "WaitingForExternalAction",
    error: note === null ? null : { isManual: action === "WaitingForManualAction", note },
  };
}

function errorAfter(
  before: RecordError | null,
  { error }: Outcome,
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
 * What is wanted of a record whose newest transaction is undone: as before it, with what was asked
 * for since. One of ours that may come again is under way again for what it was made for.
 *
 * @param undone - the transaction as it is shown from now on; `mayCome`: it has not ended for its wallet
 */
export function wantedBefore(
  { want, underWay, error, expiredAt }: Wanted,
  undone: {
    transaction: TransactionRecord;
    madeFor: Want | null;
    before: Before;
    mayCome: boolean;
  },
): Wanted {
  const { transaction, madeFor, before, mayCome } = undone;
  const { taken } = before;
  // What came by itself does not outlive what it followed from, if that was asked for.
  const isDisplaced =
    want?.by === AUTOMATIC && taken.ended !== null && taken.ended.by !== AUTOMATIC;
  const wantedAgain = isDisplaced ? taken.ended : (want ?? taken.ended);
  const again: UnderWay | null =
    mayCome && wantedAgain !== null && wantedAgain.id === madeFor?.id
      ? { transaction, spends: before.state.utxo }
      : null;
  const isAsItLeft = taken.isErrorCleared ? error === null : error?.txHash === transaction.txHash;
  const left = {
    underWay: isDisplaced ? again : (underWay ?? again),
    expiredAt: expiredAt ?? taken.expiredAt,
  };
  const isGivenUp = left.expiredAt !== null && left.underWay === null;
  return {
    ...left,
    // What was given up is waited for, and never locked anew; what was asked of its lock waits with it.
    want: isGivenUp && wantedAgain?.step === "FundsLocking" ? null : wantedAgain,
    error: isAsItLeft ? taken.error : error,
  };
}

function decide(side: Side, action: string, state: OnChainState) {
  return side === "payment" ? nextPaymentAction(action, state) : nextPurchaseAction(action, state);
}
