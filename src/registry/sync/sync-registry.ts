import type { Provider } from "../../chain/provider/provider.ts";
import type { Database } from "../../db/client.ts";
import type { Follower, PassContext, UndoneSteps } from "../../indexer/follower.ts";
import { runPass } from "../../indexer/run-pass.ts";
import {
  ENTRY_COLUMNS,
  type EntryRecord,
  type EntryRow,
  type EntryState,
  toEntryRecord,
} from "../entries/entry.ts";
import { applyMint, EntryChanges, type EntryStep } from "./changes.ts";
import { commitChanges, MAX_TEXT_LENGTH } from "./commit-changes.ts";
import {
  type FollowedSource,
  type MintPosition,
  REGISTRY_TABLES,
  type RegistryCursor,
} from "./cursor.ts";
import { type ListedMint, listMints, listMintsAbove } from "./list-mints.ts";
import type { MintListener } from "./mint-listener.ts";
import { type MintTransaction, readMint } from "./read-mint.ts";

/** What a pass over a registry source works with. */
interface RegistrySyncContext extends PassContext {
  provider: Provider;
  source: FollowedSource;
  /** Others that the policy's mints concern. */
  listener?: MintListener;
}

/** A batch ends once it writes this many entries, or as much text as `MAX_TEXT_LENGTH` says. */
const MAX_ENTRIES = 100;

/**
 * One pass over a registry source.
 *
 * @param deadline - epoch milliseconds
 * @returns whether there is more to do
 * @throws as `runPass` does
 */
export async function syncRegistry(
  context: RegistrySyncContext,
  cursor: RegistryCursor,
  deadline: number,
): Promise<boolean> {
  return runPass(followMints(context, cursor), await context.provider.latestBlock(), deadline);
}

/** Follows the mints and burns under a policy. */
function followMints(
  context: RegistrySyncContext,
  cursor: RegistryCursor,
): Follower<MintPosition, ListedMint, MintTransaction, EntryChanges> {
  const { db, provider, source, listener, now } = context;
  const { id, policyId } = source;
  return {
    ...context,
    tables: REGISTRY_TABLES,
    cursor,
    maxReads: 20,
    parallelReads: 2,
    rollbackEvent: "registry.rollback",
    list: (recent) => listMints(provider, policyId, id, recent),
    read: (listed) => readMint(provider, id, listed),
    positionOf: ({ mintPosition: position }) => position,
    blockOf: async ({ blockPosition: at }) => at,
    load: (reads) => loadChanges(db, source, reads, now()),
    async apply(changes, read) {
      applyMint(changes, source, read);
      return true;
    },
    isFull: ({ entries, textLength }) =>
      entries.size >= MAX_ENTRIES || textLength >= MAX_TEXT_LENGTH,
    commit: (changes, recent, more, done) =>
      commitChanges(db, cursor, changes, recent, [
        ...more,
        ...(listener?.apply(done, changes.now) ?? []),
      ]),
    recordTip: () => [],
    listAbove: (checkpoint) => listMintsAbove(provider, policyId, cursor.recent, checkpoint),
    // Its place in the listing is not known: the policy is read from its start, what was applied is
    // recognized and skipped.
    positionAt: () => null,
    undo: (above) => undoSteps(db, id, above, now(), listener),
  };
}

/** An empty change set of the entries whose tokens some transactions mint or burn. */
async function loadChanges(
  db: Database,
  source: FollowedSource,
  reads: MintTransaction[],
  now: number,
): Promise<EntryChanges> {
  const entries = await loadEntries(db, source, reads);
  return new EntryChanges(entries, await loadSteps(db, source, reads, entries), now);
}

async function loadEntries(
  db: Database,
  { id, policyId: ours }: FollowedSource,
  reads: MintTransaction[],
): Promise<EntryRecord[]> {
  const units = reads.flatMap(({ transaction: tx }) =>
    tx.mint.flatMap(({ policyId, assetName }) => (policyId === ours ? [policyId + assetName] : [])),
  );
  const rows = await db.all<EntryRow>(
    `SELECT ${ENTRY_COLUMNS} FROM registry_entry
     WHERE agent_identifier IN (SELECT value FROM json_each(?)) AND source_id = ?`,
    JSON.stringify([...new Set(units)]),
    id,
  );
  return rows.map(toEntryRecord);
}

type StepRow = Omit<EntryStep, "before"> & { before: string };
const STEP_COLUMNS = `entry_id AS entryId, block_height AS blockHeight, tx_index AS txIndex,
  tx_hash AS txHash, before`;

/** The steps that entries have made already from the first of some transactions on, in chain order. */
async function loadSteps(
  db: Database,
  source: FollowedSource,
  [first]: MintTransaction[],
  entries: EntryRecord[],
): Promise<EntryStep[]> {
  if (first === undefined || entries.length === 0) return [];
  const rows = await db.all<StepRow>(
    `SELECT ${STEP_COLUMNS} FROM registry_step
     WHERE source_id = ? AND (block_height, tx_index) >= (?, ?)
       AND entry_id IN (SELECT value FROM json_each(?))
     ORDER BY block_height, tx_index`,
    source.id,
    first.blockPosition.blockHeight,
    first.blockPosition.txIndex,
    JSON.stringify(entries.map(({ id }) => id)),
  );
  return rows.map((row) => ({ ...row, before: JSON.parse(row.before) }));
}

/** Steps undone per batch, if they have no more text than `MAX_TEXT_LENGTH` says. */
const CHUNK_SIZE = 100;
/**
 * Undoes the newest steps above a height. An entry whose mint was rolled back stays as `Deregistered`,
 * so that clients of the diff see it. If the transaction is applied again, the entry is used again.
 */
async function undoSteps(
  db: Database,
  sourceId: string,
  above: number,
  now: number,
  listener?: MintListener,
): Promise<UndoneSteps<EntryChanges>> {
  const rows = await db.all<EntryRow & StepRow>(
    `SELECT ${ENTRY_COLUMNS}, ${STEP_COLUMNS} FROM
       (SELECT entry_id, before, block_height, tx_index, tx_hash FROM registry_step
        WHERE source_id = ? AND block_height > ?
        ORDER BY block_height DESC, tx_index DESC, tx_hash DESC LIMIT ${CHUNK_SIZE})
     JOIN registry_entry ON id = entry_id
     ORDER BY block_height DESC, tx_index DESC`,
    sourceId,
    above,
  );
  const changes = new EntryChanges([], [], now);
  for (const row of rows) {
    const entry = changes.entries.get(row.agentIdentifier) ?? toEntryRecord(row);
    const { entryId, blockHeight, txIndex, txHash } = row;
    const before = JSON.parse(row.before) as EntryState;
    changes.setState(entry, computeUndoneState(entry.state, before));
    changes.undoneSteps.push({ entryId, blockHeight, txIndex, txHash, before });
    if (changes.textLength >= MAX_TEXT_LENGTH) break;
  }
  const isLast =
    changes.undoneSteps.length < CHUNK_SIZE && changes.undoneSteps.length === rows.length;
  const statements = [
    ...(listener?.undoAgents([...changes.entries.keys()], above, now) ?? []),
    ...((isLast ? await listener?.undo(above, now) : undefined) ?? []),
  ];
  return { changes, statements, isLast };
}

/** A token whose mint was undone keeps its metadata, for clients of the diff. */
function computeUndoneState(state: EntryState, before: EntryState): EntryState {
  return before.profile === null && before.reason === null
    ? { ...state, supply: before.supply }
    : before;
}
