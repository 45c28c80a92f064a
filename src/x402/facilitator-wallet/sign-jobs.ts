/** Signs settlements, fee bumps of stuck transactions and nonce-gap fillers. */
import { log } from "../../log.ts";
import { isInsufficientFunds } from "../evm/classify-broadcast.ts";
import { findX402Reason, toRevertReason } from "../evm/contracts.ts";
import { encodeL1FeeCall, readL1Fee } from "../evm/l1-fee.ts";
import { type RpcCall, RpcRefusal } from "../evm/rpc.ts";
import * as results from "../evm/rpc-results.ts";
import { type Fees, isLegacyTransaction, signTransaction } from "../evm/transactions.ts";
import type { PaymentFailure } from "../model/messages.ts";
import { findFreeNonce, findNonceGaps, isStuck, MAX_PENDING_TRANSACTIONS } from "./nonces.ts";
import { reconcileSentJob } from "./reconcile-jobs.ts";
import type { Round, SigningWallet } from "./round.ts";
import type { StoredJob } from "./stored-job.ts";
import type { WalletStore } from "./wallet-store.ts";

/** A malicious token must not be able to drain the wallet. */
const MAX_GAS = 1_000_000n;
const TRANSFER_GAS = 21_000n;

const UNFUNDED_MESSAGE =
  "The facilitator wallet cannot pay for gas. Fund the wallet with the native coin.";

/** Bumps the fee of the blocking transaction, or replaces a void one with a self-transfer. */
export async function bumpFee(round: Round): Promise<void> {
  const { store, wallet, chain } = round;
  const head = store.listPendingTransactions().filter(({ nonce }) => nonce === chain.nonce);
  const last = head.at(-1);
  if (!last) return;
  const stored = last.jobId === null ? null : store.findJob(last.jobId);
  const isVoid = last.jobId !== null && stored?.state !== "signed";
  const isOutbid = last.state === "refused" && last.maxFee < chain.fees.maxFee;
  if (!isStuck(last, chain) && !isVoid && !isOutbid) return;

  const raiseFee = (paid: bigint, current: bigint) => {
    const minimum = (paid * 1125n) / 1000n + 1n;
    return minimum > current ? minimum : current;
  };
  const fees: Fees = {
    ...chain.fees,
    maxFee: raiseFee(last.maxFee, chain.fees.maxFee),
    tip: raiseFee(last.tip, chain.fees.tip),
  };
  const job = isVoid ? undefined : stored?.job;
  const limit = job ? toFeeLimit(store, job, last.gas) : null;
  // A settlement whose fee cannot rise within its reservation frees its nonce.
  const isTooDear = limit !== null && limit < raiseFee(last.maxFee, 0n);
  const request =
    job && !isTooDear
      ? { ...job, gas: last.gas, jobId: job.id, fees: limitFees(fees, limit) }
      : { ...createSelfTransfer(wallet), fees };
  if (chain.balance < request.gas * request.fees.maxFee) return;
  await signAndStore(round, { ...request, nonce: last.nonce });
}

/**
 * Replaces the transactions that the chain refused for their type by ones with a gas price and the
 * same nonces. Each nonce gets one replacement, since the newest transaction decides.
 */
export async function signLegacyReplacements(round: Round): Promise<void> {
  const { store, wallet, chain } = round;
  if (!chain.fees.isLegacy) return;
  const newest = new Map(store.listPendingTransactions().map((signed) => [signed.nonce, signed]));
  for (const { nonce, jobId, gas, rawTransaction: raw, state } of newest.values()) {
    if (state !== "refused" || isLegacyTransaction(raw)) continue;
    const job = jobId === null ? null : store.findJob(jobId);
    const call =
      job?.state === "signed" && !isBeyond(store, job.job, gas, chain.fees)
        ? { to: job.job.to, data: job.job.data, gas, jobId }
        : createSelfTransfer(wallet);
    await signAndStore(round, { ...call, nonce, fees: chain.fees });
  }
}

function createSelfTransfer({ address }: SigningWallet) {
  return { to: address, data: "0x", gas: TRANSFER_GAS, jobId: null };
}

