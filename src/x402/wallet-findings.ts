/** What a pump learns from the chain: what was mined, what lost its block, what came too late. */
import { log } from "../log.ts";
import { type Finding, judgeAuthorization, judgeReceipt, type Span } from "./reconcile.ts";
import { type Rpc, RpcRefusal } from "./rpc.ts";
import { type ChainView, readBlockHashes, receiptOf } from "./transactions.ts";
import { isDecided, type Signed, type StoredJob, type WalletLedger } from "./wallet-ledger.ts";

/** So many blocks on top and a transaction stays, or so long when no block comes. */
const FINAL_BLOCKS = 12;
const FINAL_MS = 10 * 60_000;
/** Past `validBefore` by this much, in seconds, no block that may still come can be earlier. */
const EXPIRY_MARGIN = 30;

/** Takes note of what was mined, by us or by others. */
export async function concludeMined(
  ledger: WalletLedger,
  rpc: Rpc,
  chain: ChainView,
): Promise<void> {
  for (const signed of ledger.live()) {
    const receipt = chain.receipts.get(signed.hash);
    if (!receipt) continue;
    const stored = signed.jobId === null ? null : ledger.find(signed.jobId);
    const isVoid = stored === null || isDecided(stored);
    const finding = isVoid
      ? null
      : await decided(stored, () => judgeReceipt(rpc, stored.job, receipt, since(chain, [signed])));
    if (finding === "undecided") continue;
    ledger.mined(signed.hash, signed.nonce);
    if (finding && stored) note(ledger, stored, finding);
    if (isVoid) ledger.drop(signed.hash);
  }

  const passed = new Set(
    ledger
      .live()
      .filter(({ nonce, hash }) => nonce < chain.nonce && !chain.receipts.has(hash))
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
  const signed = ledger.live().filter((one) => one.nonce === nonce);
  // The node that counted it may be ahead of the one that knows the receipt.
  const known = await rpc.many(
    signed.map(({ hash }) => ({ method: "eth_getTransactionByHash", params: [hash] })),
  );
  if (known.some((transaction) => transaction !== null)) return;
  const jobId = signed.at(-1)?.jobId ?? null;
  const stored = jobId === null ? null : ledger.find(jobId);
  if (!stored || stored.state === "failed") return ledger.dropNonce(nonce);
  const finding = await decided(stored, () =>
    judgeAuthorization(rpc, stored.job, since(chain, signed)),
  );
  if (finding === "undecided") return;
  ledger.dropNonce(nonce);
  if (finding.state === "open") ledger.requeue(stored.job.id, Date.now());
  else note(ledger, stored, finding);
}

/** The blocks since a job was signed; a few more, since those may have been reorganised. */
function since(chain: ChainView, signed: readonly Signed[]): Span {
  const first = Math.min(chain.block, ...signed.map(({ sinceBlock }) => sinceBlock));
  return { from: Math.max(first - FINAL_BLOCKS, 0), to: chain.block };
}

/** A node that refuses to tell of one job holds up that job and no other. */
async function decided(
  { job }: StoredJob,
  judge: () => Promise<Finding>,
): Promise<Finding | "undecided"> {
  try {
    return await judge();
  } catch (error) {
    if (!(error instanceof RpcRefusal)) throw error;
    log("warn", "x402.job_undecided", { attempt: job.id, error: error.message });
    return "undecided";
  }
}

function note(ledger: WalletLedger, { job }: StoredJob, finding: Finding): void {
  const now = Date.now();
  if (finding.state === "settled") ledger.settle(job.id, finding, now);
  if (finding.state === "failed") {
    ledger.fail(job.id, finding.reason, finding.message, finding.place, now);
    // What reverted comes back with a reorganisation of its block.
    if (finding.place === null) for (const { hash } of ledger.signedFor(job.id)) ledger.drop(hash);
  }
}

/**
 * Compares the blocks that decided jobs with the chain, once per new block, until they are deep
 * enough.
 *
 * @returns whether one has lost its block and must be sent again
 */
export async function watchDecided(
  ledger: WalletLedger,
  rpc: Rpc,
  chain: ChainView,
): Promise<boolean> {
  const watched = ledger.open().filter(isDecided);
  if (watched.length === 0) return false;
  const isNewBlock = ledger.get("watched") !== chain.blockHash;
  const heights = [...new Set(watched.flatMap(({ block }) => block ?? []))];
  const hashes = isNewBlock ? await readBlockHashes(rpc, heights) : null;
  let reappeared = false;
  for (const stored of watched) {
    const { job, block, blockHash, changedAt } = stored;
    if (block === null || chain.block < block) continue;
    if (hashes && hashes.get(block) !== blockHash) {
      reappeared = (await moved(ledger, rpc, chain, stored)) || reappeared;
      continue;
    }
    const now = Date.now();
    const isDeep = chain.block - block >= FINAL_BLOCKS;
    if (isDeep || now - changedAt > FINAL_MS) ledger.finish(job.id, now);
  }
  ledger.set("watched", chain.blockHash);
  return reappeared;
}

/** A job whose block is gone: another may hold its transaction, or none. */
async function moved(
  ledger: WalletLedger,
  rpc: Rpc,
  chain: ChainView,
  stored: StoredJob,
): Promise<boolean> {
  const { job, transaction } = stored;
  const receipt = await receiptOf(rpc, transaction);
  const ours = ledger.signedFor(job.id);
  if (receipt) {
    const finding = await decided(stored, () =>
      judgeReceipt(rpc, job, receipt, since(chain, ours)),
    );
    if (finding !== "undecided") note(ledger, stored, finding);
    return false;
  }
  const now = Date.now();
  for (const { hash } of ours) ledger.mark(hash, "sent");
  if (ours.length > 0) ledger.reopen(job.id, now);
  else ledger.requeue(job.id, now);
  return true;
}

/** Gives up what the chain would refuse from now on, unless it took it in time after all. */
export async function expire(ledger: WalletLedger, rpc: Rpc, chain: ChainView): Promise<void> {
  for (const stored of ledger.open()) {
    const { job } = stored;
    if (isDecided(stored) || chain.time < Number(job.validBefore) + EXPIRY_MARGIN) continue;
    const signed = ledger.signedFor(job.id);
    const finding = await decided(stored, async () =>
      signed.length > 0 ? judgeAuthorization(rpc, job, since(chain, signed)) : { state: "open" },
    );
    if (finding === "undecided") continue;
    if (finding.state === "settled") {
      note(ledger, stored, finding);
      continue;
    }
    ledger.fail(
      job.id,
      EXPIRED[job.kind],
      "The authorization expired before a block took it",
      null,
      Date.now(),
    );
    for (const { hash, state } of signed) if (state === "signed") ledger.drop(hash);
  }
  dropUnsigned(ledger, Date.now());
}

const EXPIRED = {
  eip3009: "invalid_exact_evm_payload_authorization_valid_before",
  permit2: "permit2_deadline_expired",
} as const;

/** Fails the jobs that were not signed in time: nothing of theirs can reach the chain. */
export function dropUnsigned(ledger: WalletLedger, now: number): void {
  for (const { job, state, signBefore } of ledger.open())
    if (state === "waiting" && signBefore <= now)
      ledger.fail(
        job.id,
        "unexpected_settle_error",
        "The payment could not be sent in time",
        null,
        now,
      );
}
