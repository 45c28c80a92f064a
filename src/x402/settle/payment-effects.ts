import { throwIfOutOfCredits } from "../../api-keys/credits.ts";
import { batchReads } from "../../db/batch-reads.ts";
import { type Database, DatabaseUnavailableError, openDb } from "../../db/client.ts";
import { addPrimaryBookmark } from "../../db/primary-bookmark.ts";
import type { Env } from "../../env.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { log } from "../../log.ts";
import { findIdentifierHolder, findPastAttempt, wasVerified } from "../attempts/attempt-row.ts";
import {
  AlreadyClaimedError,
  cancelAttempt,
  recordRefusal,
  recordVerifiedAttempt,
} from "../attempts/record-attempts.ts";
import { recordOutcome } from "../attempts/record-outcomes.ts";
import { GasNotSponsoredError } from "../attempts/sponsored-gas.ts";
import {
  getFacilitatorWalletStub,
  type JobStatus,
  type SettlementJob,
  type SettleOrder,
  type SettleReply,
  UNKNOWN_JOB,
} from "../model/messages.ts";
import { pickSender } from "../networks/pick-sender.ts";
import { findSettlementNetwork } from "../networks/settlement-network.ts";
import { judgeSettlement } from "../verify/judge-settlement.ts";
import { toHeldReply, toOutcomeReply, toRefusedReply } from "./payment-reply.ts";
import {
  advancePayment,
  listWatchedAttempts,
  type Payment,
  type PaymentAttempt,
  type PaymentEffect,
  type PaymentEvent,
  type SettlingWallet,
  toPaymentEvent,
} from "./payment-state.ts";
import { readRemoteStatus, readSentStatus, settleRemotely } from "./remote-settlement.ts";

/** The wallet must sign at least this long before the caller's deadline. */
const SIGN_MARGIN_MS = 500;
/** Minimum wait for the wallet. */
const MIN_WAIT_MS = 5_000;
/** Time for reading a chain on which another facilitator settles. */
const WATCH_TIMEOUT_MS = 10_000;

/** Work on a payment, shared by all its waiting callers. */
export interface SettlementRun {
  /** Order of the request that began the run. Null: the alarm began it. */
  order: SettleOrder | null;
  /** Epoch milliseconds. */
  deadline: number;
  /** Whether the object had stored a payment. Otherwise D1 may have what the object has forgotten. */
  isStored: boolean;
  /** Null: not decided yet. */
  reply: SettleReply | null;
}

/**
 * Carries out what the table of `payment-state.ts` says, and returns the resulting event. What the
 * payment must remember is stored first.
 *
 * @throws the wallet object's errors; what was begun is stored there or in `payment`
 */
export async function runEffect(
  env: Env,
  effect: PaymentEffect,
  payment: Payment,
  run: SettlementRun,
): Promise<PaymentEvent[]> {
  switch (effect) {
    case "verify":
      return [await verifyPayload(env, payment, run)];
    case "write":
      return [await writeAttemptRow(env, payment, run)];
    case "withdraw":
      return [await cancelAttemptRow(env, payment, run)];
    case "submit":
      return submitJob(env, payment, run);
    case "record":
      return [await recordDecidedPayment(env, payment, run)];
    case "watch":
      return watchAttempts(env, payment);
  }
}

async function verifyPayload(
  env: Env,
  payment: Payment,
  run: SettlementRun,
): Promise<PaymentEvent> {
  const { order } = payment;
  if (!run.order) throw new Error("the payload of a payment comes with a request");
  try {
    const core = batchReads(openDb(env, undefined, { deadline: run.deadline }));
    const verdict = judgePayload(env, payment, run.order, run.deadline, core);
    // A payment that D1 has needs no verdict.
    verdict.catch(() => {});
    const [holder, isVerified] = await Promise.all([
      run.isStored ? null : findPastAttempt(env, core, run.order),
      wasVerified(core, order, Date.now()),
    ]);
    if (holder) {
      run.reply = toHeldReply(order, holder);
      if (holder.status === "Verified" && holder.claim === order.claim)
        log("error", "x402.claim_lost", { holder: holder.id, attempt: order.attemptId });
      return { kind: "broken" };
    }
    const event = withTimeToSign(await verdict, isVerified);
    void announceJob(env, event);
    // One identifier is for one payment of its payer (specification of `payment-identifier`).
    const attemptId =
      event.kind === "valid" ? await findIdentifierHolder(env, core, order, event.payer) : null;
    if (attemptId === null) return event;
    run.reply = { kind: "conflict", attemptId };
  } catch (error) {
    run.reply = toRefusedReply(error);
  }
  return { kind: "broken" };
}

