import type { EscrowRecord } from "../record.ts";
import type { Want } from "../wanted.ts";

/** Names the feature in wallets' transactions. */
export const ESCROW_WORK = "escrow";

/** Names what a wallet does for a record: the same task whenever the same want is tried again. */
export function taskIdOf({ id }: Pick<EscrowRecord, "id">, want: Want): string {
  return `${id}:${want.id}`;
}

/** The record and the want that a task is about. */
export function partsOf(taskId: string): { recordId: string; wantId: string } {
  const [recordId = "", wantId = ""] = taskId.split(":");
  return { recordId, wantId };
}
