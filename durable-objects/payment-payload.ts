import { DurableObject } from "cloudflare:workers";
import { trackPrimaryBookmark } from "../src/db/primary-bookmark.ts";
import type { Env } from "../src/env.ts";
import { log } from "../src/log.ts";
import { withTimeout } from "../src/timeout.ts";
import type { PaymentObject, SettleOrder, SettleReply } from "../src/x402/model/messages.ts";
import { onRequest } from "../src/x402/settle/on-request.ts";
import {
  readJobStatus,
  runEffect,
  type SettlementRun,
} from "../src/x402/settle/payment-effects.ts";
import { toOutcomeReply, toPendingReply } from "../src/x402/settle/payment-reply.ts";
import {
  advancePayment,
  type Payment,
  type PaymentEffect,
  type PaymentEvent,
  type PaymentPhase,
  PHASE_EFFECTS,
} from "../src/x402/settle/payment-state.ts";

/** One turn of work; the alarm takes the next. */
const MAX_RUN_MS = 25_000;
/** Time of a caller who asks for an attempt's outcome now. */
const MAX_RECONCILE_MS = 5_000;
const RETRY_DELAY_MS = 5_000;
/** When an abandoned beginning is given up. */
const ABANDON_TIMEOUT_MS = 60_000;
/** How often a decided payment is compared with the chain until no re-org can affect it. */
const WATCH_INTERVAL_MS = 60_000;
const RUN_RETRY_DELAY_MS = 200;
/** How long a settled payment that is final waits for a caller who learns of its success. */
const UNREPORTED_RETENTION_MS = 24 * 60 * 60_000;

/**
 * How long a phase is left alone at most. The alarm may come earlier: each alarm that is set is a row
 * written, and an early one does no harm.
 */
const MAX_ALARM_DELAYS_MS: Record<PaymentPhase, number> = {
  claimed: ABANDON_TIMEOUT_MS,
  writing: ABANDON_TIMEOUT_MS,
  withdrawing: RETRY_DELAY_MS,
  verified: ABANDON_TIMEOUT_MS,
  refused: RETRY_DELAY_MS,
  settled: RETRY_DELAY_MS,
  failed: RETRY_DELAY_MS,
  settledRecorded: WATCH_INTERVAL_MS,
  failedRecorded: WATCH_INTERVAL_MS,
  closed: UNREPORTED_RETENTION_MS,
};

const STORAGE_KEY = "payment";

/**
 * One on-chain authorization, and so at most one transfer. The table of
 * `src/x402/settle/payment-state.ts` defines the transitions. This object stores the payment's state
 * before anything is sent that must not be forgotten, sets the alarm, and performs what the table says.
 *
 * Storage is empty before D1 may have an open row, and again once the payment is final and reported.
 * An empty object asks D1 and the chain before it stores anything.
 */
export class PaymentPayload extends DurableObject<Env> implements PaymentObject {
  #activeRun: Promise<SettleReply | null> | null = null;
  /** The payment now. Undefined: not read yet. */
  #payment: Payment | null | undefined;
  /** The payment in storage. */
  #stored: Payment | null = null;
  /** Epoch milliseconds; null: no alarm is set. Undefined: not read yet. */
  #alarmAt: number | null | undefined;
  readonly #waitingOrders = new Set<SettleOrder>();
  /** The database's bookmark after the newest run; null: that run has not ended, or called no database. */
  #bookmark: string | null = null;

