import type { OnChainState } from "../../chain/network.ts";
import type { RecordEvent, RecordEventKind } from "../../events/outbox.ts";
import { type EscrowRecord, walletIdsOf } from "../model/escrow-record.ts";
import type { NextAction } from "../model/intent.ts";
import {
  type ChangedStamps,
  renderRecord,
  withConfirmations,
  withHistories,
} from "./render-record.ts";

/** What an event tells of a record. */
export type ChangeKind = "ON_CHAIN_STATUS_CHANGED" | "ON_ERROR" | "DEADLINE_NEAR";

/** What a record was before the change that an event tells of; null: there was none. */
type PreviousState = { onChainState: OnChainState | null } & Pick<NextAction, "requestedAction">;

/** What an event shows beside its record. */
export type EventExtras = { previous: PreviousState | null } | { Deadline: object };

/** An event of a record, which shows it as it is now. */
export function createRecordEvent(
  record: EscrowRecord,
  what: ChangeKind,
  beside: EventExtras,
  {
    changedStamps: moved,
    tipHeight,
    ...place
  }: { changedStamps: ChangedStamps; tipHeight: number } & Pick<RecordEvent, "id" | "stampIndex">,
): RecordEvent {
  const kind: RecordEventKind = record.side === "payment" ? `PAYMENT_${what}` : `PURCHASE_${what}`;
  const doc = withHistories(renderRecord(record, moved), record.side);
  const text = `${doc.slice(0, -1)},${JSON.stringify(beside).slice(1)}`;
  return {
    ...place,
    kind,
    recordId: record.id,
    walletIds: walletIdsOf(record),
    sequence: record.sequence,
    data: withConfirmations(text, tipHeight),
  };
}