/** The waiting jobs that may get a nonce now, oldest first. */
export function listSignableJobs(store: WalletStore): StoredJob[] {
  const free =
    MAX_PENDING_TRANSACTIONS -
    new Set(store.listPendingTransactions().map(({ nonce }) => nonce)).size;
  return store.listWaitingJobs(Math.max(free, 0));
}

/** Asks a node to run a job's call, and for its gas. */
export function encodeGasEstimate(
  { address }: SigningWallet,
  { to, data }: StoredJob["job"],
): RpcCall {
  return { method: "eth_estimateGas", params: [{ from: address, to, data }] };
}

/**
 * Signs as many waiting jobs as may be in flight, each simulated before it gets a nonce.
 *
 * @param known - the node's answers about waiting jobs
 */
export async function signWaitingJobs(
  round: Round,
  known: ReadonlyMap<string, unknown | RpcRefusal>,
): Promise<void> {
  const { store, wallet, chain } = round;
  const waiting = listSignableJobs(store);
  if (waiting.length === 0) return;

  const others = waiting.filter(({ job }) => !known.has(job.id));
  const answers = await wallet.rpc.callBatch(
    others.map(({ job }) => encodeGasEstimate(wallet, job)),
  );
  const estimates = new Map([
    ...known,
    ...others.map(({ job }, i) => [job.id, answers[i]] as const),
  ]);
  const l1Fees = await readL1Fees(wallet, waiting);
  let funds = store
    .listPendingTransactions()
    .reduce((left, { gas, maxFee }) => left - gas * maxFee, chain.balance);
  for (const stored of waiting) {
    const { job } = stored;
    const estimate = estimates.get(job.id);
    const gas = (results.quantity.catch(0n).parse(estimate) * 12n) / 10n;
    const failure =
      gas === 0n
        ? explainMissingEstimate(job, estimate)
        : checkGasCost(store, job, gas, chain.fees, funds, l1Fees.get(job.id));
    if (failure === "wait") continue;
    if (failure) {
      // A transaction of the job may be mined: then the chain decides.
      if (store.wasJobSent(job.id))
        await reconcileSentJob(round, stored, failure === TOO_DEAR && failure);
      else store.recordFailedJob(job.id, failure.reason, failure.message, null, Date.now());
      continue;
    }
    const nonce = findFreeNonce(store, chain);
    await signAndStore(round, {
      ...job,
      gas,
      jobId: job.id,
      nonce,
      fees: chain.fees,
    });
    funds -= gas * chain.fees.maxFee;
  }
}

/** The answer to a payment with a permit that costs more than was reserved. */
const TOO_DEAR: PaymentFailure = {
  reason: "permit2_allowance_required",
  message: "The gas of a permit costs too much",
};

/** Why a settlement has no gas estimate. `wait`: try again. */
function explainMissingEstimate(job: StoredJob["job"], refused: unknown): PaymentFailure | "wait" {
  if (!(refused instanceof RpcRefusal)) {
    log("warn", "x402.estimate_refused", { attempt: job.id, error: "the estimate is malformed" });
    return "wait";
  }
  if (refused.isRevert) {
    const message = toRevertReason(refused.data, refused.message);
    return { reason: findX402Reason(job.kind, message) ?? toSimulationReason(job.kind), message };
  }
  if (isInsufficientFunds(refused))
    return { reason: "unexpected_settle_error", message: UNFUNDED_MESSAGE };
  log("warn", "x402.estimate_refused", { attempt: job.id, error: refused.message });
  return "wait";
}

/** What a rollup charges now for the jobs that reserved such a fee, by their ids. Null: the node does not say. */
async function readL1Fees(
  { rpc, chainId }: SigningWallet,
  waiting: readonly StoredJob[],
): Promise<Map<string, bigint | null>> {
  const charged = waiting.filter(({ job }) => job.maxL1Fee !== undefined);
  const answers = await rpc.callBatch(charged.map(({ job }) => encodeL1FeeCall(chainId, job)));
  return new Map(charged.map(({ job }, i) => [job.id, readL1Fee(answers[i])]));
}

