/** What a pump learns from the chain: what was mined, what lost its block, what came too late. */
import { log } from "../../log.ts";
import { type Rpc, RpcRefusal } from "../evm/rpc.ts";
import { type ChainView, type Receipt, readBlockHashes, receiptOf } from "../evm/transactions.ts";
import { type Finding, judgeAuthorization, judgeReceipt, type Span } from "./reconcile.ts";
import { isDecided, type Signed, type StoredJob } from "./rows.ts";
import type { WalletStore } from "./store.ts";

/** A transaction is final with this many blocks on top, or after this long when no block comes. */
const FINAL_BLOCKS = 12;
const FINAL_MS = 10 * 60_000;
/** Seconds past `validBefore` after which no later block can have an earlier time. */
const EXPIRY_MARGIN = 30;

/** Records what was mined, by us or by others. */
export async function concludeMined(
  ledger: WalletStore,
  rpc: Rpc,
  chain: ChainView,
): Promise<void> {
  for (const signed of ledger.unmined()) {
    const receipt = chain.receipts.get(signed.hash);
    if (!receipt) continue;
    const stored = signed.jobId === null ? null : ledger.find(signed.jobId);
    if (!stored || stored.state === "settled") {
      ledger.mined(signed.hash, signed.nonce);
      ledger.drop(signed.hash);
      continue;
    }
    // A revert is final only if the node's count includes it.
    if (!receipt.succeeded && signed.nonce >= chain.nonce) continue;
    const finding = await judge(stored, () => byReceipt(rpc, ledger, chain, stored, receipt));
    if (finding.state === "unclear") continue;
    ledger.mined(signed.hash, signed.nonce);
    if (!isDecided(stored) || isNews(stored, finding)) note(ledger, stored, finding);
  }

  const passed = new Set(
    ledger
      .live()
      .filter(({ nonce, hash }) => nonce < chain.nonce && !chain.receipts.has(hash))
      .map(({ nonce }) => nonce),
  );
  for (const nonce of passed) await concludePassed(ledger, rpc, chain, nonce);
}

/** A nonce used by a transaction that is not ours. */
async function concludePassed(
  ledger: WalletStore,
  rpc: Rpc,
  chain: ChainView,
  nonce: number,
): Promise<void> {
  const signed = ledger.live().filter((one) => one.nonce === nonce);
  // The node that counted it may be ahead of the one that serves the receipt.
  const known = await rpc.many(
    signed.map(({ hash }) => ({ method: "eth_getTransactionByHash", params: [hash] })),
  );
  if (known.some((transaction) => transaction !== null)) return;
  const jobId = signed.at(-1)?.jobId ?? null;
  const stored = jobId === null ? null : ledger.find(jobId);
  if (!stored || isDecided(stored)) return ledger.loseNonce(nonce);
  const finding = await judge(stored, () => byAuthorization(rpc, ledger, chain, stored));
  if (finding.state === "unclear") return;
  ledger.loseNonce(nonce);
  if (finding.state === "open") ledger.requeue(stored.job.id, Date.now());
  else note(ledger, stored, finding);
}

/** Asks the chain about a job that was sent before and cannot be sent again. */
export async function concludeHanded(
  ledger: WalletStore,
  rpc: Rpc,
  chain: ChainView,
  stored: StoredJob,
): Promise<void> {
  note(ledger, stored, await judge(stored, () => byAuthorization(rpc, ledger, chain, stored)));
}

/** Decides by one of the job's own receipts. */
function byReceipt(
  rpc: Rpc,
  ledger: WalletStore,
  chain: ChainView,
  stored: StoredJob,
  receipt: Receipt,
): Promise<Finding> {
  const span = spanOf(chain, stored, ledger.signedFor(stored.job.id), receipt.block);
  return judgeReceipt(rpc, stored.job, receipt, span);
}

function byAuthorization(
  rpc: Rpc,
  ledger: WalletStore,
  chain: ChainView,
  stored: StoredJob,
): Promise<Finding> {
  const span = spanOf(chain, stored, ledger.signedFor(stored.job.id));
  return judgeAuthorization(rpc, stored.job, span);
}

/**
 * The blocks since a job was signed, and a few more in case of a re-org.
 *
 * @param since - height of the block from which on nodes had time to catch up
 */
function spanOf(
  chain: ChainView,
  { changedAt }: StoredJob,
  signed: readonly Signed[],
  since?: number,
): Span {
  const first = Math.min(chain.block, ...signed.map(({ sinceBlock }) => sinceBlock));
  return {
    from: Math.max(first - FINAL_BLOCKS, 0),
    to: chain.block,
    toHash: chain.blockHash,
    isOld: isSettledDown(chain, since ?? first, changedAt),
  };
}

/** Whether a block is deep or old enough to be final. */
function isSettledDown(chain: ChainView, block: number, since: number): boolean {
  return chain.block - block >= FINAL_BLOCKS || Date.now() - since > FINAL_MS;
}

/** A node's refusal about one job holds up only that job. */
async function judge({ job }: StoredJob, ask: () => Promise<Finding>): Promise<Finding> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof RpcRefusal)) throw error;
    log("warn", "x402.job_undecided", { attempt: job.id, error: error.message });
    return { state: "unclear" };
  }
}