  async settle(order: SettleOrder): Promise<{ response: SettleReply; bookmark: string | null }> {
    this.#waitingOrders.add(order);
    try {
      const response = await this.#settle(order);
      return { response, bookmark: this.#bookmark };
    } finally {
      this.#waitingOrders.delete(order);
    }
  }

  async #settle(order: SettleOrder): Promise<SettleReply> {
    const deadline = Date.now() + order.waitMs;
    let hasWaited = false;
    let isWatched = false;
    for (;;) {
      // Nothing is awaited from here until the run has begun, so no other call can interleave.
      const before = this.#read();
      const isBusy = this.#activeRun !== null;
      const reaction = onRequest(before, order, { isBusy, isWatched });
      const { payment } = reaction;
      if (reaction.reply === "outcome") return this.#replyWithOutcome(payment, order);
      if (reaction.reply === "conflict")
        return { kind: "conflict", attemptId: payment.order.attemptId };
      if (hasWaited && Date.now() >= deadline) return this.#createPendingReply(order);

      if (payment !== before) this.#write(payment);
      const run = { order, deadline, isStored: this.#stored !== null, reply: null };
      const answer = await this.#runUntil(run, reaction.effect);
      hasWaited = true;
      isWatched ||= reaction.effect === "watch";
      const now = this.#read();
      if (answer?.kind === "settled" && now?.outcome) return this.#replyWithOutcome(now, order);
      // D1 has the settlement, and this object has forgotten it.
      if (answer?.kind === "settled" && answer.replay) return answer;
      if (answer && "replay" in answer) return { ...answer, replay: !isOwnRequest(payment, order) };
      // The reason why another key's attempt was not begun does not apply to this key's.
      const isOthers = isBusy && reaction.relation === "rival" && answer?.kind === "refused";
      if (answer && !isOthers) return answer;
    }
  }

  async reconcile(attemptId: string): Promise<boolean> {
    const { order, earlier = [] } = this.#read() ?? {};
    const known = [order, ...earlier.map((attempt) => attempt.order)];
    if (!known.some((one) => one?.attemptId === attemptId)) return false;
    await this.#resume(Date.now() + MAX_RECONCILE_MS);
    return true;
  }

  /** Resumes unfinished work. */
  async wake(): Promise<void> {
    if (!this.#read()) return;
    this.#alarmAt = Date.now();
    await this.ctx.storage.setAlarm(this.#alarmAt);
  }

  /** Never throws: after six failures the platform drops an alarm. */
  override async alarm(): Promise<void> {
    this.#alarmAt = null;
    await this.#resume(Date.now() + MAX_RUN_MS);
  }

  /** Never throws. @param deadline - epoch milliseconds */
  async #resume(deadline: number): Promise<void> {
    try {
      const run = { order: null, deadline, isStored: true, reply: null };
      await this.#runExclusively(async () => {
        // Nobody came who could learn of the success.
        if (this.#read()?.phase === "closed") this.#write(null);
        return this.#runEffects(run, await this.#apply({ kind: "alarm" }));
      });
    } catch (error) {
      log("error", "x402.payment_alarm_failed", { error: String(error) });
    }
    await this.#scheduleAlarm();
  }

  #read(): Payment | null {
    if (this.#payment === undefined) {
      this.#stored = this.ctx.storage.kv.get<Payment>(STORAGE_KEY) ?? null;
      this.#payment = this.#stored;
    }
    return this.#payment;
  }

  /** What is forgotten stays in storage until `#emptyStorage`: doing its work again does no harm. */
  #write(payment: Payment | null): void {
    this.#payment = payment;
    if (payment && !isMemoryOnly(payment, this.#stored)) this.#store(payment);
  }

  #store(payment: Payment): void {
    this.ctx.storage.kv.put(STORAGE_KEY, payment);
    this.#stored = payment;
  }

  /** Empties the storage, with its alarm, once nothing of the payment has to be remembered. */
  async #emptyStorage(): Promise<void> {
    if (this.#stored === null || !isDisposable(this.#read())) return;
    this.#payment = null;
    this.#stored = null;
    this.#alarmAt = null;
    await this.ctx.storage.deleteAll();
  }

