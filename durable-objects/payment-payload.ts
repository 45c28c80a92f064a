import { DurableObject } from "cloudflare:workers";
import { throwIfOutOfCredits } from "../src/api-keys/credits.ts";
import { DatabaseUnavailable, db } from "../src/db/client.ts";
import type { Env } from "../src/env.ts";
import { log } from "../src/log.ts";
import { within } from "../src/timeout.ts";
import { wakeDispatcher } from "../src/webhooks/outbox.ts";
import {
  AlreadyClaimed,
  recordOutcome,
  recordRefused,
  recordVerified,
  withdraw,
} from "../src/x402/attempts.ts";
import { railOf } from "../src/x402/networks.ts";
import {
  answerOf,
  claim,
  decidedBy,
  FAILED,
  hasFailed,
  isOwn,
  isSamePayment,
  isStill,
  type Payment,
  pendingAnswer,
  refusalOf,
} from "../src/x402/payment.ts";
import {
  type PaymentPayloadRpc,
  type SettleAnswer,
  type SettleOrder,
  walletObject,
} from "../src/x402/settlement.ts";

/** One turn of work; the alarm takes the next. */
const WORK_MS = 25_000;
const RETRY_MS = 5_000;
/** A beginning that nobody came back for is given up. */
const ABANDONED_MS = 60_000;
/** How often a decided payment is compared with the chain until no reorganisation can touch it. */
const WATCH_MS = 60_000;
/** Left of the caller's time when the wallet must have signed, or must not any more. */
const SIGN_MARGIN_MS = 500;
const RUN_PAUSE_MS = 200;

const KEY = "payment";

/**
 * One on-chain authorization, and so at most one transfer. The claim is stored here before anything
 * is asked of the chain; D1 is told, and repeats of the same payload get what became of the first.
 */
export class PaymentPayload extends DurableObject<Env> implements PaymentPayloadRpc {
  #running: Promise<SettleAnswer | null> | null = null;

  async settle(order: SettleOrder): Promise<SettleAnswer> {
    const deadline = Date.now() + order.waitMs;
    for (;;) {
      const payment = this.#claimed(order);
      if (!isSamePayment(payment.order, order))
        return { kind: "conflict", attemptId: payment.order.attemptId };
      if (payment.phase === "ended") return this.#told(payment, order);

      const answer = await this.#runUntil(deadline);
      if (answer?.kind === "settled") return this.#told(this.#read() ?? payment, order);
      if (answer && "replay" in answer) return { ...answer, replay: !isOwn(payment, order) };
      if (answer) return answer;
      if (Date.now() >= deadline) return this.#pending(this.#read() ?? payment, order);
    }
  }

  async wake(): Promise<void> {
    if (this.#read()) await this.ctx.storage.setAlarm(Date.now());
  }

  /**
   * The payment that holds the authorization: this one from now on, when there is none. Nothing is
   * awaited from here until its run has begun, so no other request can take the claim over.
   */
  #claimed(order: SettleOrder): Payment {
    const known = this.#read();
    if (known && hasFailed(known) && !isOwn(known, order)) return this.#write(claim(order, known));
    if (known && (known.phase !== "claimed" || this.#running)) return known;
    if (known && !isSamePayment(known.order, order)) return known;
    // A beginning that failed half-way is begun again under the same attempt.
    const { attemptId } = known?.order ?? order;
    return this.#write(claim({ ...order, attemptId }, known?.earlier ?? null));
  }

  /** Null: time is up, or the run ended without an outcome. */
  async #runUntil(deadline: number): Promise<SettleAnswer | null> {
    try {
      const ms = Math.max(deadline - Date.now(), 0);
      return await within(ms, this.#run(deadline), () => null);
    } catch (error) {
      // The wallet's object may be moving house; what was begun is on its books or here.
      log("warn", "x402.run_failed", { error: String(error) });
      await scheduler.wait(RUN_PAUSE_MS);
      return null;
    }
  }

  /** Never throws: after six failures the platform forgets an alarm. */
  override async alarm(): Promise<void> {
    try {
      const payment = this.#read();
      if (!payment) return;
      if (payment.phase === "claimed")
        await this.#exclusively(() => this.#giveUp(payment.order).then(() => null));
      else if (payment.phase === "ended" && payment.isRecorded) await this.#watch(payment);
      else await this.#run(Date.now() + WORK_MS);
    } catch (error) {
      log("error", "x402.payment_alarm_failed", { error: String(error) });
    }
    const payment = this.#read();
    if (payment && !(payment.isRecorded && payment.isFinal))
      await this.ctx.storage.setAlarm(Date.now() + (payment.isRecorded ? WATCH_MS : RETRY_MS));
  }

  #read(): Payment | undefined {
    return this.ctx.storage.kv.get<Payment>(KEY);
  }

  #write(payment: Payment): Payment {
    this.ctx.storage.kv.put(KEY, payment);
    return payment;
  }

