import type { ChainState } from "./escrow-record.ts";
import type { Intent, RecordError } from "./intent.ts";

/** How to undo what a transaction did to a record's progress. */
export interface ProgressUndo {
  /** The intent that the transaction fulfilled, or made pointless; null: none. */
  endedIntent: Intent | null;
  /** The error before it, and whether it left none. */
  error: RecordError | null;
  isErrorCleared: boolean;
  /** See `Progress`. */
  expiredAt: number | null;
}

export const EMPTY_PROGRESS_UNDO: ProgressUndo = {
  endedIntent: null,
  error: null,
  isErrorCleared: false,
  expiredAt: null,
};

/** What a rollback needs to restore a record, as the row of the transaction stores it. */
export interface UndoData {
  /** The state before the transaction. */
  state: ChainState;
  undo: ProgressUndo;
}
