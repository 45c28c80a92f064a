import type { ArchivedPlace } from "../../archive/archived-place.ts";
import type { Archive } from "../../archive/open-archives.ts";
import type { AddressTransaction, Block, Provider } from "../../chain/provider/provider.ts";
import type { Database } from "../../db/client.ts";
import { raiseTip, resetTip } from "../../indexer/chain-tip.ts";
import { LEASE_TTL_MS, StaleRecordError } from "../../indexer/cursor.ts";
import { requirePosition } from "../../indexer/find-fork.ts";
import type { Follower, PassContext } from "../../indexer/follower.ts";
import { isAfter, type Position } from "../../indexer/position.ts";
import { loadPricingTypes, type PricingType } from "../../registry/entries/pricing.ts";
import { type Backfill, toWalletRoleKey } from "../../sources/cursor.ts";
import { type EscrowRecord, isWithoutLock } from "../model/escrow-record.ts";
import {
  ArchivedRecordStaleError,
  type ArchiveReading,
  type LoadedArchivedRecords,
  loadArchivedRecords,
  returnArchivedRecords,
  selectArchivedPlaces,
} from "../store/archived-records.ts";
import { ChangeSet } from "../store/change-set.ts";
import { type LoadedRow, selectRecords, toLoadedRecords } from "../store/load-records.ts";
import { applyLocks } from "./apply-locks.ts";
import { applySpends } from "./apply-spends.ts";
import { type CursorUpdate, commitChanges } from "./commit-changes.ts";
import { ESCROW_TABLES, type EscrowCursor } from "./cursor.ts";
import { identifyEscrow } from "./escrow-outputs.ts";
import {
  type ContractTransaction,
  type EscrowSource,
  type EscrowSourceWallet,
  type Lookback,
  roleOf,
} from "./escrow-source.ts";
import {
  listAbove,
  listContractTransactions,
  toCheckpointPosition,
  toPosition,
} from "./list-contract-transactions.ts";
import { extractSpentOutputs, LookbackTimeoutError } from "./missed-steps.ts";
import { OwnTransactions } from "./own-transactions.ts";
import { createTransactionReader } from "./transaction-reader.ts";
import { deleteFinalUndoData, undoSteps } from "./undo-steps.ts";

/** What a pass over a payment source works with. */
export interface SyncContext extends PassContext {
  provider: Provider;
  source: EscrowSource;
  /** Where final records may be. */
  archives: readonly Archive[];
  /** Of the provider, if it was asked just now. */
  tip?: Block | null;
  /** Time before a deadline at which the event is sent, milliseconds. */
  warnBeforeMs: number;
}

/** What follows the transactions of a payment contract. */
export type EscrowFollower = Follower<Position, AddressTransaction, ContractTransaction, ChangeSet>;

/** A batch ends once it writes this many records or steps: about a megabyte of text. */
const MAX_RECORDS = 80;
const MAX_STEPS = 120;
/** A party may put a result of 16 KiB into a step, so the text of such steps counts as well. */
const MAX_STATE_TEXT_LENGTH = 500_000;
/** A lock that is ignored writes nothing, but checking it may take tens of milliseconds of CPU time. */
const MAX_IGNORED_LOCKS = 100;
/** Time for reading the skipped transactions that one transaction depends on. */
const LOOKBACK_TIMEOUT_MS = 5_000;

/** Follows what is new of a contract. */
export function followNewTransactions(context: SyncContext, cursor: EscrowCursor): EscrowFollower {
  const { db, provider, source, threshold, now } = context;
  const { contractAddress, network } = source;
  const { sourceId, isComplete: complete } = cursor;
  const own = new OwnTransactions(db, provider);
  return {
    ...context,
    ...createFoldSteps(context, cursor, "new"),
    tables: ESCROW_TABLES,
    cursor,
    maxReads: Number.POSITIVE_INFINITY,
    parallelReads: 5,
    rollbackEvent: "sync.rollback",
    async list(recent, tip) {
      const listed = await listContractTransactions(provider, contractAddress, sourceId, recent);
      const deep = listed.filter(({ blockHeight }) => blockHeight <= tip.height - threshold + 1);
      await own.loadListedTransactions(deep, tip);
      return deep;
    },
    read: createTransactionReader(provider, own, source, complete),
    positionOf: ({ at }) => toPosition(at),
    blockOf: ({ at }) => requirePosition(own, toPosition(at)),
    async commit(changes, recent, more) {
      const move = {
        recent,
        leaseUntil: now() + LEASE_TTL_MS,
        ...limitBackfill(cursor, recent.at(-1)),
      };
      await returnChangedRecords(context, changes);
      await commitChanges(db, cursor, changes, move, more);
    },
    recordTip: (tip) => [raiseTip(network, tip.height), ...deleteFinalUndoData(sourceId, tip)],
    listAbove: (checkpoint) => listAbove(provider, contractAddress, checkpoint),
    positionAt: toCheckpointPosition,
    async undo(above, tip) {
      const { statements, ...undone } = await undoSteps(db, sourceId, above, tip.height, now());
      return { ...undone, statements: [...statements, resetTip(network, tip.height)] };
    },
  };
}

