/** Reads results from the chain: mined, orphaned and expired jobs. */
import { log } from "../../log.ts";
import { EXPIRED_REASONS, EXPIRY_MARGIN_SECONDS, FINALITY_BLOCKS } from "../evm/finality.ts";
import { RpcRefusal } from "../evm/rpc.ts";
import {
  type ChainSnapshot,
  fetchGasCosts,
  fetchReceipt,
  type Receipt,
} from "../evm/transactions.ts";
import type { PaymentFailure } from "../model/messages.ts";
import {
  type BlockRange,
  reconcileAuthorization,
  reconcileReceipt,
  type SettlementFinding,
} from "./reconcile-authorization.ts";
import type { Round } from "./round.ts";
import {
  type BlockInclusion,
  isDecided,
  type SignedTransaction,
  type StoredJob,
} from "./stored-job.ts";
import type { WalletStore } from "./wallet-store.ts";
import { hasFinality, readWatchedBlocks } from "./watched-blocks.ts";

/** Ids of the jobs that have pending transactions with a nonce. */
function listJobsAt(store: WalletStore, nonce: number): string[] {
  return store
    .listPendingTransactions()
    .flatMap((one) => (one.nonce === nonce && one.jobId !== null ? one.jobId : []));
}

/** Records mined transactions and used nonces. */
export async function reconcileMinedTransactions(round: Round): Promise<void> {
  const { store, chain } = round;
  for (const signed of store.listUnminedTransactions()) {
    const receipt = chain.receipts.get(signed.hash);
    if (!receipt) continue;
    if (signed.jobId === null) {
      reconcileSelfTransfer(store, signed);
      continue;
    }
    const stored = store.findJob(signed.jobId);
    if (!stored || stored.state === "settled") {
      store.recordMinedTransaction(signed.hash, signed.nonce);
      // Its cost is read once the job is final.
      if (stored?.job.maxCost === undefined) store.deleteTransaction(signed.hash);
      continue;
    }
    // A revert is final only if the node's count includes it.
    if (!receipt.isSuccessful && signed.nonce >= chain.nonce) continue;
    const finding = await reconcileJob(round, stored, receipt);
    if (finding.state === "unclear") continue;
    store.postponeWrites(() => {
      store.recordMinedTransaction(signed.hash, signed.nonce);
      if (!isDecided(stored) || hasSettledSince(stored, finding))
        recordFinding(store, stored, finding);
    });
  }

  const passed = new Set(
    store
      .listPendingTransactions()
      .filter(({ nonce, hash }) => nonce < chain.nonce && !chain.receipts.has(hash))
      .map(({ nonce }) => nonce),
  );
  for (const nonce of passed) await reconcileForeignNonce(round, nonce);
}

/** Handles a self-transfer that was mined: it may have freed the nonce of a settlement whose fee could not rise. */
function reconcileSelfTransfer(store: WalletStore, signed: SignedTransaction): void {
  const isPending = store.listPendingTransactions().some(({ nonce }) => nonce === signed.nonce);
  // It is known to be mined.
  if (signed.state === "lost" && !isPending) return;
  const freed = listJobsAt(store, signed.nonce);
  store.recordMinedSelfTransfer(signed);
  for (const id of freed)
    if (store.findJob(id)?.state === "signed") store.requeueJob(id, Date.now());
}

/** Handles a nonce that a foreign transaction used. */
async function reconcileForeignNonce(round: Round, nonce: number): Promise<void> {
  const { store, wallet } = round;
  const signed = store.listPendingTransactions().filter((one) => one.nonce === nonce);
  // The node that counted it may be ahead of the one that serves the receipt.
  const known = await wallet.rpc.callBatch(
    signed.map(({ hash }) => ({ method: "eth_getTransactionByHash", params: [hash] })),
  );
  if (known.some((transaction) => transaction !== null)) return;
  const jobId = signed.at(-1)?.jobId ?? null;
  const stored = jobId === null ? null : store.findJob(jobId);
  if (!stored || isDecided(stored)) return store.markNonceLost(nonce);
  const finding = await reconcileJob(round, stored);
  if (finding.state === "unclear") return;
  store.markNonceLost(nonce);
  if (finding.state === "open") store.requeueJob(stored.job.id, Date.now());
  else recordFinding(store, stored, finding);
}