  /** What a decided payment is answered with. Its success is news to one caller only. */
  #told(payment: Payment, order: SettleOrder): SettleAnswer {
    const own = isOwn(payment, order);
    const first = own || !payment.isTold;
    if (payment.outcome?.success && !payment.isTold) this.#write({ ...payment, isTold: true });
    return answerOf(payment, { replay: !own, first });
  }

  async #pending(payment: Payment, order: SettleOrder): Promise<SettleAnswer> {
    const { wallet } = payment;
    const status = wallet
      ? await walletObject(this.env, wallet.caip2Id, wallet.address)
          .wait(payment.order.attemptId, 0)
          .catch(() => null)
      : null;
    return pendingAnswer(payment, order, status?.transaction ?? "");
  }

  /** Carries the payment on from where it stands; several callers share one run. */
  #run(deadline: number): Promise<SettleAnswer | null> {
    return this.#exclusively(() => this.#advance(deadline));
  }

  #exclusively(work: () => Promise<SettleAnswer | null>): Promise<SettleAnswer | null> {
    this.#running ??= work().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** @returns the answer, null when it is not decided yet */
  async #advance(deadline: number): Promise<SettleAnswer | null> {
    let payment = this.#read();
    if (!payment) return null;
    if (payment.phase === "claimed") {
      const begun = await this.#begin(payment, deadline);
      if ("kind" in begun) return begun;
      payment = begun;
    }
    if (payment.phase === "verified") {
      const ended = await this.#settleOnChain(payment, Math.max(deadline, Date.now() + RETRY_MS));
      if (!ended) return null;
      payment = ended;
    }
    const answer = answerOf(payment, { replay: false, first: true });
    await this.#record(payment);
    return answer;
  }

  /** Judges the payment and writes the attempt. Until that is done, nothing has been sent. */
  async #begin(payment: Payment, deadline: number): Promise<Payment | SettleAnswer> {
    const { order } = payment;
    await this.ctx.storage.setAlarm(Date.now() + ABANDONED_MS);
    try {
      const rail = await railOf(this.env, order.requirements.network, deadline);
      const { judge } = await import("../src/x402/judge.ts");
      const judged = await judge(rail, order, Date.now(), deadline - SIGN_MARGIN_MS);
      if (!judged.isValid) {
        const { payer, invalidReason, invalidMessage = null } = judged;
        const outcome = {
          ...FAILED,
          payer,
          errorReason: invalidReason,
          errorMessage: invalidMessage,
        };
        return this.#write({ ...payment, phase: "refused", isFinal: true, payer, outcome });
      }
      const core = db(this.env, undefined, { writes: "idempotent", deadline });
      await recordVerified(core, order, judged.payer, Date.now()).catch(throwIfOutOfCredits);
      if (Date.now() >= deadline - SIGN_MARGIN_MS) {
        await this.#giveUp(order);
        return { kind: "refused", status: 504, message: "The chain did not answer in time" };
      }
      const { facilitator } = rail;
      const wallet = {
        id: facilitator.id,
        caip2Id: facilitator.caip2Id,
        address: facilitator.address,
      };
      const { payer, job } = judged;
      const verified = this.#write({ ...payment, phase: "verified", payer, wallet, job });
      await this.ctx.storage.setAlarm(Date.now() + WORK_MS + RETRY_MS);
      return verified;
    } catch (error) {
      if (error instanceof AlreadyClaimed) {
        log("error", "x402.claim_lost", { holder: error.attemptId, attempt: order.attemptId });
        await this.#forget();
        return { kind: "conflict", attemptId: error.attemptId };
      }
      // What D1 may have written after all stays claimed, for the repeat or the alarm.
      if (!(error instanceof DatabaseUnavailable)) await this.#forget();
      return refusalOf(error);
    }
  }

  async #settleOnChain(payment: Payment, deadline: number): Promise<Payment | null> {
    const { wallet, job, order } = payment;
    if (!wallet || !job) throw new Error("a verified payment has a wallet and a job");
    const object = walletObject(this.env, wallet.caip2Id, wallet.address);
    await object.submit(wallet.id, job);
    const status = await object.wait(order.attemptId, Math.max(deadline - Date.now(), 0));
    if (status.state !== "settled" && status.state !== "failed") return null;
    return this.#write(decidedBy(payment, status));
  }

  /** Tells D1. What fails here is done by the alarm; the answer does not wait for it. */
  async #record(payment: Payment): Promise<void> {
    const { order, outcome, phase, version } = payment;
    if (!outcome) return;
    const core = db(this.env, undefined, { writes: "idempotent" });
    try {
      const now = Date.now();
      if (phase === "refused") await recordRefused(core, order, outcome, now);
      else await recordOutcome(core, order, outcome, version, now);
    } catch (error) {
      log("error", "x402.outcome_unrecorded", { attempt: order.attemptId, error: String(error) });
      await this.ctx.storage.setAlarm(Date.now() + RETRY_MS);
      return;
    }
    await wakeDispatcher(this.env, order.requestId);
    if (!outcome.success && payment.isFinal) return this.#forget();
    const { isTold } = this.#read() ?? payment;
    const recorded = { isTold, isRecorded: true, version: version + 1, earlier: null };
    this.#write({ ...payment, ...recorded });
    await this.ctx.storage.setAlarm(Date.now() + WATCH_MS);
  }

  /** Compares a decided payment with the chain, which may have been reorganised. */
  async #watch({ wallet, order, outcome }: Payment): Promise<void> {
    if (!wallet || !outcome) return;
    const object = walletObject(this.env, wallet.caip2Id, wallet.address);
    const status = await object.wait(order.attemptId, 0);
    const payment = this.#read();
    // While a failed payment is watched, a repeat of it may begin.
    if (status.state === "pending" || payment?.order.attemptId !== order.attemptId) return;
    // The wallet forgets what has long been final.
    const isFinal = status.isFinal || status.state === "unknown";
    if (status.state !== "unknown" && !isStill(outcome, status))
      await this.#record(this.#write(decidedBy(payment, status)));
    else if (isFinal && !outcome.success) await this.#forget();
    else this.#write({ ...payment, isFinal });
  }

  /** Ends a beginning that came to nothing. */
  async #giveUp(order: SettleOrder): Promise<void> {
    await withdraw(db(this.env, undefined, { writes: "idempotent" }), order, Date.now());
    await this.#forget();
  }

  /** Nothing of this payment can reach the chain; of the attempt before, something may. */
  async #forget(): Promise<void> {
    const earlier = this.#read()?.earlier;
    if (earlier) {
      this.#write(earlier);
      await this.ctx.storage.setAlarm(Date.now() + WATCH_MS);
    } else {
      await this.ctx.storage.deleteAlarm();
      this.ctx.storage.kv.delete(KEY);
    }
  }
}
