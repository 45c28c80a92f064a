import { revertReason, revertText } from "./contracts.ts";
import { type Finding, judgeAuthorization, judgeReceipt } from "./reconcile.ts";
import { type Rpc, RpcRefusal, RpcUnavailable } from "./rpc.ts";
import {
  broadcastOutcome,
  type ChainView,
  type Fees,
  readChain,
  signTransaction,
} from "./transactions.ts";
import type { Signed, StoredJob, WalletLedger } from "./wallet-ledger.ts";

/** The wallet that a pump works for. */
export interface PumpWallet {
  chainId: number;
  address: string;
  privateKey: string;
  rpc: Rpc;
}

/** `busy`: payments wait for the chain. `watching`: all are settled, and may yet be reorganised. */
export type PumpState = "busy" | "watching" | "idle";

/** Nodes bound what one account may have waiting. */
const MAX_UNCONFIRMED = 16;
/** So many blocks on top and a transaction stays, or so long when no block comes. */
const FINAL_BLOCKS = 12;
const FINAL_MS = 10 * 60_000;
/** Past `validBefore` by this much, in seconds, no block that may still come can be earlier. */
const EXPIRY_MARGIN = 30;
/** A transaction that others overtake this long is bid up: in blocks and in seconds of the chain. */
const STUCK_BLOCKS = 3;
const STUCK_SECONDS = 12;
/** A trap of a token must not be able to empty the wallet. */
const MAX_GAS = 1_000_000n;
const TRANSFER_GAS = 21_000n;

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
  if (ledger.open().length === 0 && live(ledger).length === 0) return "idle";
  const hashes = new Set([
    ...ledger.transactions().map(({ hash }) => hash),
    ...ledger
      .open()
      .map(({ transaction }) => transaction)
      .filter((hash) => hash !== ""),
  ]);
  const chain = await readChain(wallet.rpc, wallet.address, [...hashes]);
  if (chain.chainId !== wallet.chainId)
    throw new WrongChain(`the RPC node is on chain ${chain.chainId}, not ${wallet.chainId}`);

  await conclude(ledger, wallet.rpc, chain);
  const reappeared = watchSettled(ledger, chain, hashes);
  expire(ledger, chain);
  await bidUp(ledger, wallet, chain);
  await signWaiting(ledger, wallet, chain);
  await fillGaps(ledger, wallet, chain);
  await broadcast(ledger, wallet.rpc, resend || reappeared);

  const open = ledger.open();
  if (open.some(({ state }) => state !== "settled") || live(ledger).length > 0) return "busy";
  return open.length > 0 ? "watching" : "idle";
}

/** Fails the jobs that were not signed in time: nothing of theirs can reach the chain. */
export function dropUnsigned(ledger: WalletLedger, now: number): void {
  for (const { job, state, signBefore } of ledger.open())
    if (state === "waiting" && signBefore <= now)
      ledger.fail(
        job.id,
        "unexpected_settle_error",
        "The payment could not be sent in time",
        "",
        now,
      );
}

function live(ledger: WalletLedger): Signed[] {
  return ledger.transactions().filter(({ state }) => state !== "mined");
}

/** Takes note of what was mined, by us or by others. */
async function conclude(ledger: WalletLedger, rpc: Rpc, chain: ChainView): Promise<void> {
  for (const signed of live(ledger)) {
    const receipt = chain.receipts.get(signed.hash);
    if (!receipt) continue;
    const stored = signed.jobId === null ? null : ledger.find(signed.jobId);
    const isDecided = stored === null || stored.state === "failed";
    const finding = isDecided ? null : await judgeReceipt(rpc, stored.job, receipt);
    ledger.mined(signed.hash, signed.nonce);
    if (finding && stored) note(ledger, stored, finding);
    if (isDecided) ledger.drop(signed.hash);
  }

  const passed = new Set(
    live(ledger)
      .filter(({ nonce }) => nonce < chain.nonce)
      .map(({ nonce }) => nonce),
  );
  for (const nonce of passed) await concludePassed(ledger, rpc, chain, nonce);
}

