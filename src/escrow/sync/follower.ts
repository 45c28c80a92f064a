import type { AddressTransaction, Block, Provider } from "../../chain/provider/provider.ts";
import { raiseTip, resetTip } from "../../indexer/chain-tip.ts";
import { LEASE_MS } from "../../indexer/cursor.ts";
import type { Follower, PassContext } from "../../indexer/follower.ts";
import { requirePlace } from "../../indexer/fork.ts";
import { isAfter, type Position } from "../../indexer/position.ts";
import type { Backfill } from "../../sources/cursor.ts";
import { applyTransaction } from "../fold/apply.ts";
import { ChangeSet } from "../fold/changes.ts";
import { loadKnown, loadPricing } from "../fold/load-records.ts";
import { LookbackTooLong } from "../fold/skipped-steps.ts";
import type { EscrowSource, ReadTransaction } from "../fold/source.ts";
import { scopeOf } from "./backfill-scope.ts";
import { type CursorMove, commit } from "./commit.ts";
import { ESCROW_TABLES, type EscrowCursor } from "./cursor.ts";
import { listAbove, listContract, positionAt, positionOf } from "./list.ts";
import { OwnTransactions } from "./own.ts";
import { transactionReader } from "./read.ts";
import { undoSteps } from "./undo.ts";

/** What a pass over a payment source works with. */
export interface SyncContext extends PassContext {
  provider: Provider;
  source: EscrowSource;
  /** Of the provider, if it was asked just now. */
  tip?: Block | null;
  /** How long before a deadline it is told of, milliseconds. */
  warnBeforeMs: number;
}

/** What follows the transactions of a payment contract. */
export type EscrowFollower = Follower<Position, AddressTransaction, ReadTransaction, ChangeSet>;

/** A batch ends once it writes this many records or steps: about a megabyte of text. */
const MAX_RECORDS = 80;
const MAX_STEPS = 120;
/** A party may put a result of 16 KiB into a step, so the text of such steps counts as well. */
const MAX_STATE_TEXT = 500_000;
/** A lock that is ignored writes nothing, but checking it may take tens of milliseconds of CPU time. */
const MAX_IGNORED = 100;
/** Time for reading the skipped transactions that one transaction depends on. */
const LOOKBACK_MS = 5_000;

/** Follows what is new of a contract. */
export function followNew(context: SyncContext, cursor: EscrowCursor): EscrowFollower {
  const { db, provider, source, threshold, now } = context;
  const { contractAddress, network } = source;
  const { sourceId, complete } = cursor;
  const own = new OwnTransactions(db, provider);
  return {
    ...context,
    ...folding(context, cursor, "new"),
    tables: ESCROW_TABLES,
    cursor,
    maxReads: Number.POSITIVE_INFINITY,
    parallelReads: 5,
    rollbackEvent: "sync.rollback",
    async list(recent, tip) {
      const listed = await listContract(provider, contractAddress, sourceId, recent);
      const deep = listed.filter(({ blockHeight }) => blockHeight <= tip.height - threshold + 1);
      await own.find(deep, tip);
      return deep;
    },
    read: transactionReader(provider, own, source, complete),
    positionOf: ({ at }) => positionOf(at),
    blockOf: ({ at }) => requirePlace(own, positionOf(at)),
    async commit(changes, recent, more) {
      const move = { recent, leaseUntil: now() + LEASE_MS, ...pastUpTo(cursor, recent.at(-1)) };
      await commit(db, cursor, changes, move, more);
    },
    tipSeen: ({ height }) => [raiseTip(network, height)],
    listAbove: (checkpoint) => listAbove(provider, contractAddress, checkpoint),
    positionAt,
    async undo(above, tip) {
      const { statements, ...undone } = await undoSteps(db, sourceId, above, tip.height, now());
      return { ...undone, statements: [...statements, resetTip(network, tip.height)] };
    },
  };
}

/**
 * Follows a contract for the wallets that were added later, up to where the cursor stands. The batch
 * that comes as far hands them over to what is new: nothing of theirs was applied beyond it, and
 * nothing is missing.
 *
 * @param live - what is new, with the cursor
 */
export function followPast(
  context: SyncContext,
  cursor: EscrowCursor,
  live: EscrowFollower,
  { wallets, position }: Backfill,
): EscrowFollower {
  return {
    ...live,
    ...folding(context, cursor, "past"),
    cursor: { ...cursor, recent: position === null ? [] : [position] },
    async commit(changes, recent) {
      const done = recent.at(-1) ?? null;
      const end = cursor.recent.at(-1);
      const isPart = end !== undefined && isAfter(end, done);
      await commit(context.db, cursor, changes, {
        recent: cursor.recent,
        leaseUntil: isPart ? context.now() + LEASE_MS : null,
        backfill: isPart ? { wallets, position: done } : null,
      });
    },
  };
}

/** How a run of transactions is folded: of the wallets that a part of the history is read for. */
export function folding(
  { db, source, now }: SyncContext,
  cursor: EscrowCursor,
  part: "past" | "new",
): Pick<EscrowFollower, "load" | "apply" | "isFull"> {
  const { complete } = cursor;
  const scope = scopeOf(source, cursor, part);
  return {
    async load(reads, tip) {
      const { records, stored } = await loadKnown(db, source, reads, complete);
      const pricing = await loadPricing(db, scope.source, reads);
      const others = records.filter((record) => !scope.has(record));
      const known = { pricing, others, stored };
      return new ChangeSet(records.filter(scope.has), now(), tip.height, known);
    },
    async apply(changes, read, deadline) {
      const isFirst = deadline === null;
      const until = Math.min(now() + LOOKBACK_MS, deadline ?? Number.POSITIVE_INFINITY);
      const lookback = complete ? null : { until, now, mayWait: !isFirst };
      try {
        await applyTransaction(changes, scope.source, read, lookback);
        return true;
      } catch (error) {
        // The next run begins with it, and so has the full time for it.
        if (error instanceof LookbackTooLong) return false;
        throw error;
      }
    },
    isFull: ({ records, transactions, stateText, ignoredLocks }) =>
      records.size >= MAX_RECORDS ||
      transactions.length >= MAX_STEPS ||
      stateText >= MAX_STATE_TEXT ||
      ignoredLocks >= MAX_IGNORED,
  };
}

/** Where steps were undone, the past of added wallets was undone with the rest. */
function pastUpTo({ backfill }: EscrowCursor, end: Position | null = null): Partial<CursorMove> {
  if (!backfill?.position || !isAfter(backfill.position, end)) return {};
  return { backfill: { ...backfill, position: end } };
}