/**
 * Follows a contract for wallets that were added later, up to the cursor. The last batch hands these wallets
 * to the live follower. Nothing of theirs was applied beyond it, and nothing is missing.
 *
 * @param live - the follower of new blocks, with the cursor
 */
export function followBackfill(
  context: SyncContext,
  cursor: EscrowCursor,
  live: EscrowFollower,
  { wallets, position }: Backfill,
): EscrowFollower {
  return {
    ...live,
    ...createFoldSteps(context, cursor, "past"),
    cursor: { ...cursor, recent: position === null ? [] : [position] },
    async commit(changes, recent) {
      const done = recent.at(-1) ?? null;
      const end = cursor.recent.at(-1);
      const isPart = end !== undefined && isAfter(end, done);
      await returnChangedRecords(context, changes);
      await commitChanges(context.db, cursor, changes, {
        recent: cursor.recent,
        leaseUntil: isPart ? context.now() + LEASE_TTL_MS : null,
        backfill: isPart ? { wallets, position: done } : null,
      });
    },
  };
}

/** How a run of transactions is folded: of the wallets that a part of the history is read for. */
function createFoldSteps(
  context: SyncContext,
  cursor: EscrowCursor,
  part: "past" | "new",
): Pick<EscrowFollower, "load" | "apply" | "isFull"> {
  const { db, source, now } = context;
  const { isComplete: complete } = cursor;
  const scope = scopeOf(source, cursor, part);
  return {
    async load(reads, tip) {
      const {
        records,
        storedTransactions: stored,
        places: archived,
      } = await loadKnownRecords(context, reads, complete);
      const pricing = await loadPricing(db, scope.source, reads);
      const others = records.filter((record) => !scope.has(record));
      const known = { pricing, others, stored, archived };
      return new ChangeSet(records.filter(scope.has), now(), tip.height, known);
    },
    async apply(changes, read, deadline) {
      const isFirst = deadline === null;
      const until = Math.min(now() + LOOKBACK_TIMEOUT_MS, deadline ?? Number.POSITIVE_INFINITY);
      const lookback = complete ? null : { until, now, isDeferrable: !isFirst };
      try {
        await applyTransaction(changes, scope.source, read, lookback);
        return true;
      } catch (error) {
        // The next run begins with it, and so has the full time for it.
        if (error instanceof LookbackTimeoutError) return false;
        throw error;
      }
    },
    isFull: ({ records, transactions, stateTextLength: stateText, ignoredLocks }) =>
      records.size >= MAX_RECORDS ||
      transactions.length >= MAX_STEPS ||
      stateText >= MAX_STATE_TEXT_LENGTH ||
      ignoredLocks >= MAX_IGNORED_LOCKS,
  };
}

/** How long the archives may take to answer. */
const ARCHIVE_TIMEOUT_MS = 10_000;

const toArchiveReading = ({ db, archives, source }: KnownRecordsContext): ArchiveReading => ({
  ...{ db, archives, network: source.network, deadline: Date.now() + ARCHIVE_TIMEOUT_MS },
});

/** Brings the archived records back that transactions change. @throws StaleRecordError */
async function returnChangedRecords(context: SyncContext, changes: ChangeSet): Promise<void> {
  try {
    await returnArchivedRecords(toArchiveReading(context), changes, context.source.id);
  } catch (error) {
    throw error instanceof ArchivedRecordStaleError ? new StaleRecordError(error.message) : error;
  }
}

/** Where steps were undone, the past of added wallets was undone with the rest. */
function limitBackfill(
  { backfill }: EscrowCursor,
  end: Position | null = null,
): Partial<CursorUpdate> {
  if (!backfill?.position || !isAfter(backfill.position, end)) return {};
  return { backfill: { ...backfill, position: end } };
}

/**
 * Folds one transaction of the contract into a change set: first the steps of known escrows, then the locks.
 * A transaction that failed phase 2 moved only its collateral.
 *
 * @param lookback - null: the contract's whole history was read
 * @throws LookbackTimeoutError if the transaction has to wait; the change set is unchanged
 */
