import { broadcastOutcome } from "../evm/broadcast-outcome.ts";
import type { Rpc } from "../evm/rpc.ts";
import { type ChainView, isLegacy, readChain } from "../evm/transactions.ts";
import { confirmCount, explained, isStuck } from "./nonces.ts";
import { concludeMined, expire, watchDecided } from "./receipts.ts";
import { bidUp, fillGaps, type PumpWallet, signLegacy, signWaiting } from "./signing.ts";
import type { WalletStore } from "./store.ts";

/** `busy`: payments wait for the chain. `watching`: all are decided, but a re-org may undo them. */
export type PumpState = "busy" | "watching" | "idle";

/** The node is on a different chain than declared: nothing may be signed or concluded. */
export class WrongChain extends Error {
  override name = "WrongChain";
}

/**
 * One round: reads the chain, concludes what it can, signs waiting jobs, and sends in nonce order.
 * The next round resumes from the stored state whatever fails half-way.
 *
 * @param resend - sends again what was sent, as after a failure of the node
 * @throws RpcUnavailable, WrongChain
 */
export async function pumpRound(
  ledger: WalletStore,
  wallet: PumpWallet,
  resend: boolean,
): Promise<PumpState> {
  if (stateOf(ledger) === "idle") return "idle";
  const hashes = ledger.unmined().map(({ hash }) => hash);
  const takesOnlyLegacy = ledger.get("only_legacy") !== null;
  const told = await readChain(wallet.rpc, wallet.address, hashes, takesOnlyLegacy);
  if (told.chainId !== wallet.chainId)
    throw new WrongChain(`the RPC node is on chain ${told.chainId}, not ${wallet.chainId}`);
  const chain = explained(ledger, told);

  await concludeMined(ledger, wallet.rpc, chain);
  const reappeared = await watchDecided(ledger, wallet.rpc, chain);
  await expire(ledger, wallet.rpc, chain);
  await signLegacy(ledger, wallet, chain);
  await bidUp(ledger, wallet, chain);
  await signWaiting(ledger, wallet, chain);
  await fillGaps(ledger, wallet, chain);
  const isStale = await broadcast(ledger, wallet.rpc, chain, resend || reappeared);
  const [head] = ledger.live();
  if (chain.nonce < told.nonce && (isStale || (head && isStuck(head, chain))))
    confirmCount(ledger, told);

  return stateOf(ledger);
}

function stateOf(ledger: WalletStore): PumpState {
  if (ledger.has("undecided") || ledger.live().length > 0) return "busy";
  return ledger.has("decided") ? "watching" : "idle";
}

/**
 * Sends what was not sent yet, in nonce order, and once per block what was refused. From here on
 * the node counts as having it, whatever it answers: it may have kept what it refused or did not
 * answer.
 *
 * @returns whether one that no node had yet is refused because its nonce is used
 */
async function broadcast(
  ledger: WalletStore,
  rpc: Rpc,
  chain: ChainView,
  resend: boolean,
): Promise<boolean> {
  const isNewBlock = ledger.get("offered") !== chain.blockHash;
  const due = ledger
    .live()
    .filter(({ state }) => resend || state === "signed" || (state === "refused" && isNewBlock));
  if (due.length === 0) return false;
  ledger.set("offered", chain.blockHash);
  for (const { hash, state } of due) if (state === "signed") ledger.mark(hash, "sent");
  const answers = await rpc.many(
    due.map(({ raw }) => ({ method: "eth_sendRawTransaction", params: [raw] })),
  );
  let isStale = false;
  for (const [i, { hash, raw, state }] of due.entries()) {
    const outcome = broadcastOutcome(answers[i]);
    const isRefused = outcome === "refused" || outcome === "unsupported";
    // What was sent before may be in a mempool, whatever this node says now.
    if (state !== "sent") ledger.mark(hash, isRefused ? "refused" : "sent");
    if (outcome === "unsupported" && !isLegacy(raw)) ledger.set("only_legacy", "1");
    isStale ||= state === "signed" && outcome === "stale";
  }
  return isStale;
}
