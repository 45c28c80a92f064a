import type { OnChainState, PaymentSourceType } from "../../chain/network.ts";
import { isStepPossible } from "../actions/windows.ts";
import { addNote, type EscrowRecord, type Side } from "../record.ts";
import type { TransactionRecord } from "../transaction-record.ts";
import {
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
  /** The output that holds the funds now, `hash#index`. */
  utxo: string | null;
  /** What it was made for, if it is one of ours for this record. */
  madeFor: Want | null;
  /** What is wrong, added to the table's note. */
  reason?: string;
}

/**
 * What is wanted of a record once a transaction moved its escrow, by the transition table: a
 * stranger's transaction meets the record's action, one of ours its own task under way, whatever the
 * record says by then. What was asked for later than that task stays as it is, and a want that waits
 * for the state it was asked in takes no part.
 */
export function wantedAfter(
  { side, sourceType, state, wanted }: Subject,
  { txHash, onChainState, utxo, madeFor, reason }: Moved,
): { wanted: Wanted; taken: Taken } {
  const { want, underWay, expiredAt } = wanted;
  const waits = want !== null && !mayStand(side, want, state.onChainState, sourceType);
  const subject = madeFor ?? (waits ? null : want);
  const { requestedAction } = nextActionOf(state.onChainState, {
    ...wanted,
    want: waits ? null : want,
    expiredAt: null,
  });
  const next = decide(side, madeFor ? `${madeFor.step}Initiated` : requestedAction, onChainState);

  const isDone = next.action === "None" || next.action === "WaitingForExternalAction";
  const pointless = isTerminal(onChainState) ? want : null;
  const ended = isDone ? (pointless ?? subject) : null;
  const left = ended !== null && ended.id === want?.id ? null : want;
  const error = errorAfter(wanted.error, next, txHash, reason);
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

function errorAfter(
  before: RecordError | null,
  { action, error }: ReturnType<typeof decide>,
  txHash: string,
  reason?: string,
): RecordError | null {
  if (error === null) return null;
  return {
    isManual: action === "WaitingForManualAction",
    type: "Unknown",
    note: addNote(before?.note ?? null, reason ? `${error}: ${reason}` : error),
    txHash,
  };
}

/**
 * What is wanted of a record whose newest transaction is undone: as before it, with what was asked
 * for since. One of ours may come again, so it is under way again for what it was made for.
 *
 * @param undone - the transaction as it is shown from now on
 */
export function wantedBefore(
  { want, underWay, error, expiredAt }: Wanted,
  undone: { transaction: TransactionRecord; madeFor: Want | null; before: Before },
): Wanted {
  const { transaction, madeFor, before } = undone;
  const { taken } = before;
  const wantedAgain = want ?? taken.ended;
  const again: UnderWay | null =
    wantedAgain !== null && wantedAgain.id === madeFor?.id
      ? { transaction, spends: before.state.utxo }
      : null;
  const isAsItLeft = taken.isErrorCleared ? error === null : error?.txHash === transaction.txHash;
  return {
    want: wantedAgain,
    underWay: underWay ?? again,
    error: isAsItLeft ? taken.error : error,
    expiredAt: expiredAt ?? taken.expiredAt,
  };
}

/**
 * Whether a want can stand in a state: the contract allows it there, or the table leaves it there.
 * Elsewhere a rollback has taken the escrow back behind it, and it waits for the state to return.
 */
export function mayStand(
  side: Side,
  { step }: Want,
  state: OnChainState | null,
  type: PaymentSourceType,
): boolean {
  if (isStepPossible(step, state, type)) return true;
  const action = `${step}Requested`;
  return state !== null && decide(side, action, state).action === action;
}

function decide(side: Side, action: string, state: OnChainState) {
  return side === "payment" ? nextPaymentAction(action, state) : nextPurchaseAction(action, state);
}
