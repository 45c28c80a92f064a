import {
  combineProviders,
  type ProviderMember,
  type ProviderView,
} from "../chain/provider/combine-providers.ts";
import { isProbeDue } from "../chain/provider/outage.ts";
import {
  type AddressTransaction,
  type Block,
  type NetworkIdentity,
  type Provider,
  ProviderError,
  ResponseTooLargeError,
} from "../chain/provider/provider.ts";
import type { Env } from "../env.ts";
import {
  type Checkpoint,
  ProviderBehindError,
  ProviderDisagreementError,
} from "../indexer/checkpoints.ts";
import { isAfter, type Position } from "../indexer/position.ts";
import { openProviderMembers } from "./open-source-provider.ts";
import type { ProviderUse } from "./provider.ts";
import type { SourceOfProviders } from "./source-row.ts";

/** Blocks below which two chains that disagree are not waited for. */
const MAX_FORK_BLOCKS = 20;

/** Blocks that a provider may be behind another one for longer than a pass. */
const MAX_LAG_BLOCKS = 10;

type RecentTransaction = Pick<AddressTransaction, "txHash" | "blockHeight" | "txIndex">;

/**
 * Lists the last transactions of what a pass follows.
 *
 * @param from - block height; undefined: from the start
 */
export type ListRecent = (
  provider: Provider,
  from: number | undefined,
) => Promise<readonly RecentTransaction[] | null>;

/** What a pass over a source reads from. */
export interface SyncProvider {
  provider: Provider;
  /** Whether the source has several providers. */
  isListed: boolean;
  /** See `PassContext`. */
  confirmRollback(lost: Checkpoint, tip: Block): Promise<void>;
  /** Whether a comparison would tell that a provider works again. */
  isProbeDue: boolean;
  /**
   * Asks the other providers for the last transactions, after a complete pass. If one has a transaction
   * that the pass was not shown, the pass's provider counts as failed.
   *
   * @returns whether there is one
   */
  isReaderIncomplete(list: ListRecent, recent: Position[], threshold: number): Promise<boolean>;
  /**
   * After a complete pass: providers that were passed over since they are behind are not used for anything
   * else either.
   */
  reportPassedOver(error: unknown): Promise<void>;
}

/** The provider of a pass. @throws SealError when the keys cannot be decrypted */
export async function openSyncProvider(
  env: Env,
  source: SourceOfProviders,
  use: ProviderUse,
  view: ProviderView,
): Promise<SyncProvider> {
  const members = (await openProviderMembers(env, source))(use);
  const now = Date.now();
  return {
    provider: combineProviders(members, view),
    isListed: members.length > 1,
    isProbeDue: members.some(({ outages: { reads } }) => isProbeDue(reads, now)),
    async reportPassedOver(error) {
      const [first = -1] = view.passedOver;
      if (error instanceof ProviderBehindError) await members[first]?.report("reads", error);
    },
    confirmRollback: (lost, tip) => confirmRollback(listOthers(members, view), lost, tip),
    async isReaderIncomplete(list, recent, threshold) {
      const reader = members[view.reader ?? -1] as Reader | undefined;
      if (reader === undefined) return false;
      const query = { list, recent, threshold };
      const lack = await findLack(reader, listOthers(members, view), query);
      if (lack !== null) await reader.report("reads", new ProviderError(`provider: ${lack}`));
      return lack !== null;
    },
  };
}

/** The view of the next attempt after a pass failed; null when there is none. */
export function selectNextView(error: unknown, view: ProviderView): ProviderView | null {
  const isHopeless =
    error instanceof ProviderDisagreementError || error instanceof ResponseTooLargeError;
  return error instanceof ProviderError && !isHopeless ? view.passOverReader() : null;
}

type Reader = Omit<ProviderMember, "provider"> & { provider: Provider & NetworkIdentity };

/** The providers that can read and are not the view's. */
function listOthers(members: readonly ProviderMember[], { reader }: ProviderView): Reader[] {
  return members.filter(
    (member, i) => i !== reader && member.purposes.includes("reads"),
  ) as Reader[];
}

/**
 * Asks other providers whether a block stands that a provider no longer has. Those that do not answer have
 * no say.
 *
 * @throws ProviderBehindError when a chain that is at least as long has the block. The provider is on a
 *   fork then. ProviderDisagreementError when the block is too deep for a fork.
 */
async function confirmRollback(
  others: readonly Reader[],
  lost: Checkpoint,
  tip: Block,
): Promise<void> {
  for (const { provider, outages } of others) {
    if (outages.reads !== undefined) continue;
    const answer = await askIfWorking(
      Promise.all([provider.latestBlock(), provider.block(lost.height)]),
    );
    if (answer?.[1]?.hash !== lost.block_hash) continue;
    if (tip.height - lost.height > MAX_FORK_BLOCKS)
      throw new ProviderDisagreementError(
        `provider: two providers disagree about block ${lost.height}: remove the wrong one`,
        { permanent: true },
      );
    if (answer[0].height >= tip.height)
      throw new ProviderBehindError(`provider: is on a fork below block ${lost.height}`);
  }
}

/** What a provider answers; null when it does not. */
async function askIfWorking<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return null;
  }
}

/**
 * What the reader lacks that another provider has: the last blocks, or a transaction of a block that both
 * have. Null when there is nothing. It also tells whether a provider that failed works again.
 */
async function findLack(
  reader: Reader,
  others: readonly Reader[],
  { list, recent, threshold }: { list: ListRecent; recent: Position[]; threshold: number },
): Promise<string | null> {
  const [start] = recent;
  const known = new Set(recent.map(([, , txHash]) => txHash));
  for (const other of others) {
    const { provider, outages } = other;
    if (outages.reads !== undefined && !isProbeDue(outages.reads, Date.now())) continue;
    let tip: Block;
    let hidden: RecentTransaction | undefined;
    try {
      tip = await provider.latestBlock();
      const [reached = 0] = recent.at(-1) ?? [];
      if (tip.height < reached) throw new ProviderBehindError("provider: its tip is behind");
      const rows = await list(provider, start?.[0]);
      await other.report("reads", null);
      hidden = rows?.find(
        ({ txHash, blockHeight, txIndex }) =>
          !known.has(txHash) &&
          isAfter([blockHeight, txIndex, txHash], start ?? null) &&
          blockHeight <= tip.height - threshold,
      );
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      await other.report("reads", error);
      continue;
    }
    // A reader that does not answer: the next pass finds out.
    const own = await askIfWorking(reader.provider.latestBlock());
    const lag = tip.height - (own ?? tip).height;
    if (lag > MAX_LAG_BLOCKS) return `its tip is ${lag} blocks behind another provider's`;
    if (hidden && (await isHiddenBy(reader, provider, list, hidden)))
      return `does not list transaction ${hidden.txHash} that another provider lists`;
  }
  return null;
}

/** Whether a provider has the block of a transaction, and does not list it even now. */
async function isHiddenBy(
  reader: Reader,
  other: Provider,
  list: ListRecent,
  { txHash, blockHeight }: RecentTransaction,
): Promise<boolean> {
  const answer = await askIfWorking(
    Promise.all([
      other.block(blockHeight),
      reader.provider.block(blockHeight),
      list(reader.provider, blockHeight),
    ]),
  );
  if (answer === null) return false;
  const [theirs, ours, rows] = answer;
  const isSameChain = theirs !== null && theirs.hash === ours?.hash;
  return isSameChain && !rows?.some((row) => row.txHash === txHash);
}
