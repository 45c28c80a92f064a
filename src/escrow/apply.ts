import type { ChangeSet } from "./changes.ts";
import { applyLocks, escrowOutputs } from "./lock.ts";
import type { EscrowSource, ReadTransaction } from "./source.ts";
import { applySpends } from "./spend.ts";

/**
 * Folds one transaction of the contract into a change set: first what it did to escrows we know,
 * then the locks it makes. A transaction that failed phase 2 moved nothing but its collateral.
 */
export async function applyTransaction(
  changes: ChangeSet,
  source: EscrowSource,
  read: ReadTransaction,
  complete: boolean,
): Promise<void> {
  if (!read.tx.isValid) return;
  const outputs = escrowOutputs(source, read);
  const continuing = await applySpends(changes, source, read, outputs, complete);
  const locks = outputs.filter((output) => !continuing.has(output));
  await applyLocks(changes, source, read, locks, outputs.length);
}
