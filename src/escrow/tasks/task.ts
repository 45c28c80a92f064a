import type { EscrowRecord } from "../record.ts";
import type { Want } from "../wanted.ts";

/** Name the features in wallets' transactions. */
export const LOCK_WORK = "lock";
export const STEP_WORK = "step";

/** Names what a wallet does for a record: the same task whenever the same want is tried again. */
export function taskIdOf({ id }: Pick<EscrowRecord, "id">, want: Pick<Want, "id">): string {
  return `${id}:${want.id}`;
}

/** In place of a want, for an automatic step that nobody has asked for yet. */
export const NOT_ASKED: Pick<Want, "id"> = { id: "" };

/** The record and the want that a task is about. */
export function partsOf(taskId: string): { recordId: string; wantId: string } {
  const [recordId = "", wantId = ""] = taskId.split(":");
  return { recordId, wantId };
}
