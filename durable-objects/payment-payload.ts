import { DurableObject } from "cloudflare:workers";
import type { Env } from "../src/env.ts";
import { log } from "../src/log.ts";
import { withTimeout } from "../src/timeout.ts";
import type { PaymentObject, SettleOrder, SettleResponse } from "../src/x402/model/messages.ts";
import { onRequest } from "../src/x402/settle/on-request.ts";
import {
  readJobStatus,
  runEffect,
  type SettlementRun,
} from "../src/x402/settle/payment-effects.ts";
import { toPendingResponse, toSettleResponse } from "../src/x402/settle/payment-response.ts";
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
const RETRY_DELAY_MS = 5_000;
/** When an abandoned beginning is given up. */
const ABANDON_TIMEOUT_MS = 60_000;
/** How often a decided payment is compared with the chain until no re-org can affect it. */
const WATCH_INTERVAL_MS = 60_000;
const RUN_RETRY_DELAY_MS = 200;

/** How long a phase is left alone; null: forever. */
const ALARM_DELAYS_MS: Record<PaymentPhase, number | null> = {
  claimed: ABANDON_TIMEOUT_MS,
  writing: ABANDON_TIMEOUT_MS,
  withdrawing: RETRY_DELAY_MS,
  verified: MAX_RUN_MS + RETRY_DELAY_MS,
  refused: RETRY_DELAY_MS,
  settled: RETRY_DELAY_MS,
  failed: RETRY_DELAY_MS,
  settledRecorded: WATCH_INTERVAL_MS,
  failedRecorded: WATCH_INTERVAL_MS,
  closed: null,
};

const STORAGE_KEY = "payment";

/**
 * One on-chain authorization, and so at most one transfer. The table of
 * `src/x402/settle/payment-state.ts` defines the transitions. This object stores the payment's state
 * before any external call, sets the alarm, and performs what the table says.
 */
export class PaymentPayload extends DurableObject<Env> implements PaymentObject {
  #activeRun: Promise<SettleResponse | null> | null = null;

  async settle(order: SettleOrder): Promise<SettleResponse> {
    const deadline = Date.now() + order.waitMs;
    let hasWaited = false;
    let isWatched = false;
    for (;;) {
      // Nothing is awaited from here until the run has begun, so no other call can interleave.
      const before = this.#read();
      const isBusy = this.#activeRun !== null;
      const reaction = onRequest(before, order, { isBusy, isWatched });
      const { payment } = reaction;
      if (reaction.reply === "outcome") return this.#respondWithOutcome(payment, order);
      if (reaction.reply === "conflict")
        return { kind: "conflict", attemptId: payment.order.attemptId };
      if (hasWaited && Date.now() >= deadline) return this.#createPendingResponse(order);

      if (payment !== before) this.#write(payment);
      const answer = await this.#runUntil({ order, deadline, response: null }, reaction.effect);
      hasWaited = true;
      isWatched ||= reaction.effect === "watch";
      if (answer?.kind === "settled")
        return this.#respondWithOutcome(this.#read() ?? payment, order);
      if (answer && "replay" in answer) return { ...answer, replay: !isOwnRequest(payment, order) };
      // The reason why another key's attempt was not begun does not apply to this key's.
      const isOthers = isBusy && reaction.relation === "rival" && answer?.kind === "refused";
      if (answer && !isOthers) return answer;
    }
  }

  /** Resumes unfinished work. */
  async wake(): Promise<void> {
    if (this.#read()) await this.ctx.storage.setAlarm(Date.now());
  }

  /** Never throws: after six failures the platform drops an alarm. */
  override async alarm(): Promise<void> {
    try {
      const run = { order: null, deadline: Date.now() + MAX_RUN_MS, response: null };
      await this.#runExclusively(async () =>
        this.#runEffects(run, await this.#apply({ kind: "alarm" })),
      );
    } catch (error) {
      log("error", "x402.payment_alarm_failed", { error: String(error) });
    }
    if (this.#read()) await this.#setAlarm();
  }

  #read(): Payment | null {
    return this.ctx.storage.kv.get<Payment>(STORAGE_KEY) ?? null;
  }

  #write(payment: Payment | null): void {
    if (payment) this.ctx.storage.kv.put(STORAGE_KEY, payment);
    else this.ctx.storage.kv.delete(STORAGE_KEY);
  }

  async #setAlarm(): Promise<void> {
    const payment = this.#read();
    const ms = payment && ALARM_DELAYS_MS[payment.phase];
    if (ms === null) await this.ctx.storage.deleteAlarm();
    else await this.ctx.storage.setAlarm(Date.now() + ms);
  }

  /** The answer for a decided payment. Only one caller gets its success as new. */
  #respondWithOutcome(payment: Payment, order: SettleOrder): SettleResponse {
    const own = isOwnRequest(payment, order);
    const first = own || !payment.successReported;
    if (payment.outcome?.success && !payment.successReported)
      this.#write({ ...payment, successReported: true });
    return toSettleResponse(payment, { replay: !own, first });
  }

  async #createPendingResponse(order: SettleOrder): Promise<SettleResponse> {
    const payment = this.#read();
    if (!payment)
      return {
        kind: "refused",
        status: 504,
        message: "The settlement did not start in time. Send the payment again.",
      };
    const status = await readJobStatus(this.env, payment, 0).catch(() => null);
    return toPendingResponse(payment, !isOwnRequest(payment, order), status?.transaction ?? "");
  }

  /** Null: timed out, or the run ended without an outcome. */
  async #runUntil(run: SettlementRun, effect: PaymentEffect): Promise<SettleResponse | null> {
    try {
      const ms = Math.max(run.deadline - Date.now(), 0);
      const work = this.#runExclusively(async () => {
        await this.#setAlarm();
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
  #runExclusively(work: () => Promise<SettleResponse | null>): Promise<SettleResponse | null> {
    this.#activeRun ??= work().finally(() => {
      this.#activeRun = null;
    });
    return this.#activeRun;
  }

  async #runEffects(
    run: SettlementRun,
    first: PaymentEffect | null,
  ): Promise<SettleResponse | null> {
    for (let effect = first; effect !== null; ) {
      const payment = this.#read();
      if (!payment) break;
      const events = await runEffect(this.env, effect, payment, run);
      effect = await this.#apply(...events);
    }
    return run.response;
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
    }
    if (payment !== before) {
      this.#write(payment);
      await this.#setAlarm();
    }
    // A later event may have done it.
    return payment && nextEffect === PHASE_EFFECTS[payment.phase] ? nextEffect : null;
  }
}

/** Whether the order is of the request whose answer is not a replay. */
function isOwnRequest(payment: Payment, order: SettleOrder): boolean {
  return payment.ownRequest === order.requestId;
}
