import type { Provider } from "../../chain/provider/provider.ts";
import { type Checkpoint, ProviderBehindError } from "../../indexer/checkpoints.ts";
import type { PositionedTransaction } from "../../indexer/find-fork.ts";
import {
  LISTING_PAGE_SIZE,
  type ListingPage,
  listPendingTransactions,
} from "../../indexer/list-pending.ts";
import type { MintPosition } from "./cursor.ts";

/** A transaction that minted or burned under a policy, as it is listed. */
export interface ListedMint {
  txHash: string;
  /** See `MintPosition`. */
  ordinal: number;
}

/**
 * The mints and burns of a policy after those that are done; see `listPendingTransactions`. A provider may list
 * the first of `recent` elsewhere: a mint was listed late, or another provider was read. Then all mints are
 * returned, and what was applied is recognized and skipped.
 */
export async function listMints(
  provider: Provider,
  policyId: string,
  sourceId: string,
  recent: MintPosition[],
): Promise<ListedMint[]> {
  const [first] = recent;
  const begin = first?.[3] ?? 0;
  const pages = listMintPages(provider, policyId, begin, first !== undefined);
  try {
    const { listed, pending } = await listPendingTransactions(sourceId, recent, pages);
    const place = listed.find(({ txHash }) => txHash === first?.[2]);
    if (place === undefined || place.ordinal === begin) return pending;
  } catch (error) {
    if (!(error instanceof ProviderBehindError) || first === undefined) throw error;
    const place = await findListed(listMintPages(provider, policyId, 0, true), first[2]);
    if (place === undefined || place.ordinal === begin) throw error;
  }
  const all = await listPendingTransactions(
    sourceId,
    [],
    listMintPages(provider, policyId, 0, true),
  );
  return all.pending;
}

async function findListed(pages: AsyncIterable<ListingPage<ListedMint>>, txHash: string) {
  for await (const { rows } of pages) {
    const found = rows.find((row) => row.txHash === txHash);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The last mints and burns of a policy with their places, to be compared with another provider's.
 *
 * @returns those after `recent` as a provider lists them
 */
export async function listRecentMints(
  provider: Provider,
  policyId: string,
  sourceId: string,
  recent: MintPosition[],
) {
  const [mint] = await listMints(provider, policyId, sourceId, recent);
  const place = mint && (await provider.transaction(mint.txHash));
  return place ? [{ ...place, txHash: place.hash }] : [];
}

/** Pages searched for the transaction of a checkpoint. */
const MAX_PAGES_BACK = 3;

/**
 * The mints and burns above a checkpoint, as the provider lists them now: each takes a call. None
 * when the checkpoint lies too far back.
 *
 * @throws ProviderBehindError when what it lists is not in a block, or the checkpoint's transaction is not
 *   listed
 */
export async function* listMintsAbove(
  provider: Provider,
  policyId: string,
  recent: MintPosition[],
  checkpoint: Checkpoint | null,
): AsyncGenerator<PositionedTransaction<MintPosition>> {
  const newest = Math.floor((recent.at(-1)?.[3] ?? 0) / LISTING_PAGE_SIZE);
  const begin =
    checkpoint === null ? 0 : Math.max(newest - MAX_PAGES_BACK + 1, 0) * LISTING_PAGE_SIZE;
  let isReached = checkpoint === null;
  for await (const { rows } of listMintPages(provider, policyId, begin, false))
    for (const { txHash, ordinal } of rows) {
      if (isReached) {
        const at = await provider.transaction(txHash);
        if (at === null)
          throw new ProviderBehindError(`provider: does not have transaction ${txHash}`);
        const { blockHeight, txIndex } = at;
        if (blockHeight > (checkpoint?.height ?? -1))
          yield { position: [blockHeight, txIndex, txHash, ordinal] };
      }
      isReached ||= txHash === checkpoint?.tx_hash;
    }
  if (!isReached && begin === 0)
    throw new ProviderBehindError(
      `provider: does not list transaction ${checkpoint?.tx_hash} any more`,
    );
}

/** @param isKnown - whether the provider listed the policy before */
async function* listMintPages(
  provider: Provider,
  policyId: string,
  begin: number,
  isKnown: boolean,
): AsyncGenerator<ListingPage<ListedMint>> {
  for (let page = Math.floor(begin / LISTING_PAGE_SIZE) + 1, isLast = false; !isLast; page++) {
    const redeemers = await provider.scriptRedeemers(policyId, { page, count: LISTING_PAGE_SIZE });
    if (redeemers === null && isKnown)
      throw new ProviderBehindError("provider: does not know the policy any more");
    const rows = (redeemers ?? []).flatMap(({ txHash, purpose }, i) => {
      const ordinal = (page - 1) * LISTING_PAGE_SIZE + i;
      return ordinal >= begin && purpose === "mint" ? [{ txHash, ordinal }] : [];
    });
    isLast = redeemers?.length !== LISTING_PAGE_SIZE;
    yield { rows, isLast };
  }
}