  async #scheduleAlarm(): Promise<void> {
    if (this.#stored === null) return;
    if (this.#alarmAt === undefined) this.#alarmAt = await this.ctx.storage.getAlarm();
    const delay = isDisposable(this.#stored)
      ? WATCH_INTERVAL_MS
      : MAX_ALARM_DELAYS_MS[this.#stored.phase];
    const latest = Date.now() + delay;
    if (this.#alarmAt !== null && this.#alarmAt <= latest) return;
    this.#alarmAt = latest;
    await this.ctx.storage.setAlarm(latest);
  }

  /** The reply for a decided payment. Only one caller gets its success as new. */
  async #replyWithOutcome(payment: Payment, order: SettleOrder): Promise<SettleReply> {
    const own = isOwnRequest(payment, order);
    const first = own || !payment.successReported;
    if (payment.outcome?.success && !payment.successReported) {
      const reported = { ...payment, successReported: true };
      if (isDisposable(reported)) this.#payment = reported;
      else this.#write(reported);
      await this.#emptyStorage();
    }
    return toOutcomeReply(payment, { replay: !own, first });
  }

  async #createPendingReply(order: SettleOrder): Promise<SettleReply> {
    const payment = this.#read();
    if (!payment)
      return {
        kind: "refused",
        status: 504,
        message: "The settlement did not start in time. Send the payment again.",
      };
    const status = await readJobStatus(this.env, payment, 0).catch(() => null);
    const { transaction = "", message = null } = status ?? {};
    return toPendingReply(payment, !isOwnRequest(payment, order), { transaction, message });
  }

  /** Null: timed out, or the run ended without an outcome. */
  async #runUntil(run: SettlementRun, effect: PaymentEffect): Promise<SettleReply | null> {
    try {
      const ms = Math.max(run.deadline - Date.now(), 0);
      const work = this.#runExclusively(async () => {
        await this.#scheduleAlarm();
        return this.#runEffects(run, effect);
      });
      return await withTimeout(ms, work, () => null);
    } catch (error) {
      // The wallet's object may be migrating; what was begun is stored there or here.
      log("warn", "x402.run_failed", { error: String(error) });
      await scheduler.wait(RUN_RETRY_DELAY_MS);
      return null;
    }
  }

  /** Several callers share one run. */
  #runExclusively(work: () => Promise<SettleReply | null>): Promise<SettleReply | null> {
    this.#activeRun ??= this.#runAndTidy(work).finally(() => {
      this.#activeRun = null;
    });
    return this.#activeRun;
  }

  async #runAndTidy(work: () => Promise<SettleReply | null>): Promise<SettleReply | null> {
    // A run that breaks off may have written.
    this.#bookmark = null;
    const { result, bookmark } = await trackPrimaryBookmark(work);
    this.#bookmark = bookmark;
    // A payment that is final at once is remembered until the alarm: its own request may come again.
    if (!this.#isOwnRequestWaiting(this.#read())) await this.#emptyStorage();
    return result;
  }

  async #runEffects(run: SettlementRun, first: PaymentEffect | null): Promise<SettleReply | null> {
    for (let effect = first; effect !== null; ) {
      const payment = this.#read();
      if (!payment) break;
      const events = await runEffect(this.env, effect, payment, run);
      effect = await this.#apply(...events);
    }
    return run.reply;
  }

  /** @returns what is to be done next */
  async #apply(...events: PaymentEvent[]): Promise<PaymentEffect | null> {
    const before = this.#read();
    let payment = before;
    let nextEffect: PaymentEffect | null = null;
    for (const event of events) {
      if (!payment) break;
      const { payment: next, effect } = advancePayment(payment, event);
      payment = next;
      nextEffect = effect ?? nextEffect;
      // D1 does not have the refusal: the alarm writes it.
      if (event.kind === "broken" && payment?.phase === "refused") this.#store(payment);
    }
    if (payment !== before) this.#write(payment && this.#markReported(payment));
    await this.#scheduleAlarm();
    // A later event may have done it.
    return payment && nextEffect === PHASE_EFFECTS[payment.phase] ? nextEffect : null;
  }

  /** The request whose answer is not a replay reports the success, if it still waits. */
  #markReported(payment: Payment): Payment {
    return payment.outcome?.success && this.#isOwnRequestWaiting(payment)
      ? { ...payment, successReported: true }
      : payment;
  }

  #isOwnRequestWaiting(payment: Payment | null): boolean {
    return (
      payment !== null && [...this.#waitingOrders].some((order) => isOwnRequest(payment, order))
    );
  }
}

/** Whether losing the payment loses nothing: D1 has no open row of it, and the wallet no job. */
function isMemoryOnly({ phase, order }: Payment, stored: Payment | null): boolean {
  const isStored = stored?.order.attemptId === order.attemptId;
  return phase === "claimed" || (phase === "refused" && !isStored);
}

/** Whether D1 and the chain say all that there is to remember of a payment. */
function isDisposable(payment: Payment | null): boolean {
  return payment === null || (payment.phase === "closed" && payment.successReported);
}

/** Whether the order is of the request whose answer is not a replay. */
function isOwnRequest(payment: Payment, order: SettleOrder): boolean {
  return payment.ownRequest === order.requestId;
}