/** A payment that was verified here is never refused for load: the wallet may sign it while it is valid. */
function withTimeToSign(verdict: PaymentEvent, isVerified: boolean): PaymentEvent {
  if (verdict.kind !== "valid" || !isVerified) return verdict;
  const signBefore = Number(verdict.job.validBefore) * 1000;
  return { ...verdict, job: { ...verdict.job, signBefore } };
}

/** The wallet reads the chain while D1 writes the attempt. Never throws: the job itself finds what is wrong. */
async function announceJob(env: Env, event: PaymentEvent): Promise<void> {
  if (event.kind !== "valid" || event.wallet.remote || isZeroCharge(event.job)) return;
  const { wallet, job } = event;
  try {
    const object = getFacilitatorWalletStub(env, wallet.caip2Id, wallet.address);
    await object.prepare(wallet.id, job);
  } catch {
    // Also an object of the version before, while another is deployed.
  }
}

/** The chain's verdict on a payment. @throws what `toRefusedReply` converts */
async function judgePayload(
  env: Env,
  { order: { attemptId, claim, requirements: begun }, wallet: known, earlier }: Payment,
  { payload, requirements: sent, maxAmount }: SettleOrder,
  deadline: number,
  core: Database,
): Promise<PaymentEvent> {
  // A request that resumes the attempt may name another charge.
  const requirements = { ...sent, amount: begun.amount };
  const settlementNetwork = await findSettlementNetwork(env, requirements.network, deadline, core);
  const { settler } = settlementNetwork;
  const assigned = known ?? earlier.at(-1)?.wallet ?? null;
  const own: SettlingWallet | null = await pickSender(
    core,
    settler,
    { claim, payload, requirements },
    assigned,
  );
  const since = Date.now();
  const verdict = await judgeSettlement(
    env,
    settlementNetwork,
    { attemptId, payload, requirements, ...(maxAmount !== undefined && { maxAmount }) },
    own && !own.remote ? own.address : null,
    { now: since, deadline, signBefore: deadline - SIGN_MARGIN_MS },
  );
  if (!verdict.isValid) {
    const { payer, invalidReason: reason, invalidMessage: message } = verdict;
    return { kind: "invalid", payer, reason, message };
  }
  const { payer, job } = verdict;
  if (own) return { kind: "valid", payer, wallet: own, job };
  if (settler.kind !== "remote") throw new Error("a network without wallets has a facilitator");
  const remote = { url: settler.facilitator.url, since, validBefore: job.validBefore };
  const wallet = { id: "", caip2Id: requirements.network, address: "", remote };
  return { kind: "valid", payer, wallet, job };
}

/** The answer to a payment whose permit cannot be used: as if the service used none. */
const NOT_SPONSORED = {
  kind: "invalid",
  reason: "permit2_allowance_required",
  message: null,
} as const;

/** Nothing is sent before this write succeeds. */
async function writeAttemptRow(
  env: Env,
  { order, payer, wallet, job }: Payment,
  run: SettlementRun,
): Promise<PaymentEvent> {
  if (payer === null || !wallet || !job)
    throw new Error("a payment that was judged has a payer, a wallet and a job");
  const { deadline } = run;
  try {
    const core = openDb(env, undefined, { writes: "idempotent", deadline });
    const facilitator = wallet.remote ? new URL(wallet.remote.url).origin : wallet.address;
    const validBefore = Math.min(Number(job.validBefore), Number.MAX_SAFE_INTEGER);
    const verified = { payer, facilitator, validBefore, maxCost: job.maxCost };
    const row = await recordVerifiedAttempt(env, core, order, verified, Date.now()).catch(
      throwIfOutOfCredits,
    );
    if (row === "ended") return { kind: "ended" };
    if (Date.now() < job.signBefore) return { kind: "written" };
    const message = "The chain did not answer in time. Send the payment again.";
    run.reply = { kind: "refused", status: 504, message };
    return { kind: "late" };
  } catch (error) {
    if (error instanceof GasNotSponsoredError) return { ...NOT_SPONSORED, payer };
    if (error instanceof AlreadyClaimedError) {
      if (error.what === "payment")
        log("error", "x402.claim_lost", { holder: error.attemptId, attempt: order.attemptId });
      run.reply = { kind: "conflict", attemptId: error.attemptId };
      return { kind: "denied" };
    }
    run.reply = toRefusedReply(error);
    return { kind: error instanceof DatabaseUnavailableError ? "broken" : "denied" };
  }
}

