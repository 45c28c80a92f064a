import type { Rpc } from "./rpc.ts";
import { broadcastOutcome, readChain } from "./transactions.ts";
import { concludeMined, expire, watchDecided } from "./wallet-findings.ts";
import { isDecided, type WalletLedger } from "./wallet-ledger.ts";
import { bidUp, fillGaps, type PumpWallet, signWaiting, UNFUNDED } from "./wallet-signing.ts";

/** `busy`: payments wait for the chain. `watching`: all are decided, and may yet be reorganised. */
export type PumpState = "busy" | "watching" | "idle";

/** The node is on another chain than the one declared: nothing may be signed or concluded. */
export class WrongChain extends Error {
  override name = "WrongChain";
}

/**
 * One round: looks at the chain, concludes what it can, signs what waits, and sends in nonce order.
 * Whatever fails half-way is taken up by the next round from the books.
 *
 * @param resend - sends again what was sent, as after a failure of the node
 * @throws RpcUnavailable, WrongChain
 */
export async function pumpRound(
  ledger: WalletLedger,
  wallet: PumpWallet,
  resend: boolean,
): Promise<PumpState> {
  if (ledger.open().length === 0 && ledger.live().length === 0) return "idle";
  const hashes = ledger.live().map(({ hash }) => hash);
  const chain = await readChain(wallet.rpc, wallet.address, hashes);
  if (chain.chainId !== wallet.chainId)
    throw new WrongChain(`the RPC node is on chain ${chain.chainId}, not ${wallet.chainId}`);

  await concludeMined(ledger, wallet.rpc, chain);
  const reappeared = await watchDecided(ledger, wallet.rpc, chain);
  await expire(ledger, wallet.rpc, chain);
  await bidUp(ledger, wallet, chain);
  await signWaiting(ledger, wallet, chain);
  await fillGaps(ledger, wallet, chain);
  await broadcast(ledger, wallet.rpc, resend || reappeared);

  const open = ledger.open();
  if (!open.every(isDecided) || ledger.live().length > 0) return "busy";
  return open.length > 0 ? "watching" : "idle";
}

/** Sends what was not sent yet, in nonce order. From here on a silent node means that it was sent. */
async function broadcast(ledger: WalletLedger, rpc: Rpc, resend: boolean): Promise<void> {
  const due = ledger.live().filter(({ state }) => resend || state === "signed");
  if (due.length === 0) return;
  const unsent = due.filter(({ state }) => state === "signed");
  for (const { hash } of unsent) ledger.mark(hash, "sent");
  const answers = await rpc.many(
    due.map(({ raw }) => ({ method: "eth_sendRawTransaction", params: [raw] })),
  );
  for (const [i, signed] of due.entries()) {
    const outcome = broadcastOutcome(answers[i]);
    // What was sent before may be in a pool, whatever this node says now.
    if (outcome === "sent" || !unsent.includes(signed)) continue;
    ledger.drop(signed.hash);
    if (signed.jobId === null || ledger.signedFor(signed.jobId).length > 0) continue;
    if (outcome === "underpriced") ledger.requeue(signed.jobId, Date.now());
    else {
      const message = outcome === "unfunded" ? UNFUNDED : "The RPC node refuses the transaction";
      ledger.fail(signed.jobId, "unexpected_settle_error", message, null, Date.now());
    }
  }
}
