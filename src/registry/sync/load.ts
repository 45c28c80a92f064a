import type { Database } from "../../db/client.ts";
import { ENTRY_COLUMNS, type EntryRecord, type EntryRow, entryOfRow } from "../entry.ts";
import { EntryChanges, type EntryStep } from "./changes.ts";
import type { FollowedSource } from "./cursor.ts";
import type { ReadMint } from "./read.ts";

/** An empty change set of the entries whose tokens some transactions mint or burn. */
export async function loadChanges(
  db: Database,
  source: FollowedSource,
  reads: ReadMint[],
  now: number,
): Promise<EntryChanges> {
  const entries = await loadEntries(db, source, reads);
  return new EntryChanges(entries, await loadSteps(db, source, reads, entries), now);
}

async function loadEntries(
  db: Database,
  { id, policyId: ours }: FollowedSource,
  reads: ReadMint[],
): Promise<EntryRecord[]> {
  const units = reads.flatMap(({ tx }) =>
    tx.mint.flatMap(({ policyId, assetName }) => (policyId === ours ? [policyId + assetName] : [])),
  );
  const rows = await db.all<EntryRow>(
    `SELECT ${ENTRY_COLUMNS} FROM registry_entry
     WHERE agent_identifier IN (SELECT value FROM json_each(?)) AND source_id = ?`,
    JSON.stringify([...new Set(units)]),
    id,
  );
  return rows.map(entryOfRow);
}

/** The steps that entries have made already from the first of some transactions on, in chain order. */
async function loadSteps(
  db: Database,
  source: FollowedSource,
  [first]: ReadMint[],
  entries: EntryRecord[],
): Promise<EntryStep[]> {
  if (first === undefined || entries.length === 0) return [];
  const rows = await db.all<Omit<EntryStep, "before"> & { before: string }>(
    `SELECT entry_id AS entryId, block_height AS blockHeight, tx_index AS txIndex,
       tx_hash AS txHash, before
     FROM registry_step
     WHERE source_id = ? AND (block_height, tx_index) >= (?, ?)
       AND entry_id IN (SELECT value FROM json_each(?))
     ORDER BY block_height, tx_index`,
    source.id,
    first.at.blockHeight,
    first.at.txIndex,
    JSON.stringify(entries.map(({ id }) => id)),
  );
  return rows.map((row) => ({ ...row, before: JSON.parse(row.before) }));
}
