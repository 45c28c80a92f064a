import { errorOf, shownTo } from "../previous-version.ts";
import type { ChainState, EscrowRecord } from "../record.ts";
import { chainStateOf, type StoredState } from "../row.ts";
import type { RecordError, Want } from "../wanted.ts";

/** What a transaction took from what is wanted of a record: undoing it gives it back. */
export interface Taken {
  /** The want that it fulfilled, or made pointless; null: none. */
  ended: Want | null;
  /** The error before it, and whether it left none. */
  error: RecordError | null;
  isErrorCleared: boolean;
  /** See `Wanted`. */
  expiredAt: number | null;
}

export const NOTHING_TAKEN: Taken = {
  ended: null,
  error: null,
  isErrorCleared: false,
  expiredAt: null,
};

/** A record as it was before a transaction, as the transaction's row keeps it. */
export interface Before {
  state: ChainState;
  taken: Taken;
}

/** @returns JSON text */
export function storedBefore(record: EscrowRecord, taken: Taken): string {
  return JSON.stringify({ ...record.state, ...shownTo(record), taken });
}

/** Of a row that the previous version wrote, what it knew: the error. */
export function beforeOf(json: string): Before {
  const { taken, ...stored } = JSON.parse(json) as StoredState & { taken?: Taken };
  const { state, shown } = chainStateOf(stored);
  const error = errorOf(shown, state.transaction?.txHash ?? null);
  return {
    state,
    taken: taken ?? { ended: null, error, isErrorCleared: error !== null, expiredAt: null },
  };
}
