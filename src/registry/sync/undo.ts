import type { Database } from "../../db/client.ts";
import type { UndoneSteps } from "../../indexer/follower.ts";
import { ENTRY_COLUMNS, type EntryRow, type EntryState, entryOfRow } from "../entry.ts";
import { EntryChanges } from "./changes.ts";
import { MAX_TEXT } from "./commit.ts";
import type { MintListener } from "./mint-listener.ts";

/** Steps undone per batch, if they have no more text than `MAX_TEXT` says. */
const CHUNK = 100;
/**
 * Undoes the newest steps above a height. An entry whose mint was rolled back stays as `Deregistered`,
 * so that clients of the diff see it. If the transaction is applied again, the entry is used again.
 */
export async function undoSteps(
  db: Database,
  sourceId: string,
  above: number,
  now: number,
  listener?: MintListener,
): Promise<UndoneSteps<EntryChanges>> {
  const rows = await db.all<
    EntryRow & { before: string; block_height: number; tx_index: number; tx_hash: string }
  >(
    `SELECT ${ENTRY_COLUMNS}, before, block_height, tx_index, tx_hash FROM
       (SELECT entry_id, before, block_height, tx_index, tx_hash FROM registry_step
        WHERE source_id = ? AND block_height > ?
        ORDER BY block_height DESC, tx_index DESC, tx_hash DESC LIMIT ${CHUNK})
     JOIN registry_entry ON id = entry_id
     ORDER BY block_height DESC, tx_index DESC`,
    sourceId,
    above,
  );
  const changes = new EntryChanges([], [], now);
  for (const row of rows) {
    const entry = changes.entries.get(row.agent_identifier) ?? entryOfRow(row);
    const before = JSON.parse(row.before) as EntryState;
    changes.change(entry, undone(entry.state, before));
    changes.undone.push({
      entryId: row.id,
      blockHeight: row.block_height,
      txIndex: row.tx_index,
      txHash: row.tx_hash,
      before,
    });
    if (changes.textLength >= MAX_TEXT) break;
  }
  const isLast = changes.undone.length < CHUNK && changes.undone.length === rows.length;
  const statements = [
    ...(listener?.agentsUndone([...changes.entries.keys()], above, now) ?? []),
    ...((isLast ? await listener?.undo(above, now) : undefined) ?? []),
  ];
  return { changes, statements, isLast };
}

/** A token whose mint was undone keeps its metadata, for clients of the diff. */
function undone(state: EntryState, before: EntryState): EntryState {
  return before.profile === null && before.reason === null
    ? { ...state, supply: before.supply }
    : before;
}