async function cancelAttemptRow(
  env: Env,
  { order }: Payment,
  run: SettlementRun,
): Promise<PaymentEvent> {
  try {
    await cancelAttempt(openDb(env, undefined, { writes: "idempotent" }), order, Date.now());
    return { kind: "withdrawn" };
  } catch (error) {
    run.reply ??= toRefusedReply(error);
    return { kind: "broken" };
  }
}

/** Whether nothing is to be sent: a charge of 0 ends its authorization here. */
function isZeroCharge({ amount }: SettlementJob): boolean {
  return BigInt(amount) === 0n;
}

async function submitJob(env: Env, payment: Payment, run: SettlementRun): Promise<PaymentEvent[]> {
  const { wallet, job, order } = payment;
  if (!wallet || !job) throw new Error("a verified payment has a wallet and a job");
  if (isZeroCharge(job)) {
    const settled = { transaction: "", reason: null, message: null, isFinal: true };
    return [{ kind: "settled", attemptId: order.attemptId, ...settled }];
  }
  if (wallet.remote) {
    const status = await settleRemotely(env, payment, wallet.remote, run);
    const event = toPaymentEvent(payment, status);
    return event ? [event] : [];
  }
  const waitMs = Math.max(run.deadline - Date.now(), MIN_WAIT_MS);
  const object = getFacilitatorWalletStub(env, wallet.caip2Id, wallet.address);
  const status = await object.submit(wallet.id, job, { order, waitMs });
  const event = toPaymentEvent(payment, status);
  if (!event) return [];
  const { payment: decided } = advancePayment(payment, event);
  if (!status.isRecorded || !decided) return [event];
  addPrimaryBookmark(status.bookmark ?? null);
  run.reply = toOutcomeReply(decided, { replay: false, first: true });
  return [event, { kind: "recorded" }];
}

/** The state of an attempt's wallet job: immediately when decided, else after `waitMs`. */
export async function readJobStatus(
  env: Env,
  { wallet, order }: PaymentAttempt,
  waitMs: number,
): Promise<JobStatus> {
  if (!wallet) return UNKNOWN_JOB;
  if (wallet.remote) return readSentStatus(order.attemptId);
  return getFacilitatorWalletStub(env, wallet.caip2Id, wallet.address).wait(
    order.attemptId,
    waitMs,
  );
}

/** Records the outcome in D1. If that fails, the alarm does it; the answer follows the chain. */
async function recordDecidedPayment(
  env: Env,
  payment: Payment,
  run: SettlementRun,
): Promise<PaymentEvent> {
  const { order, outcome, phase, revision } = payment;
  if (!outcome) throw new Error("a decided payment has an outcome");
  run.reply = toOutcomeReply(payment, { replay: false, first: true });
  try {
    const core = openDb(env, undefined, { writes: "idempotent" });
    const now = Date.now();
    if (phase === "refused") await recordRefusal(core, order, outcome, now);
    else await recordOutcome(core, order, outcome, revision, now);
  } catch (error) {
    log("error", "x402.outcome_unrecorded", { attempt: order.attemptId, error: String(error) });
    return { kind: "broken" };
  }
  await wakeDispatcher(env, order.requestId);
  return { kind: "recorded" };
}

/** Compares decided attempts with the chain, in case of a re-org. */
async function watchAttempts(env: Env, payment: Payment): Promise<PaymentEvent[]> {
  const events: PaymentEvent[] = [];
  for (const attempt of listWatchedAttempts(payment)) {
    const remote = attempt.wallet?.remote;
    const status = remote
      ? await readRemoteStatus(env, attempt, remote, Date.now() + WATCH_TIMEOUT_MS)
      : await readJobStatus(env, attempt, 0);
    const event = toPaymentEvent(attempt, status);
    if (event) events.push(event);
  }
  return events;
}
