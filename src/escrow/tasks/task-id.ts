import type { EscrowRecord } from "../model/escrow-record.ts";
import type { Intent } from "../model/intent.ts";

/** Name the features in wallets' transactions. */
export const LOCK_FEATURE = "lock";
export const STEP_FEATURE = "step";

/** Names what a wallet does for a record: the same task whenever the same want is tried again. */
export function taskIdOf({ id }: Pick<EscrowRecord, "id">, intent: Pick<Intent, "id">): string {
  return `${id}:${intent.id}`;
}

/** In place of a want, for an automatic step that nobody has asked for yet. */
export const NO_INTENT: Pick<Intent, "id"> = { id: "" };

/** The record and the want that a task is about. */
export function parseTaskId(taskId: string): { recordId: string; intentId: string } {
  const [recordId = "", wantId = ""] = taskId.split(":");
  return { recordId, intentId: wantId };
}