/**
 * Reconciles a job that was sent and cannot be sent again.
 *
 * @param failure - ends a job that the chain has not decided. A re-org may still settle the job
 */
export async function reconcileSentJob(
  round: Round,
  stored: StoredJob,
  failure: PaymentFailure | false,
): Promise<void> {
  const { store, chain } = round;
  const finding = await reconcileJob(round, stored);
  if (finding.state !== "open" || !failure) return recordFinding(store, stored, finding);
  const { reason, message } = failure;
  store.recordFailedJob(stored.job.id, reason, message, toCurrentPlace(chain), Date.now());
}

/** The place of a decision that no transaction made. */
function toCurrentPlace({ blockNumber: block, blockHash }: ChainSnapshot): BlockInclusion {
  return { transaction: "", block, blockHash };
}

/**
 * Reconciles a job by one of its receipts, or else by its authorization. A node's refusal about one job holds
 * up only that job.
 *
 * @param lookup - a receipt, or the call that reads one: its refusal holds up only the job as well
 */
async function reconcileJob(
  { store, wallet: { rpc }, chain }: Round,
  stored: StoredJob,
  lookup: Receipt | Promise<Receipt | null> | null = null,
): Promise<SettlementFinding> {
  const { job } = stored;
  try {
    const receipt = await lookup;
    const signed = store.listJobTransactions(job.id);
    const span = toBlockRange(chain, stored, signed, receipt?.blockNumber);
    return await (receipt
      ? reconcileReceipt(rpc, job, receipt, span)
      : reconcileAuthorization(rpc, job, span));
  } catch (error) {
    if (!(error instanceof RpcRefusal)) throw error;
    log("warn", "x402.job_undecided", { attempt: job.id, error: error.message });
    return { state: "unclear" };
  }
}

/** Reconciles a decided job from the beginning. */
function reconcileFromStart(round: Round, stored: StoredJob): Promise<SettlementFinding> {
  const { transaction } = stored;
  const receipt = transaction === "" ? null : fetchReceipt(round.wallet.rpc, transaction);
  return reconcileJob(round, stored, receipt);
}

/**
 * The blocks since a job was signed, and a few more in case of a re-org.
 *
 * @param since - height of the block from which on nodes had time to catch up
 */
function toBlockRange(
  chain: ChainSnapshot,
  { changedAt }: StoredJob,
  signed: readonly SignedTransaction[],
  since?: number,
): BlockRange {
  const first = Math.min(chain.blockNumber, ...signed.map(({ signedAtBlock }) => signedAtBlock));
  return {
    from: Math.max(first - FINALITY_BLOCKS, 0),
    to: chain.blockNumber,
    toHash: chain.blockHash,
    isOld: hasFinality(chain, since ?? first, changedAt),
  };
}

function recordFinding(store: WalletStore, { job }: StoredJob, finding: SettlementFinding): void {
  const now = Date.now();
  if (finding.state === "settled") store.recordSettledJob(job.id, finding, now);
  if (finding.state === "failed")
    store.recordFailedJob(job.id, finding.reason, finding.message, finding.inclusion, now);
}

/** Whether the chain settled a job that was failed. */
function hasSettledSince({ state }: StoredJob, finding: SettlementFinding): boolean {
  return state === "failed" && finding.state === "settled";
}

/**
 * Compares the blocks that decided jobs with the chain, once per new block, until they are deep
 * enough. Failed ones are checked anew each time: a node may have answered wrongly.
 *
 * @returns whether one has lost its block and must be sent again
 */