function note(ledger: WalletStore, { job }: StoredJob, finding: Finding): void {
  const now = Date.now();
  if (finding.state === "settled") ledger.settle(job.id, finding, now);
  if (finding.state === "failed")
    ledger.fail(job.id, finding.reason, finding.message, finding.place, now);
}

/** Whether a job considered failed has been paid after all. */
function isNews({ state }: StoredJob, finding: Finding): boolean {
  return state === "failed" && finding.state === "settled";
}

/**
 * Compares the blocks that decided jobs with the chain, once per new block, until they are deep
 * enough. Failed ones are checked anew each time: a node may have answered wrongly.
 *
 * @returns whether one has lost its block and must be sent again
 */
export async function watchDecided(
  ledger: WalletStore,
  rpc: Rpc,
  chain: ChainView,
): Promise<boolean> {
  const watched = ledger.open("decided");
  if (watched.length === 0) return false;
  const isNewBlock = ledger.get("watched") !== chain.blockHash;
  const heights = [...new Set(watched.flatMap(({ block }) => block ?? []))];
  const hashes = isNewBlock ? await readBlockHashes(rpc, heights) : null;
  let reappeared = false;
  for (const stored of watched) {
    const { job, state, block, blockHash, changedAt } = stored;
    if (block === null || chain.block < block) continue;
    if (hashes && hashes.get(block) !== blockHash) {
      reappeared = (await moved(ledger, rpc, chain, stored)) || reappeared;
      continue;
    }
    const isDue = isSettledDown(chain, block, changedAt);
    if (state === "failed" && (isNewBlock || isDue)) {
      const finding = await judge(stored, () => again(ledger, rpc, chain, stored));
      if (isNews(stored, finding)) note(ledger, stored, finding);
      if (isNews(stored, finding) || finding.state === "unclear" || !isDead(ledger, chain, job))
        continue;
    }
    if (isDue) ledger.finish(job.id, Date.now());
  }
  ledger.set("watched", chain.blockHash);
  return reappeared;
}

/** Evaluates a decided job as if nothing were known of it. */
async function again(
  ledger: WalletStore,
  rpc: Rpc,
  chain: ChainView,
  stored: StoredJob,
): Promise<Finding> {
  const { transaction } = stored;
  const receipt = transaction === "" ? null : await receiptOf(rpc, transaction);
  return receipt
    ? byReceipt(rpc, ledger, chain, stored, receipt)
    : byAuthorization(rpc, ledger, chain, stored);
}

/** Whether nothing sent for a job can still be mined. */
function isDead(ledger: WalletStore, chain: ChainView, job: StoredJob["job"]): boolean {
  const isBehind = ({ nonce }: Signed) => nonce < chain.nonce;
  return isExpired(job, chain) || ledger.signedFor(job.id).every(isBehind);
}

/** A job whose block was orphaned: its transaction may be in another, or in none. */
async function moved(
  ledger: WalletStore,
  rpc: Rpc,
  chain: ChainView,
  stored: StoredJob,
): Promise<boolean> {
  const { job } = stored;
  const finding = await judge(stored, () => again(ledger, rpc, chain, stored));
  if (finding.state !== "open") {
    note(ledger, stored, finding);
    return false;
  }
  const now = Date.now();
  const ours = ledger.signedFor(job.id);
  for (const { hash, state } of ours) if (state === "mined") ledger.mark(hash, "sent");
  if (ours.some(({ state }) => state !== "lost")) ledger.reopen(job.id, now);
  else ledger.requeue(job.id, now);
  return true;
}

function isExpired({ validBefore }: StoredJob["job"], { time }: ChainView): boolean {
  return time >= Number(validBefore) + EXPIRY_MARGIN;
}

/** Gives up what the chain would now refuse, unless it was mined in time after all. */
export async function expire(ledger: WalletStore, rpc: Rpc, chain: ChainView): Promise<void> {
  for (const stored of ledger.open("undecided")) {
    const { job } = stored;
    if (!isExpired(job, chain)) continue;
    const isHanded = ledger.isHanded(job.id);
    const finding = isHanded
      ? await judge(stored, () => byAuthorization(rpc, ledger, chain, stored))
      : ({ state: "open" } as const);
    if (finding.state === "unclear") continue;
    if (finding.state === "open") {
      const place = { transaction: "", block: chain.block, blockHash: chain.blockHash };
      const message = "The authorization expired before a block took it";
      ledger.fail(job.id, EXPIRED[job.kind], message, isHanded ? place : null, Date.now());
    } else note(ledger, stored, finding);
    for (const { hash, state } of ledger.signedFor(job.id))
      if (state === "signed") ledger.drop(hash);
  }
  dropUnsigned(ledger, Date.now());
}

const EXPIRED = {
  eip3009: "invalid_exact_evm_payload_authorization_valid_before",
  permit2: "permit2_deadline_expired",
} as const;

/** Fails the jobs that were not signed in time: none of their transactions exist. */
export function dropUnsigned(ledger: WalletStore, now: number): void {
  for (const { job } of ledger.late(now))
    if (!ledger.isHanded(job.id))
      ledger.fail(
        job.id,
        "unexpected_settle_error",
        "The payment could not be sent in time",
        null,
        now,
      );
}
