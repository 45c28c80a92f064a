/** The service's sync over the model's ledger: what blocks do to records, and what a rollback undoes. */
import type { Database } from "../../../src/db/client.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { decodeEscrowOutputs } from "../../../src/escrow/sync/escrow-outputs.ts";
import type { ContractTransaction, EscrowSource } from "../../../src/escrow/sync/escrow-source.ts";
import { expireRecordsWithoutLock } from "../../../src/escrow/sync/expire-records.ts";
import {
  applyTransaction,
  loadKnownRecords,
  type SyncContext,
} from "../../../src/escrow/sync/follower.ts";
import { undoSteps } from "../../../src/escrow/sync/undo-steps.ts";
import { raiseTip, resetTip } from "../../../src/indexer/chain-tip.ts";
import type { ForgedBlock, ModelLedger } from "../ledger.ts";

/** Where it is, in the same database, so that it is set back with the records. */
export const FOLLOWED = "CREATE TABLE followed (height INTEGER PRIMARY KEY, hash TEXT NOT NULL)";

/** Follows the chain up to its tip, and ends what was not locked in time. */
export async function follow(
  db: Database,
  source: EscrowSource,
  ledger: ModelLedger,
): Promise<void> {
  const { network } = source;
  const place = { sourceId: source.id, network };
  const { tip } = ledger;
  const done = await db.all<{ height: number; hash: string }>(
    "SELECT height, hash FROM followed ORDER BY height",
  );
  const at = new Map(ledger.blocks.map((block) => [block.height, block]));
  const fork = done.find(({ height, hash }) => at.get(height)?.hash !== hash);
  if (fork) {
    for (let isLast = false; !isLast; ) {
      const undone = await undoSteps(db, source.id, fork.height - 1, tip.height, ledger.now);
      isLast = undone.isLast;
      await db.batch([
        ...writeChanges(undone.changes, place),
        ...undone.statements,
        resetTip(network, tip.height),
      ]);
    }
    const sql = "DELETE FROM followed WHERE height >= ?";
    await db.batch([{ sql, params: [fork.height] }]);
  }
  const last = fork ? fork.height - 1 : (done.at(-1)?.height ?? -1);
  for (const block of ledger.blocks) {
    if (block.height <= last) continue;
    const reads = readsOf(source, block);
    const { records, storedTransactions: stored } = await loadKnownRecords(
      { db, source, archives: [] },
      reads,
      true,
    );
    const changes = new ChangeSet(records, ledger.now, tip.height, { stored });
    for (const read of reads) await applyTransaction(changes, source, read, null);
    await db.batch([
      ...writeChanges(changes, place),
      { sql: "INSERT INTO followed VALUES (?, ?)", params: [block.height, block.hash] },
    ]);
  }
  await db.batch([raiseTip(network, tip.height)]);
  const context = { db, source, threshold: 1, now: () => ledger.now, onCommit: async () => {} };
  while (await expireRecordsWithoutLock(context as unknown as SyncContext, tip));
}

function readsOf(source: EscrowSource, block: ForgedBlock): ContractTransaction[] {
  return block.transactions.flatMap((tx, txIndex) => {
    const outputs = tx.isValid ? decodeEscrowOutputs(source, tx) : [];
    if (outputs.length === 0) return [];
    const { hash } = tx;
    return [
      {
        at: { txHash: hash, blockHeight: block.height, txIndex, blockTime: block.time },
        tx,
        outputs,
        spent: async () => null,
        loadSpentDatums: async () => new Map(),
        loadEarlier: () => Promise.reject(new Error("nothing was skipped")),
      },
    ];
  });
}