/** A nonce that was used by a transaction which is not ours. */
async function concludePassed(
  ledger: WalletLedger,
  rpc: Rpc,
  chain: ChainView,
  nonce: number,
): Promise<void> {
  const signed = live(ledger).filter((one) => one.nonce === nonce);
  // The node that counted it may be ahead of the one that knows the receipt.
  const known = await rpc.many(
    signed.map(({ hash }) => ({ method: "eth_getTransactionByHash", params: [hash] })),
  );
  if (known.some((transaction) => transaction !== null)) return;
  const jobId = signed.at(-1)?.jobId ?? null;
  const stored = jobId === null ? null : ledger.find(jobId);
  if (!stored || stored.state === "failed") return ledger.dropNonce(nonce);
  const finding = await judgeAuthorization(rpc, stored.job, chain.block);
  ledger.dropNonce(nonce);
  if (finding.state === "open") ledger.requeue(stored.job.id, Date.now());
  else note(ledger, stored, finding);
}

function note(ledger: WalletLedger, { job }: StoredJob, finding: Finding): void {
  const now = Date.now();
  if (finding.state === "settled") ledger.settle(job.id, finding.transaction, finding.block, now);
  if (finding.state === "failed") {
    ledger.fail(job.id, finding.reason, finding.message, finding.transaction, now);
    for (const { hash } of ledger.signedFor(job.id)) ledger.drop(hash);
  }
}

/** @returns whether a settled transaction has lost its block and must be sent again */
function watchSettled(ledger: WalletLedger, chain: ChainView, asked: ReadonlySet<string>): boolean {
  let reappeared = false;
  for (const { job, state, transaction, block, changedAt } of ledger.open()) {
    if (state !== "settled" || block === null || !asked.has(transaction)) continue;
    const now = Date.now();
    const receipt = chain.receipts.get(transaction);
    if (receipt) {
      const isDeep = chain.block - receipt.block >= FINAL_BLOCKS;
      if (isDeep || now - changedAt > FINAL_MS) ledger.finish(job.id, now);
    } else if (chain.block >= block) {
      const ours = ledger.signedFor(job.id).find(({ hash }) => hash === transaction);
      if (ours) {
        ledger.mark(ours.hash, "sent");
        ledger.unsettle(job.id, now);
      } else {
        ledger.requeue(job.id, now);
      }
      reappeared = true;
    }
  }
  return reappeared;
}

/** Gives up what the chain would refuse from now on. */
function expire(ledger: WalletLedger, chain: ChainView): void {
  for (const { job, state } of ledger.open()) {
    if (state === "settled" || chain.time < Number(job.validBefore) + EXPIRY_MARGIN) continue;
    const reason =
      job.kind === "eip3009"
        ? "invalid_exact_evm_payload_authorization_valid_before"
        : "permit2_deadline_expired";
    const message = "The authorization expired before a block took it";
    ledger.fail(job.id, reason, message, "", Date.now());
    for (const { hash, state } of ledger.signedFor(job.id))
      if (state === "signed") ledger.drop(hash);
  }
  dropUnsigned(ledger, Date.now());
}

/** Pays more for the transaction that all others wait for, or uses its nonce up when it is void. */
async function bidUp(ledger: WalletLedger, wallet: PumpWallet, chain: ChainView): Promise<void> {
  const head = live(ledger).filter(({ nonce }) => nonce === chain.nonce);
  const last = head.at(-1);
  if (!last) return;
  const isStuck =
    chain.block - last.sinceBlock >= STUCK_BLOCKS && chain.time - last.sinceTime >= STUCK_SECONDS;
  const stored = last.jobId === null ? null : ledger.find(last.jobId);
  const isVoid = last.jobId !== null && stored?.state !== "signed";
  if (!isStuck && !isVoid) return;

  const raise = (paid: bigint, asked: bigint) => {
    const least = (paid * 1125n) / 1000n + 1n;
    return least > asked ? least : asked;
  };
  const fees: Fees = {
    ...chain.fees,
    maxFee: raise(last.maxFee, chain.fees.maxFee),
    tip: raise(last.tip, chain.fees.tip),
  };
  const call =
    stored && !isVoid
      ? { to: stored.job.to, data: stored.job.data, gas: last.gas, jobId: stored.job.id }
      : selfTransfer(wallet);
  await sign(ledger, wallet, chain, { ...call, nonce: last.nonce, fees });
}

function selfTransfer({ address }: PumpWallet) {
  return { to: address, data: "0x", gas: TRANSFER_GAS, jobId: null };
}