/**
 * Why the wallet cannot pay for a settlement. Null: it can. `wait`: try again.
 *
 * @param l1Fee - of a rollup, in wei; null: not known. Undefined: none
 */
function checkGasCost(
  store: WalletStore,
  job: StoredJob["job"],
  gas: bigint,
  fees: Fees,
  funds: bigint,
  l1Fee: bigint | null = 0n,
): PaymentFailure | "wait" | null {
  if (gas > MAX_GAS)
    return {
      reason: toSimulationReason(job.kind),
      message: `The transaction would need ${gas} gas`,
    };
  if (l1Fee === null) return "wait";
  if (isBeyond(store, job, gas, fees) || l1Fee > BigInt(job.maxL1Fee ?? 0)) return TOO_DEAR;
  return gas * fees.maxFee + l1Fee > funds
    ? { reason: "unexpected_settle_error", message: UNFUNDED_MESSAGE }
    : null;
}

/**
 * The highest fee at which a settlement with a permit costs what was reserved and is not spent. Null: no limit.
 */
function toFeeLimit(
  store: WalletStore,
  { id, maxCost, maxL1Fee = "0" }: StoredJob["job"],
  gas: bigint,
): bigint | null {
  if (maxCost === undefined) return null;
  return (BigInt(maxCost) - BigInt(maxL1Fee) - sumFreedNonces(store, id)) / gas;
}

/** The most that the transactions which freed nonces of a job have cost, in wei. */
function sumFreedNonces(store: WalletStore, jobId: string): bigint {
  const costs = new Map<number, bigint>();
  for (const { nonce, freedJobId, gas, maxFee } of store.listPaidTransactions(jobId)) {
    const cost = gas * maxFee;
    if (freedJobId !== null && cost > (costs.get(nonce) ?? 0n)) costs.set(nonce, cost);
  }
  return [...costs.values()].reduce((sum, cost) => sum + cost, 0n);
}

function isBeyond(
  store: WalletStore,
  job: StoredJob["job"],
  gas: bigint,
  { maxFee }: Fees,
): boolean {
  const limit = toFeeLimit(store, job, gas);
  return limit !== null && maxFee > limit;
}

function limitFees(fees: Fees, limit: bigint | null): Fees {
  if (limit === null || fees.maxFee <= limit) return fees;
  return { ...fees, maxFee: limit, tip: fees.tip < limit ? fees.tip : limit };
}

function toSimulationReason(kind: "eip3009" | "permit2"): string {
  return kind === "eip3009"
    ? "invalid_exact_evm_transaction_simulation_failed"
    : "permit2_simulation_failed";
}

/** Uses up the nonces that block pending transactions. */
export async function fillNonceGaps(round: Round): Promise<void> {
  const { store, wallet, chain } = round;
  for (const nonce of findNonceGaps(store, chain))
    await signAndStore(round, {
      ...createSelfTransfer(wallet),
      nonce,
      fees: chain.fees,
    });
}

interface SigningRequest {
  to: string;
  data: string;
  gas: bigint;
  jobId: string | null;
  nonce: number;
  fees: Fees;
}

async function signAndStore(
  { store, wallet: { chainId, signer }, chain }: Round,
  { to, data, gas, jobId, nonce, fees }: SigningRequest,
): Promise<void> {
  // Signing is CPU-bound, so other calls to the object run in between.
  await scheduler.wait(0);
  const { raw, hash } = await signTransaction(signer, { chainId, nonce, to, data, gas, fees });
  // The job may have expired during signing.
  if (jobId !== null && store.getJobStatus(jobId).state === "failed") return;
  store.storeTransaction(
    {
      hash,
      nonce,
      jobId,
      freedJobId: jobId === null ? store.findLimitedJobAt(nonce) : null,
      rawTransaction: raw,
      gas,
      maxFee: fees.maxFee,
      tip: fees.tip,
      state: "signed",
      signedAtBlock: chain.blockNumber,
      signedAtSeconds: chain.blockTimestamp,
    },
    Date.now(),
  );
}
