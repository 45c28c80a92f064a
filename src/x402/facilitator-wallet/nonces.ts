/** The next nonce, and how far a node's count of the wallet's transactions is trusted. */
import type { ChainView } from "../evm/transactions.ts";
import type { SignedTransaction } from "./stored-job.ts";
import type { WalletStore } from "./wallet-store.ts";

/** Nodes limit an account's pending transactions. */
export const MAX_UNCONFIRMED = 16;
/** A transaction left out of blocks this long is stuck: in blocks and in seconds of chain time. */
const STUCK_BLOCKS = 3;
const STUCK_SECONDS = 12;

export function isStuck(
  { sinceBlock, sinceTime }: SignedTransaction,
  { block, time }: ChainView,
): boolean {
  return block - sinceBlock >= STUCK_BLOCKS && time - sinceTime >= STUCK_SECONDS;
}

/**
 * The chain as far as the stored state explains it. A count more than `MAX_UNCONFIRMED` beyond the
 * wallet's own nonces is replaced by the stored count until `confirmCount`. The next transaction uses
 * the stored nonce, which shows which count is right.
 */
export function limitToKnownNonces(store: WalletStore, chain: ChainView): ChainView {
  const pending = store.pendingTransactions();
  const floor = nonceFloor(store);
  const lowestNonce = Math.min(floor, ...pending.map(({ nonce }) => nonce));
  const nextNonce = Math.max(floor, ...pending.map(({ nonce }) => nonce + 1));
  const nonce = chain.nonce > nextNonce + MAX_UNCONFIRMED ? lowestNonce : chain.nonce;
  const maxNonce = Math.max(nextNonce, nonce) + MAX_UNCONFIRMED;
  return {
    ...chain,
    nonce,
    pendingNonce: chain.pendingNonce > maxNonce ? nonce : chain.pendingNonce,
  };
}

/**
 * Accepts a node's count: it has rejected a transaction because its nonce is used, or no block has
 * included that one.
 */
export function confirmCount(store: WalletStore, { nonce }: ChainView): void {
  store.setValue("nonce_floor", String(Math.max(nonceFloor(store), nonce)));
}

/** The lowest nonce that no stored transaction uses. */
export function findFreeNonce(store: WalletStore, chain: ChainView): number {
  const usedNonces = store.usedNonces();
  // Without own pending transactions, the node's pending ones come from another program with the
  // key.
  const first = store.pendingTransactions().length === 0 ? chain.pendingNonce : chain.nonce;
  let nonce = Math.max(first, nonceFloor(store));
  while (usedNonces.has(nonce)) nonce++;
  return nonce;
}

/**
 * The nonce gap below a pending transaction, which must be filled before anything after it can be
 * mined. Transactions beyond a gap wider than `MAX_UNCONFIRMED` are given up, and their payments
 * signed anew.
 */
export function findNonceGaps(store: WalletStore, chain: ChainView): number[] {
  const [oldest] = store.pendingTransactions();
  // A lagging node would have caught up, so a re-org freed nonces.
  if (oldest && oldest.nonce > chain.nonce && isStuck(oldest, chain))
    store.setValue("nonce_floor", String(chain.nonce));
  const first = findFreeNonce(store, chain);
  for (const { nonce, jobId } of store.pendingTransactions())
    if (nonce > first + MAX_UNCONFIRMED) {
      store.loseNonce(nonce);
      if (jobId !== null && store.findJob(jobId)?.state === "signed")
        store.requeueJob(jobId, Date.now());
    }
  const usedNonces = new Set(store.pendingTransactions().map(({ nonce }) => nonce));
  const highest = Math.max(first, ...usedNonces);
  return Array.from({ length: highest - first }, (_, i) => first + i).filter(
    (nonce) => !usedNonces.has(nonce),
  );
}

/** No nonce below the floor is free, according to the stored state. */
function nonceFloor(store: WalletStore): number {
  return Number(store.getValue("nonce_floor") ?? 0);
}