/** Signs as many waiting jobs as may be under way, each simulated before it gets a nonce. */
async function signWaiting(
  ledger: WalletLedger,
  wallet: PumpWallet,
  chain: ChainView,
): Promise<void> {
  const free = MAX_UNCONFIRMED - new Set(live(ledger).map(({ nonce }) => nonce)).size;
  const waiting = ledger
    .open()
    .filter(({ state }) => state === "waiting")
    .slice(0, Math.max(free, 0));
  if (waiting.length === 0) return;

  const estimates = await wallet.rpc.many(
    waiting.map(({ job }) => ({
      method: "eth_estimateGas",
      params: [{ from: wallet.address, to: job.to, data: job.data }],
    })),
  );
  let funds = live(ledger).reduce((left, { gas, maxFee }) => left - gas * maxFee, chain.balance);
  for (const [i, { job }] of waiting.entries()) {
    const estimate = estimates[i];
    if (estimate instanceof RpcRefusal) {
      refuse(ledger, job, estimate);
      continue;
    }
    const gas = (BigInt(String(estimate)) * 12n) / 10n;
    const now = Date.now();
    if (gas > MAX_GAS) {
      ledger.fail(job.id, simulationFailed(job.kind), `It would take ${gas} gas`, "", now);
      continue;
    }
    if (funds < gas * chain.fees.maxFee) {
      ledger.fail(job.id, "unexpected_settle_error", UNFUNDED, "", now);
      continue;
    }
    const nonce = freeNonce(ledger, chain);
    await sign(ledger, wallet, chain, { ...job, gas, jobId: job.id, nonce, fees: chain.fees });
    funds -= gas * chain.fees.maxFee;
  }
}

const UNFUNDED = "The facilitator wallet has too little of the native coin for gas";

function simulationFailed(kind: "eip3009" | "permit2"): string {
  return kind === "eip3009"
    ? "invalid_exact_evm_transaction_simulation_failed"
    : "permit2_simulation_failed";
}

function refuse(ledger: WalletLedger, job: StoredJob["job"], refusal: RpcRefusal): void {
  const now = Date.now();
  if (broadcastOutcome(refusal) === "unfunded") {
    ledger.fail(job.id, "unexpected_settle_error", UNFUNDED, "", now);
    return;
  }
  if (!refusal.isRevert)
    throw new RpcUnavailable(`the RPC node refuses: ${refusal.message}`, { cause: refusal });
  const text = revertText(refusal.data, refusal.message);
  ledger.fail(job.id, revertReason(job.kind, text) ?? simulationFailed(job.kind), text, "", now);
}

/** The lowest nonce that nothing of ours holds. */
function freeNonce(ledger: WalletLedger, chain: ChainView): number {
  const held = new Set(ledger.transactions().map(({ nonce }) => nonce));
  const floor = Number(ledger.get("nonce_floor") ?? 0);
  // With nothing of ours on its way, what the node holds is somebody else's with the same key.
  const first = live(ledger).length === 0 ? chain.pendingNonce : chain.nonce;
  let nonce = Math.max(first, floor);
  while (held.has(nonce)) nonce++;
  return nonce;
}

/** A nonce below one that is on its way must be used, or nothing after it moves. */
async function fillGaps(ledger: WalletLedger, wallet: PumpWallet, chain: ChainView): Promise<void> {
  const highest = live(ledger).at(-1)?.nonce ?? -1;
  for (let nonce = freeNonce(ledger, chain); nonce < highest; nonce = freeNonce(ledger, chain))
    await sign(ledger, wallet, chain, { ...selfTransfer(wallet), nonce, fees: chain.fees });
}

interface SignOrder {
  to: string;
  data: string;
  gas: bigint;
  jobId: string | null;
  nonce: number;
  fees: Fees;
}

async function sign(
  ledger: WalletLedger,
  wallet: PumpWallet,
  chain: ChainView,
  { to, data, gas, jobId, nonce, fees }: SignOrder,
): Promise<void> {
  const { chainId, privateKey } = wallet;
  const { raw, hash } = await signTransaction(privateKey, { chainId, nonce, to, data, gas, fees });
  // Signing takes a moment, in which the job's time may have run out.
  if (jobId !== null && ledger.find(jobId)?.state === "failed") return;
  ledger.sign(
    {
      hash,
      nonce,
      jobId,
      raw,
      gas,
      maxFee: fees.maxFee,
      tip: fees.tip,
      state: "signed",
      sinceBlock: chain.block,
      sinceTime: chain.time,
    },
    Date.now(),
  );
}

/** Sends what was not sent yet, in nonce order. From here on a silent node means that it was sent. */
async function broadcast(ledger: WalletLedger, rpc: Rpc, resend: boolean): Promise<void> {
  const due = live(ledger).filter(({ state }) => resend || state === "signed");
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
      ledger.fail(signed.jobId, "unexpected_settle_error", message, "", Date.now());
    }
  }
}
