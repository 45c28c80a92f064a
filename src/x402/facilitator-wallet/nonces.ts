/** The next nonce, and how far a node's count of the wallet's transactions is trusted. */
import type { ChainSnapshot } from "../evm/transactions.ts";
import type { SignedTransaction } from "./stored-job.ts";
import type { WalletStore } from "./wallet-store.ts";

/** Nodes limit an account's pending transactions. */
export const MAX_PENDING_TRANSACTIONS = 64;
/** A transaction left out of blocks this long is stuck: in blocks and in seconds of chain time. */
const STUCK_BLOCKS = 3;
const STUCK_SECONDS = 12;

export function isStuck(
  { signedAtBlock, signedAtSeconds }: SignedTransaction,
  { blockNumber: block, blockTimestamp: time }: ChainSnapshot,
): boolean {
  return block - signedAtBlock >= STUCK_BLOCKS && time - signedAtSeconds >= STUCK_SECONDS;
}

/**
 * The chain as far as the stored state explains it. A count more than `MAX_PENDING_TRANSACTIONS` beyond the
 * wallet's own nonces is replaced by the stored count until `acceptNodeNonce`. The next transaction uses
 * the stored nonce, which shows which count is right.
 */
export function limitToKnownNonces(store: WalletStore, chain: ChainSnapshot): ChainSnapshot {
  const pending = store.listPendingTransactions();
  const floor = getNonceFloor(store);
  const lowestNonce = Math.min(floor, ...pending.map(({ nonce }) => nonce));
  const nextNonce = Math.max(floor, ...pending.map(({ nonce }) => nonce + 1));
  const nonce = chain.nonce > nextNonce + MAX_PENDING_TRANSACTIONS ? lowestNonce : chain.nonce;
  const maxNonce = Math.max(nextNonce, nonce) + MAX_PENDING_TRANSACTIONS;
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
export function acceptNodeNonce(store: WalletStore, { nonce }: ChainSnapshot): void {
  store.setValue("nonce_floor", String(Math.max(getNonceFloor(store), nonce)));
}

/** The lowest nonce that no stored transaction uses. */
export function findFreeNonce(store: WalletStore, chain: ChainSnapshot): number {
  const usedNonces = store.listUsedNonces();
  // Without own pending transactions, the node's pending ones come from another program with the
  // key.
  const first = store.listPendingTransactions().length === 0 ? chain.pendingNonce : chain.nonce;
  let nonce = Math.max(first, getNonceFloor(store));
  while (usedNonces.has(nonce)) nonce++;
  return nonce;
}

/**
 * The nonce gap below a pending transaction, which must be filled before anything after it can be
 * mined. Transactions beyond a gap wider than `MAX_PENDING_TRANSACTIONS` are given up, and their payments
 * signed anew.
 */
export function findNonceGaps(store: WalletStore, chain: ChainSnapshot): number[] {
  const [oldest] = store.listPendingTransactions();
  // A lagging node would have caught up, so a re-org freed nonces.
  if (oldest && oldest.nonce > chain.nonce && isStuck(oldest, chain))
    store.setValue("nonce_floor", String(chain.nonce));
  const first = findFreeNonce(store, chain);
  for (const { nonce, jobId } of store.listPendingTransactions())
    if (nonce > first + MAX_PENDING_TRANSACTIONS) {
      store.markNonceLost(nonce);
      if (jobId !== null && store.findJob(jobId)?.state === "signed")
        store.requeueJob(jobId, Date.now());
    }
  const usedNonces = new Set(store.listPendingTransactions().map(({ nonce }) => nonce));
  const highest = Math.max(first, ...usedNonces);
  return Array.from({ length: highest - first }, (_, i) => first + i).filter(
    (nonce) => !usedNonces.has(nonce),
  );
}

/** No nonce below the floor is free, according to the stored state. */
function getNonceFloor(store: WalletStore): number {
  return Number(store.getValue("nonce_floor") ?? 0);
}
