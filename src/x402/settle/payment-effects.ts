import { throwIfOutOfCredits } from "../../api-keys/credits.ts";
import { DatabaseUnavailable, db } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { log } from "../../log.ts";
import { AlreadyClaimed, recordRefused, recordVerified, withdraw } from "../attempts/attempts.ts";
import { recordOutcome } from "../attempts/outcomes.ts";
import { settlementNetworkOf } from "../networks/settlement-network.ts";
import { type JobStatus, type SettleAnswer, type SettleOrder, walletObject } from "../rpc-types.ts";
import { answerOf, refusalOf } from "./payment-answer.ts";
import {
  type Attempt,
  advance,
  type Effect,
  type Payment,
  type PaymentEvent,
  sighting,
  watched,
} from "./payment-state.ts";

/** What must be left of the caller's time when the wallet signs; later it must not. */
const SIGN_MARGIN_MS = 500;
/** Minimum wait for the wallet. */
const MIN_WAIT_MS = 5_000;

/** Work on a payment, shared by all its waiting callers. */
export interface Run {
  /** Of the request that began it; null: the alarm did. */
  order: SettleOrder | null;
  /** Epoch milliseconds. */
  deadline: number;
  /** Null: not decided yet. */
  answer: SettleAnswer | null;
}

/**
 * Carries out what the table of `payment-state.ts` says, and returns the resulting event. What the
 * payment must remember is stored first.
 *
 * @throws the wallet object's errors; what was begun is stored there or in `payment`
 */
export async function perform(
  env: Env,
  effect: Effect,
  payment: Payment,
  run: Run,
): Promise<PaymentEvent[]> {
  switch (effect) {
    case "judge":
      return [await judgePayload(env, payment, run)];
    case "write":
      return [await writeRow(env, payment, run)];
    case "withdraw":
      return [await withdrawRow(env, payment, run)];
    case "submit":
      return submit(env, payment, run);
    case "record":
      return [await record(env, payment, run)];
    case "watch":
      return watch(env, payment);
  }
}

async function judgePayload(env: Env, { order }: Payment, run: Run): Promise<PaymentEvent> {
  if (!run.order) throw new Error("the payload of a payment comes with a request");
  const { payload, requirements } = run.order;
  try {
    const settlementNetwork = await settlementNetworkOf(
      env,
      order.requirements.network,
      run.deadline,
    );
    const { prepareJob } = await import("../verify/prepare-job.ts");
    const asked = { attemptId: order.attemptId, payload, requirements };
    const judged = await prepareJob(
      settlementNetwork,
      asked,
      Date.now(),
      run.deadline - SIGN_MARGIN_MS,
    );
    if (!judged.isValid) {
      const { payer, invalidReason: reason, invalidMessage: message = null } = judged;
      return { kind: "invalid", payer, reason, message };
    }
    const { id, caip2Id, address } = settlementNetwork.facilitator;
    const { payer, job } = judged;
    return { kind: "valid", payer, wallet: { id, caip2Id, address }, job };
  } catch (error) {
    run.answer = refusalOf(error);
    return { kind: "broken" };
  }
}

/** Until that is done, nothing has been sent. */
async function writeRow(env: Env, { order, payer }: Payment, run: Run): Promise<PaymentEvent> {
  if (payer === null) throw new Error("a payment that was judged has a payer");
  const { deadline } = run;
  try {
    const core = db(env, undefined, { writes: "idempotent", deadline });
    const row = await recordVerified(core, order, payer, Date.now()).catch(throwIfOutOfCredits);
    if (row === "ended") return { kind: "ended" };
    if (Date.now() < deadline - SIGN_MARGIN_MS) return { kind: "written" };
    const message = "The chain did not answer in time";
    run.answer = { kind: "refused", status: 504, message };
    return { kind: "late" };
  } catch (error) {
    if (error instanceof AlreadyClaimed) {
      log("error", "x402.claim_lost", { holder: error.attemptId, attempt: order.attemptId });
      run.answer = { kind: "conflict", attemptId: error.attemptId };
      return { kind: "denied" };
    }
    run.answer = refusalOf(error);
    return { kind: error instanceof DatabaseUnavailable ? "broken" : "denied" };
  }
}

async function withdrawRow(env: Env, { order }: Payment, run: Run): Promise<PaymentEvent> {
  try {
    await withdraw(db(env, undefined, { writes: "idempotent" }), order, Date.now());
    return { kind: "withdrawn" };
  } catch (error) {
    run.answer ??= refusalOf(error);
    return { kind: "broken" };
  }
}

async function submit(env: Env, payment: Payment, run: Run): Promise<PaymentEvent[]> {
  const { wallet, job, order } = payment;
  if (!wallet || !job) throw new Error("a verified payment has a wallet and a job");
  const waitMs = Math.max(run.deadline - Date.now(), MIN_WAIT_MS);
  const object = walletObject(env, wallet.caip2Id, wallet.address);
  // A wallet of an earlier version answers nothing.
  const told: JobStatus | undefined = await object.submit(wallet.id, job, { order, waitMs });
  const status = told ?? (await jobStatus(env, payment, waitMs));
  const event = sighting(payment, status);
  if (!event) return [];
  const { payment: decided } = advance(payment, event);
  if (!status.isRecorded || !decided) return [event];
  run.answer = answerOf(decided, { replay: false, first: true });
  return [event, { kind: "recorded" }];
}

/** The state of an attempt's wallet job: immediately when decided, else after `waitMs`. */
export async function jobStatus(
  env: Env,
  { wallet, order }: Attempt,
  waitMs: number,
): Promise<JobStatus> {
  if (!wallet)
    return { state: "unknown", transaction: "", reason: null, message: null, isFinal: false };
  return walletObject(env, wallet.caip2Id, wallet.address).wait(order.attemptId, waitMs);
}

/** Records the outcome in D1. If that fails, the alarm does it; the answer follows the chain. */
async function record(env: Env, payment: Payment, run: Run): Promise<PaymentEvent> {
  const { order, outcome, phase, version } = payment;
  if (!outcome) throw new Error("a decided payment has an outcome");
  run.answer = answerOf(payment, { replay: false, first: true });
  try {
    const core = db(env, undefined, { writes: "idempotent" });
    const now = Date.now();
    if (phase === "refused") await recordRefused(core, order, outcome, now);
    else await recordOutcome(core, order, outcome, version, now);
  } catch (error) {
    log("error", "x402.outcome_unrecorded", { attempt: order.attemptId, error: String(error) });
    return { kind: "broken" };
  }
  await wakeDispatcher(env, order.requestId);
  return { kind: "recorded" };
}

/** Compares decided attempts with the chain, in case of a re-org. */
async function watch(env: Env, payment: Payment): Promise<PaymentEvent[]> {
  const events: PaymentEvent[] = [];
  for (const attempt of watched(payment)) {
    const event = sighting(attempt, await jobStatus(env, attempt, 0));
    if (event) events.push(event);
  }
  return events;
}
