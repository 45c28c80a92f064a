import type { Block, Provider } from "../chain/provider.ts";
import { type Database, statement } from "../db/client.ts";
import { log } from "../log.ts";
import { forgetCheckpoints, standingCheckpoint } from "../sources/checkpoints.ts";
import { EntryChanges } from "./changes.ts";
import { commit, MAX_TEXT } from "./commit.ts";
import { type RegistryCursor, recentUpTo } from "./cursor.ts";
import { ENTRY_COLUMNS, type EntryRow, type EntryState, entryOfRow } from "./entry.ts";
import type { MintFollower } from "./follower.ts";
import { reopenRegistrations } from "./registration-store.ts";

/** Steps undone per batch, if they have no more text than `MAX_TEXT` says. */
const CHUNK = 100;

/**
 * Undoes what stood on blocks that the chain no longer has, newest first. An entry whose minting
 * is gone stays as a `Deregistered` one, so that followers learn of it; should the transaction come
 * again, the entry is taken up again.
 *
 * @param now - epoch milliseconds
 * @throws ProviderBehind when the provider is behind the newest checkpoint
 */
export async function undoRolledBack(
  db: Database,
  provider: Provider,
  cursor: RegistryCursor,
  tip: Block,
  now: number,
  follower?: MintFollower,
): Promise<void> {
  const { sourceId } = cursor;
  const { rolledBack, standing } = await standingCheckpoint(db, provider, sourceId, tip);
  if (!rolledBack) return;
  const height = standing?.height ?? -1;
  log("warn", "registry.rollback", { source: sourceId, tip: tip.height, to: height });
  for (let done = false; !done; ) done = await undoChunk(db, cursor, height, now, follower);
}

async function undoChunk(
  db: Database,
  cursor: RegistryCursor,
  above: number,
  now: number,
  follower?: MintFollower,
): Promise<boolean> {
  const { sourceId } = cursor;
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
  const changes = new EntryChanges([], new Set(), now);
  const steps: unknown[][] = [];
  for (const row of rows) {
    const entry = changes.entries.get(row.agent_identifier) ?? entryOfRow(row);
    changes.change(entry, undone(entry.state, JSON.parse(row.before) as EntryState));
    steps.push([row.block_height, row.tx_index, row.tx_hash, row.id]);
    if (changes.textLength >= MAX_TEXT) break;
  }
  const isLast = steps.length < CHUNK && steps.length === rows.length;
  // The cursor goes back with the last chunk; until then the newest checkpoint keeps failing.
  const recent = isLast ? recentUpTo(cursor.recent, above) : cursor.recent;
  await commit(db, cursor, changes, recent, [
    statement(
      `DELETE FROM registry_step WHERE (source_id, block_height, tx_index, tx_hash, entry_id) IN
         (SELECT ?, value->>0, value->>1, value->>2, value->>3 FROM json_each(?))`,
      sourceId,
      JSON.stringify(steps),
    ),
    reopenRegistrations(cursor.network, [...changes.entries.keys()], above, now),
    ...(isLast
      ? [forgetCheckpoints(sourceId, above), ...((await follower?.undo(above, now)) ?? [])]
      : []),
  ]);
  return isLast;
}

/** A token that was never minted keeps what its metadata said, for those who followed it. */
function undone(state: EntryState, before: EntryState): EntryState {
  return before.profile === null && before.reason === null
    ? { ...state, supply: before.supply }
    : before;
}
