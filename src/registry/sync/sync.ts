import type { Provider } from "../../chain/provider/provider.ts";
import type { Follower, PassContext } from "../../indexer/follower.ts";
import { runPass } from "../../indexer/pass.ts";
import { applyMint, type EntryChanges } from "./changes.ts";
import { commit, MAX_TEXT } from "./commit.ts";
import {
  type FollowedSource,
  type MintPosition,
  REGISTRY_TABLES,
  type RegistryCursor,
  readCursor,
} from "./cursor.ts";
import { type ListedMint, listAbove, listMints } from "./list.ts";
import { loadChanges } from "./load.ts";
import type { MintListener } from "./mint-listener.ts";
import { type ReadMint, readMint } from "./read.ts";
import { undoSteps } from "./undo.ts";

/** What a pass over a registry source works with. */
export interface RegistrySyncContext extends PassContext {
  provider: Provider;
  source: FollowedSource;
  /** Others that the policy's mints concern. */
  listener?: MintListener;
}

/** A batch ends once it writes this many entries, or as much text as `MAX_TEXT` says. */
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
  deadline: number,
): Promise<boolean> {
  const cursor = await readCursor(context.db, context.source.id);
  if (cursor === null) return false;
  return runPass(followMints(context, cursor), await context.provider.latestBlock(), deadline);
}

/** Follows the mints and burns under a policy. */
function followMints(
  context: RegistrySyncContext,
  cursor: RegistryCursor,
): Follower<MintPosition, ListedMint, ReadMint, EntryChanges> {
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
    positionOf: ({ position }) => position,
    blockOf: async ({ at }) => at,
    load: (reads) => loadChanges(db, source, reads, now()),
    async apply(changes, read) {
      applyMint(changes, source, read);
      return true;
    },
    isFull: ({ entries, textLength }) => entries.size >= MAX_ENTRIES || textLength >= MAX_TEXT,
    commit: (changes, recent, more, done) =>
      commit(db, cursor, changes, recent, [...more, ...(listener?.apply(done, changes.now) ?? [])]),
    tipSeen: () => [],
    listAbove: (checkpoint) => listAbove(provider, policyId, cursor.recent, checkpoint),
    // Its place in the listing is not known: the policy is read from its start, what was applied is
    // recognised and skipped.
    positionAt: () => null,
    undo: (above) => undoSteps(db, id, above, now(), listener),
  };
}
