/** What a pump signs: settlements, fee bumps for stuck ones, and nonce-gap fillers. */
import type { PrivateKeyAccount } from "viem";
import { log } from "../../log.ts";
import { isUnfunded } from "../evm/broadcast-outcome.ts";
import { revertReason, revertText } from "../evm/contracts.ts";
import * as results from "../evm/results.ts";
import { type Rpc, RpcRefusal } from "../evm/rpc.ts";
import { type ChainView, type Fees, isLegacy, signTransaction } from "../evm/transactions.ts";
import { freeNonce, gaps, isStuck, MAX_UNCONFIRMED } from "./nonces.ts";
import { concludeHanded } from "./receipts.ts";
import type { StoredJob } from "./rows.ts";
import type { WalletStore } from "./store.ts";

/** The wallet that a pump works for. */
export interface PumpWallet {
  chainId: number;
  address: string;
  signer: PrivateKeyAccount;
  rpc: Rpc;
}

/** A malicious token must not be able to drain the wallet. */
const MAX_GAS = 1_000_000n;
const TRANSFER_GAS = 21_000n;

const UNFUNDED = "The facilitator wallet has too little of the native coin for gas";

/** Bumps the fee of the transaction that blocks the others, or uses up its nonce when it is void. */
export async function bidUp(
  ledger: WalletStore,
  wallet: PumpWallet,
  chain: ChainView,
): Promise<void> {
  const head = ledger.live().filter(({ nonce }) => nonce === chain.nonce);
  const last = head.at(-1);
  if (!last) return;
  const stored = last.jobId === null ? null : ledger.find(last.jobId);
  const isVoid = last.jobId !== null && stored?.state !== "signed";
  const isOutbid = last.state === "refused" && last.maxFee < chain.fees.maxFee;
  if (!isStuck(last, chain) && !isVoid && !isOutbid) return;

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
  if (chain.balance < call.gas * fees.maxFee) return;
  await sign(ledger, wallet, chain, { ...call, nonce: last.nonce, fees });
}

/**
 * Replaces the transactions that the chain refused for their type by ones with a gas price and the
 * same nonces. Each nonce gets one replacement, since the newest transaction decides.
 */
export async function signLegacy(
  ledger: WalletStore,
  wallet: PumpWallet,
  chain: ChainView,
): Promise<void> {
  if (!chain.fees.isLegacy) return;
  const newest = new Map(ledger.live().map((signed) => [signed.nonce, signed]));
  for (const { nonce, jobId, gas, raw, state } of newest.values()) {
    if (state !== "refused" || isLegacy(raw)) continue;
    const job = jobId === null ? null : ledger.find(jobId);
    const call =
      job?.state === "signed"
        ? { to: job.job.to, data: job.job.data, gas, jobId }
        : selfTransfer(wallet);
    await sign(ledger, wallet, chain, { ...call, nonce, fees: chain.fees });
  }
}

function selfTransfer({ address }: PumpWallet) {
  return { to: address, data: "0x", gas: TRANSFER_GAS, jobId: null };
}

/** Signs as many waiting jobs as may be in flight, each simulated before it gets a nonce. */
export async function signWaiting(
  ledger: WalletStore,
  wallet: PumpWallet,
  chain: ChainView,
): Promise<void> {
  const free = MAX_UNCONFIRMED - new Set(ledger.live().map(({ nonce }) => nonce)).size;
  const waiting = ledger.waiting(Math.max(free, 0));
  if (waiting.length === 0) return;

  const estimates = await wallet.rpc.many(
    waiting.map(({ job }) => ({
      method: "eth_estimateGas",
      params: [{ from: wallet.address, to: job.to, data: job.data }],
    })),
  );
  let funds = ledger.live().reduce((left, { gas, maxFee }) => left - gas * maxFee, chain.balance);
  for (const [i, stored] of waiting.entries()) {
    const { job } = stored;
    const estimate = estimates[i];
    const gas = (results.quantity.catch(0n).parse(estimate) * 12n) / 10n;
    const failure =
      gas === 0n
        ? withoutEstimate(job, estimate)
        : unaffordable(job, gas, gas * chain.fees.maxFee > funds);
    if (failure === "wait") continue;
    if (failure) {
      // One of its transactions was or may still be mined: then the chain decides.
      if (ledger.isHanded(job.id)) await concludeHanded(ledger, wallet.rpc, chain, stored);
      else ledger.fail(job.id, failure.reason, failure.message, null, Date.now());
      continue;
    }
    const nonce = freeNonce(ledger, chain);
    await sign(ledger, wallet, chain, { ...job, gas, jobId: job.id, nonce, fees: chain.fees });
    funds -= gas * chain.fees.maxFee;
  }
}

interface Failure {
  reason: string;
  message: string;
}

/** Why a settlement that the node does not estimate fails; `wait`: it is retried. */
function withoutEstimate(job: StoredJob["job"], refused: unknown): Failure | "wait" {
  if (!(refused instanceof RpcRefusal)) {
    log("warn", "x402.estimate_refused", { attempt: job.id, error: "the estimate is malformed" });
    return "wait";
  }
  if (refused.isRevert) {
    const message = revertText(refused.data, refused.message);
    return { reason: revertReason(job.kind, message) ?? simulationFailed(job.kind), message };
  }
  if (isUnfunded(refused)) return { reason: "unexpected_settle_error", message: UNFUNDED };
  log("warn", "x402.estimate_refused", { attempt: job.id, error: refused.message });
  return "wait";
}

/** Why the wallet does not pay for a settlement; null when it does. */
function unaffordable(job: StoredJob["job"], gas: bigint, isTooDear: boolean): Failure | null {
  if (gas > MAX_GAS)
    return { reason: simulationFailed(job.kind), message: `It would take ${gas} gas` };
  return isTooDear ? { reason: "unexpected_settle_error", message: UNFUNDED } : null;
}

function simulationFailed(kind: "eip3009" | "permit2"): string {
  return kind === "eip3009"
    ? "invalid_exact_evm_transaction_simulation_failed"
    : "permit2_simulation_failed";
}

/** Uses up the nonces that block pending transactions. */
export async function fillGaps(
  ledger: WalletStore,
  wallet: PumpWallet,
  chain: ChainView,
): Promise<void> {
  for (const nonce of gaps(ledger, chain))
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
  ledger: WalletStore,
  wallet: PumpWallet,
  chain: ChainView,
  { to, data, gas, jobId, nonce, fees }: SignOrder,
): Promise<void> {
  const { chainId, signer } = wallet;
  // Signing is CPU-bound: calls to the object get their turn in between.
  await scheduler.wait(0);
  const { raw, hash } = await signTransaction(signer, { chainId, nonce, to, data, gas, fees });
  // The job's time may have run out during signing.
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
