/** The next nonce, and how far a node's count of the wallet's transactions is trusted. */
import type { ChainView } from "../evm/transactions.ts";
import type { Signed } from "./rows.ts";
import type { WalletStore } from "./store.ts";

/** Nodes limit an account's pending transactions. */
export const MAX_UNCONFIRMED = 16;
/** A transaction left out of blocks this long is stuck: in blocks and in seconds of chain time. */
const STUCK_BLOCKS = 3;
const STUCK_SECONDS = 12;

export function isStuck({ sinceBlock, sinceTime }: Signed, { block, time }: ChainView): boolean {
  return block - sinceBlock >= STUCK_BLOCKS && time - sinceTime >= STUCK_SECONDS;
}

/**
 * The chain as far as the stored state explains it. A count more than `MAX_UNCONFIRMED` beyond the
 * wallet's own nonces is replaced by the stored count until `confirmCount`. The next transaction uses
 * the stored nonce, which shows which count is right.
 */
export function explained(ledger: WalletStore, chain: ChainView): ChainView {
  const live = ledger.live();
  const used = nonceFloor(ledger);
  const lowest = Math.min(used, ...live.map(({ nonce }) => nonce));
  const next = Math.max(used, ...live.map(({ nonce }) => nonce + 1));
  const nonce = chain.nonce > next + MAX_UNCONFIRMED ? lowest : chain.nonce;
  const most = Math.max(next, nonce) + MAX_UNCONFIRMED;
  return { ...chain, nonce, pendingNonce: chain.pendingNonce > most ? nonce : chain.pendingNonce };
}

/**
 * Accepts a node's count: it has rejected a transaction because its nonce is used, or no block has
 * included that one.
 */
export function confirmCount(ledger: WalletStore, { nonce }: ChainView): void {
  ledger.set("nonce_floor", String(Math.max(nonceFloor(ledger), nonce)));
}

/** The lowest nonce that none of our transactions uses. */
export function freeNonce(ledger: WalletStore, chain: ChainView): number {
  const held = ledger.heldNonces();
  // When we have nothing pending, another program with the same key sent what the node has pending.
  const first = ledger.live().length === 0 ? chain.pendingNonce : chain.nonce;
  let nonce = Math.max(first, nonceFloor(ledger));
  while (held.has(nonce)) nonce++;
  return nonce;
}

/**
 * The nonce gap below a pending transaction, which must be filled before anything after it can be
 * mined. Transactions beyond a gap wider than `MAX_UNCONFIRMED` are given up, and their payments
 * signed anew.
 */
export function gaps(ledger: WalletStore, chain: ChainView): number[] {
  const [lowest] = ledger.live();
  // A lagging node would have caught up by now: a re-org freed nonces.
  if (lowest && lowest.nonce > chain.nonce && isStuck(lowest, chain))
    ledger.set("nonce_floor", String(chain.nonce));
  const first = freeNonce(ledger, chain);
  for (const { nonce, jobId } of ledger.live())
    if (nonce > first + MAX_UNCONFIRMED) {
      ledger.loseNonce(nonce);
      if (jobId !== null && ledger.find(jobId)?.state === "signed")
        ledger.requeue(jobId, Date.now());
    }
  const held = new Set(ledger.live().map(({ nonce }) => nonce));
  const highest = Math.max(first, ...held);
  return Array.from({ length: highest - first }, (_, i) => first + i).filter(
    (nonce) => !held.has(nonce),
  );
}

/** No nonce below it is free, as far as the stored state shows. */
function nonceFloor(ledger: WalletStore): number {
  return Number(ledger.get("nonce_floor") ?? 0);
}
