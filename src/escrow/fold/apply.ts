import { applyLocks } from "./apply-locks.ts";
import { applySpends } from "./apply-spends.ts";
import type { ChangeSet } from "./changes.ts";
import type { EscrowSource, Lookback, ReadTransaction } from "./source.ts";

/**
 * Folds one transaction of the contract into a change set: first what it did to escrows we know,
 * then the locks it makes. A transaction that failed phase 2 moved nothing but its collateral.
 *
 * @param lookback - null when the contract's whole history was read
 * @throws LookbackTooLong when the transaction may wait, and has to; the change set is as it was
 */
export async function applyTransaction(
  changes: ChangeSet,
  source: EscrowSource,
  read: ReadTransaction,
  lookback: Lookback | null,
): Promise<void> {
  if (!read.tx.isValid) return;
  const continuing = await applySpends(changes, source, read, lookback);
  await applyLocks(
    changes,
    source,
    read,
    read.outputs.filter((output) => !continuing.has(output)),
  );
}
