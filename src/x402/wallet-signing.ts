/** What a pump signs: settlements, dearer ones for those that are stuck, and fillers of gaps. */
import { log } from "../log.ts";
import { revertReason, revertText } from "./contracts.ts";
import { type Rpc, RpcRefusal } from "./rpc.ts";
import { broadcastOutcome, type ChainView, type Fees, signTransaction } from "./transactions.ts";
import type { Signed, StoredJob, WalletLedger } from "./wallet-ledger.ts";

/** The wallet that a pump works for. */
export interface PumpWallet {
  chainId: number;
  address: string;
  privateKey: string;
  rpc: Rpc;
}

/** Nodes bound what one account may have waiting. */
const MAX_UNCONFIRMED = 16;
/** A transaction that others overtake this long is bid up: in blocks and in seconds of the chain. */
const STUCK_BLOCKS = 3;
const STUCK_SECONDS = 12;
/** A trap of a token must not be able to empty the wallet. */
const MAX_GAS = 1_000_000n;
const TRANSFER_GAS = 21_000n;

export const UNFUNDED = "The facilitator wallet has too little of the native coin for gas";

/** Pays more for the transaction that all others wait for, or uses its nonce up when it is void. */
export async function bidUp(
  ledger: WalletLedger,
  wallet: PumpWallet,
  chain: ChainView,
): Promise<void> {
  const head = ledger.live().filter(({ nonce }) => nonce === chain.nonce);
  const last = head.at(-1);
  if (!last) return;
  const stored = last.jobId === null ? null : ledger.find(last.jobId);
  const isVoid = last.jobId !== null && stored?.state !== "signed";
  if (!isStuck(last, chain) && !isVoid) return;

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

function isStuck({ sinceBlock, sinceTime }: Signed, { block, time }: ChainView): boolean {
  return block - sinceBlock >= STUCK_BLOCKS && time - sinceTime >= STUCK_SECONDS;
}

function selfTransfer({ address }: PumpWallet) {
  return { to: address, data: "0x", gas: TRANSFER_GAS, jobId: null };
}

/** Signs as many waiting jobs as may be under way, each simulated before it gets a nonce. */
export async function signWaiting(
  ledger: WalletLedger,
  wallet: PumpWallet,
  chain: ChainView,
): Promise<void> {
  const free = MAX_UNCONFIRMED - new Set(ledger.live().map(({ nonce }) => nonce)).size;
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
  let funds = ledger.live().reduce((left, { gas, maxFee }) => left - gas * maxFee, chain.balance);
  for (const [i, { job }] of waiting.entries()) {
    const estimate = estimates[i];
    if (estimate instanceof RpcRefusal) {
      refuse(ledger, job, estimate);
      continue;
    }
    const gas = (BigInt(String(estimate)) * 12n) / 10n;
    const now = Date.now();
    if (gas > MAX_GAS) {
      ledger.fail(job.id, simulationFailed(job.kind), `It would take ${gas} gas`, null, now);
      continue;
    }
    if (funds < gas * chain.fees.maxFee) {
      ledger.fail(job.id, "unexpected_settle_error", UNFUNDED, null, now);
      continue;
    }
    const nonce = freeNonce(ledger, chain);
    await sign(ledger, wallet, chain, { ...job, gas, jobId: job.id, nonce, fees: chain.fees });
    funds -= gas * chain.fees.maxFee;
  }
}

/** A settlement that the node would not estimate; the others go on. */
function refuse(ledger: WalletLedger, job: StoredJob["job"], refusal: RpcRefusal): void {
  const now = Date.now();
  if (refusal.isRevert) {
    const text = revertText(refusal.data, refusal.message);
    ledger.fail(
      job.id,
      revertReason(job.kind, text) ?? simulationFailed(job.kind),
      text,
      null,
      now,
    );
  } else if (broadcastOutcome(refusal) === "unfunded") {
    ledger.fail(job.id, "unexpected_settle_error", UNFUNDED, null, now);
  } else {
    // It waits, and is asked about again until its time is up.
    log("warn", "x402.estimate_refused", { attempt: job.id, error: refusal.message });
  }
}

function simulationFailed(kind: "eip3009" | "permit2"): string {
  return kind === "eip3009"
    ? "invalid_exact_evm_transaction_simulation_failed"
    : "permit2_simulation_failed";
}

/** The lowest nonce that nothing of ours holds. */
function freeNonce(ledger: WalletLedger, chain: ChainView): number {
  const held = new Set(ledger.transactions().map(({ nonce }) => nonce));
  const floor = Number(ledger.get("nonce_floor") ?? 0);
  // With nothing of ours on its way, what the node holds is somebody else's with the same key.
  const first = ledger.live().length === 0 ? chain.pendingNonce : chain.nonce;
  let nonce = Math.max(first, floor);
  while (held.has(nonce)) nonce++;
  return nonce;
}

/** A nonce below one that is on its way must be used, or nothing after it moves. */
export async function fillGaps(
  ledger: WalletLedger,
  wallet: PumpWallet,
  chain: ChainView,
): Promise<void> {
  const [lowest] = ledger.live();
  // A node that lags behind would have caught up by now: a reorganisation gave nonces back.
  if (lowest && lowest.nonce > chain.nonce && isStuck(lowest, chain))
    ledger.set("nonce_floor", String(chain.nonce));
  const highest = ledger.live().at(-1)?.nonce ?? -1;
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