export async function watchDecidedJobs(round: Round): Promise<boolean> {
  const { store, wallet, chain } = round;
  const watched = store.listOpenJobs("decided");
  if (watched.length === 0) return false;
  const isNewBlock = store.watchedAtBlock !== chain.blockHash;
  const hashes = isNewBlock ? await readWatchedBlocks(store, wallet.rpc, chain, watched) : null;
  let reappeared = false;
  for (const stored of watched) {
    const { job, state, block, blockHash, changedAt } = stored;
    if (block === null || chain.blockNumber < block) continue;
    if (hashes && hashes.get(block) !== blockHash) {
      reappeared = (await handleOrphanedBlock(round, stored)) || reappeared;
      continue;
    }
    const isDue = hasFinality(chain, block, changedAt);
    if (state === "failed" && (isNewBlock || isDue)) {
      const finding = await reconcileFromStart(round, stored);
      if (hasSettledSince(stored, finding)) recordFinding(store, stored, finding);
      if (
        hasSettledSince(stored, finding) ||
        finding.state === "unclear" ||
        !isUnminable(round, job)
      )
        continue;
    }
    const cost = isDue ? await readFinalCost(round, stored) : null;
    if (cost !== null) store.finalizeJob(job.id, Date.now(), cost);
  }
  store.watchedAtBlock = chain.blockHash;
  return reappeared;
}

/**
 * What the transactions of a decided job have cost, in wei. Only the cost of a job with a limit is read: it
 * is 0 for others. Null: not final yet.
 */
async function readFinalCost(
  { store, wallet, chain }: Round,
  { job, changedAt }: StoredJob,
): Promise<bigint | null> {
  if (job.maxCost === undefined) return 0n;
  const signed = store.listPaidTransactions(job.id);
  const isEnded = ({ state, nonce }: SignedTransaction) =>
    state === "lost" || (state === "mined" && nonce < chain.nonce);
  if (!signed.every(isEnded)) return null;
  const costs = await fetchGasCosts(wallet.rpc, signed);
  if (!costs?.every(({ block }) => hasFinality(chain, block, changedAt))) return null;
  return costs.reduce((sum, { wei }) => sum + wei, 0n);
}

/** Whether no transaction of the job can still be mined. */
function isUnminable({ store, chain }: Round, job: StoredJob["job"]): boolean {
  const isBehind = ({ nonce }: SignedTransaction) => nonce < chain.nonce;
  return isExpired(job, chain) || store.listJobTransactions(job.id).every(isBehind);
}

/** Handles a job whose block was orphaned. @returns whether the job must be sent again */
async function handleOrphanedBlock(round: Round, stored: StoredJob): Promise<boolean> {
  const { store } = round;
  const { job } = stored;
  const finding = await reconcileFromStart(round, stored);
  if (finding.state !== "open") {
    recordFinding(store, stored, finding);
    return false;
  }
  const now = Date.now();
  const ours = store.listJobTransactions(job.id);
  for (const { hash, state } of ours)
    if (state === "mined") store.setTransactionState(hash, "sent");
  if (ours.some(({ state }) => state !== "lost")) store.reopenJob(job.id, now);
  else store.requeueJob(job.id, now);
  return true;
}

function isExpired(
  { validBefore }: StoredJob["job"],
  { blockTimestamp: time }: ChainSnapshot,
): boolean {
  return time >= Number(validBefore) + EXPIRY_MARGIN_SECONDS;
}

/** Fails expired jobs, unless a block included them in time. */
export async function expireJobs(round: Round): Promise<void> {
  const { store, chain } = round;
  for (const stored of store.listOpenJobs("undecided")) {
    const { job } = stored;
    if (!isExpired(job, chain)) continue;
    const wasSent = store.wasJobSent(job.id);
    const finding = wasSent ? await reconcileJob(round, stored) : ({ state: "open" } as const);
    if (finding.state === "unclear") continue;
    if (finding.state === "open") {
      const message = "The authorization expired before a block included the transaction";
      store.recordFailedJob(
        job.id,
        EXPIRED_REASONS[job.kind],
        message,
        wasSent ? toCurrentPlace(chain) : null,
        Date.now(),
      );
    } else recordFinding(store, stored, finding);
    for (const { hash, state } of store.listJobTransactions(job.id))
      if (state === "signed") store.deleteTransaction(hash);
  }
  failUnsignedJobs(store, Date.now());
}

/** Fails the jobs that were not signed in time: none of their transactions exist. */
export function failUnsignedJobs(store: WalletStore, now: number): void {
  for (const { job } of store.listOverdueJobs(now))
    if (!store.wasJobSent(job.id))
      store.recordFailedJob(
        job.id,
        "unexpected_settle_error",
        "The wallet could not send the payment in time",
        null,
        now,
      );
}