export async function applyTransaction(
  changes: ChangeSet,
  source: EscrowSource,
  read: ContractTransaction,
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

/** The escrows that a run applies: each record is moved by one of the two, so in order. */
interface SyncScope {
  /** The source with the wallets in scope alone. */
  source: EscrowSource;
  /**
   * Whether the run may change a record. The record belongs to one of these wallets, in use or
   * removed, or its lock was rolled back. After a rollback any wallet may lock the identifier
   * again.
   */
  has(record: EscrowRecord): boolean;
}

/**
 * What a run may touch: the past of the wallets that were added later, or what is new of all others.
 */
function scopeOf(
  source: EscrowSource,
  { backfill }: Pick<EscrowCursor, "backfill">,
  part: "past" | "new",
): SyncScope {
  const waiting = new Set(backfill?.wallets);
  const isReadFor = (wallet: Pick<EscrowSourceWallet, "role" | "vkey">) =>
    waiting.has(toWalletRoleKey(wallet)) === (part === "past");
  return {
    source: { ...source, wallets: source.wallets.filter(isReadFor), isWalletInScope: isReadFor },
    has: ({ side, wallet, state, progress }) =>
      isWithoutLock({ state, progress }) ||
      wallet === null ||
      isReadFor({ role: roleOf(side), vkey: wallet.vkey }),
  };
}

interface KnownRecordsContext extends Pick<SyncContext, "source" | "archives"> {
  db: ArchiveReading["db"];
}

/**
 * The stored records that transactions may touch, those of archives among them. A transaction spends the
 * record's funds, or an output carries its identifier.
 *
 * @param complete - false when past transactions were skipped. Then the spent outputs may differ
 *   from the stored outputs, and the provider is asked for their datums.
 */
export async function loadKnownRecords(
  context: KnownRecordsContext,
  reads: ContractTransaction[],
  complete: boolean,
): Promise<LoadedArchivedRecords> {
  const { db, source } = context;
  const valid = reads.filter(({ tx }) => tx.isValid);
  const utxos = valid.flatMap(extractSpentOutputs).map(({ outpoint }) => outpoint);
  const hashes = valid.flatMap(({ outputs }) => outputs.map((output) => output.identifierHash));
  if (!complete)
    for (const read of valid.filter(({ tx }) => tx.spendRedeemers.length > 0))
      for (const datum of (await read.loadSpentDatums()).values())
        if (datum !== null) hashes.push(identifyEscrow(source, datum).identifierHash);
  const places = new Map();
  if (utxos.length + hashes.length === 0) return { records: [], storedTransactions: [], places };
  const txHashes = valid.map(({ tx }) => tx.hash);
  const identifiers = JSON.stringify([...new Set(hashes)]);
  const [own, found] = (await db.batch([
    selectRecords(
      txHashes,
      `SELECT id FROM escrow WHERE source_id = ?2 AND utxo IN (SELECT value FROM json_each(?3))
       UNION
       SELECT id FROM escrow_identity
       WHERE identifier_hash IN (SELECT unhex(value) FROM json_each(?4))
         AND side IN ('payment', 'purchase') AND source_id = ?2`,
      source.id,
      JSON.stringify(utxos),
      identifiers,
    ),
    selectArchivedPlaces(
      source.network,
      `identifier_hash IN (SELECT unhex(value) FROM json_each(?2))
         AND side IN ('payment', 'purchase') AND source_id = ?3`,
      identifiers,
      source.id,
    ),
  ])) as [D1Result<LoadedRow>, D1Result<ArchivedPlace>];
  const here = toLoadedRecords(own.results);
  const archived = await loadArchivedRecords(toArchiveReading(context), txHashes, found.results);
  return {
    records: [...here.records, ...archived.records],
    storedTransactions: [...here.storedTransactions, ...archived.storedTransactions],
    places: archived.places,
  };
}

/** How the agents are priced whose escrows some transactions may lock for our wallets. */
async function loadPricing(
  db: Database,
  source: EscrowSource,
  reads: ContractTransaction[],
): Promise<Map<string, PricingType>> {
  const ours = new Set(source.wallets.map(({ vkey }) => vkey));
  const agents = reads.flatMap(({ outputs }) =>
    outputs.flatMap(({ datum }) => {
      const isOurs = ours.has(datum.sellerVkey) || ours.has(datum.buyerVkey);
      return (isOurs && datum.agentIdentifier) || [];
    }),
  );
  return loadPricingTypes(db, source.network, agents);
}
