import { expect } from "vitest";
import type { JobStatus, SettlementJob, SettleOrder } from "../../../src/x402/model/messages.ts";
import { onRequest } from "../../../src/x402/settle/on-request.ts";
import {
  advancePayment,
  listWatchedAttempts,
  type Payment,
  type PaymentEffect,
  type PaymentEvent,
  toPaymentEvent,
} from "../../../src/x402/settle/payment-state.ts";

/** A request for one authorization, by one key and with its terms. */
export function orderOf(attemptId: string, over: Partial<SettleOrder> = {}): SettleOrder {
  const requirements = {
    scheme: "exact",
    network: "eip155:84532",
    amount: "10000",
    asset: "0xaa",
    payTo: "0xbb",
    maxTimeoutSeconds: 60,
  };
  return {
    v: 1,
    requestId: `request of ${attemptId}`,
    attemptId,
    caller: {
      id: "key",
      permission: "User",
      canPay: true,
      networkLimit: null,
      isUsageLimited: true,
    },
    paymentSourceId: null,
    registryRequestId: null,
    resource: null,
    payload: { x402Version: 2, accepted: requirements, payload: {} },
    payloadHash: "hash",
    claim: "claim",
    paymentIdentifier: null,
    requirements,
    waitMs: 1_000,
    ...over,
  };
}

export const WALLET = { id: "wallet", caip2Id: "eip155:84532", address: "0xcc" };

export function jobOf(id: string): SettlementJob {
  return {
    id,
    to: "0xaa",
    data: "0x",
    kind: "eip3009",
    asset: "0xaa",
    from: "0xdd",
    payTo: "0xbb",
    amount: "10000",
    nonce: "0x01",
    validBefore: "1",
    signBefore: 1,
  };
}

/** What goes wrong with one thing that the object asks for. */
export const FAULTS = [
  "none",
  "lost before",
  "lost after",
  "evicted before",
  "evicted after",
] as const;
export type Fault = (typeof FAULTS)[number];

/** How one effect goes: its fault, and what its outcome is where that is open. */
export interface Turn {
  fault: Fault;
  verdict: "valid" | "invalid" | "broken";
  row: "taken" | "late" | "unpaid";
  chain: "pending" | "settled" | "failed" | "reverted";
}

export interface Request {
  key: "alice" | "bob";
  terms: "agreed" | "others";
  /** Of the scheme `upto`, for at most 10,000; null: `exact`. */
  charge: "10000" | "4000" | "0" | null;
  /** Sent by the object's caller once more, after the object was lost. */
  isAgain: boolean;
}

interface Row {
  key: string;
  status: "Verified" | "Settled" | "Failed";
  /** Outcomes written. */
  revision: number;
  isCharged: boolean;
}

const EVICTED = Symbol("evicted");

/**
 * The object of one authorization, a database and a chain. The database may lose requests and
 * answers, or apply requests late. The chain takes the authorization once. The model checks the
 * invariants at each step.
 */
export class SettlementModel {
  payment: Payment | null = null;
  readonly rows = new Map<string, Row>();
  readonly #jobs = new Map<string, JobStatus>();
  /** Attempts whose charge of 0 has ended the authorization. */
  readonly #ended = new Set<string>();
  /** Writes of rows that are still on their way. */
  #underWay: SettleOrder["attemptId"][] = [];
  readonly #keys = new Map<string, string>();
  readonly #orders = new Map<string, string>();
  #requests = 0;
  #last: SettleOrder | null = null;

  request({ key, terms, charge, isAgain }: Request, turns: Iterator<Turn>): void {
    const attemptId = `attempt ${++this.#requests}`;
    const { requirements, caller } = orderOf(attemptId);
    const payTo = terms === "agreed" ? requirements.payTo : "0xee";
    const amount = charge ?? requirements.amount;
    const fresh = orderOf(attemptId, {
      caller: { ...caller, id: key },
      requirements: { ...requirements, payTo, amount },
      ...(charge !== null && { maxAmount: requirements.amount, payloadHash: "hash of upto" }),
    });
    const order = isAgain && this.#last ? { ...this.#last, attemptId } : fresh;
    this.#last = order;
    this.#keys.set(attemptId, order.caller.id);
    let isWatched = false;
    for (let round = 0; round < 4; round++) {
      const reaction = onRequest(this.payment, order, { isBusy: false, isWatched });
      if (reaction.reply !== "work") return;
      this.#store(reaction.payment);
      if (!this.#run(reaction.effect, turns)) return;
      isWatched ||= reaction.effect === "watch";
    }
  }

  alarm(turns: Iterator<Turn>): void {
    if (!this.payment) return;
    const { payment, effect } = advancePayment(this.payment, { kind: "alarm" });
    this.#store(payment);
    this.#run(effect, turns);
  }

  /** The network delivers what was under way all along. */
  deliver(): void {
    for (const id of this.#underWay) this.#insert(id);
    this.#underWay = [];
    this.#expectNothingForgotten();
  }

  /** A reorganisation, or a block: each job that is not final may have become something else. */
  turnChain(to: Turn["chain"], isFinal: boolean): void {
    for (const id of this.#jobs.keys()) this.#decide(id, to, isFinal);
  }

  /** No fault any more, and time goes on: every book must agree in the end. */
  settleDown(calm: () => Iterator<Turn>): void {
    this.turnChain("settled", true);
    for (let n = 0; n < 200 && this.payment && this.payment.phase !== "closed"; n++) {
      this.alarm(calm());
      for (const [id, status] of this.#jobs) this.#jobs.set(id, { ...status, isFinal: true });
    }
    this.deliver();
    const rows = [...this.rows.values()];
    expect(rows.filter(({ status }) => status === "Verified")).toEqual([]);
    const moved = [...this.#jobs.values()].some(({ state }) => state === "settled");
    expect(moved && this.#ended.size > 0).toBe(false);
    const settled = rows.filter(({ status }) => status === "Settled");
    expect(settled).toHaveLength(moved || this.#ended.size > 0 ? 1 : 0);
    // A payment that failed first got its credit back, and is not charged again.
    const atOnce = settled.filter(({ revision }) => revision === 1);
    expect(rows.filter(({ isCharged }) => isCharged)).toEqual(atOnce);
  }

  /** @returns whether the object lives, and its caller has no answer yet */
  #run(first: PaymentEffect | null, turns: Iterator<Turn>): boolean {
    let isAnswered = false;
    for (let effect = first; effect !== null; ) {
      const events = this.#perform(effect, turns.next().value);
      if (events === EVICTED) return false;
      effect = null;
      for (const event of events) {
        if (!this.payment) break;
        const step = advancePayment(this.payment, event);
        this.#store(step.payment);
        effect = step.effect ?? effect;
        isAnswered ||= ["broken", "late", "denied", "recorded"].includes(event.kind);
      }
      if (events.length === 0) isAnswered = effect === null && this.payment?.phase === "verified";
    }
    return !isAnswered;
  }

  #perform(effect: PaymentEffect, turn: Turn): PaymentEvent[] | typeof EVICTED {
    const { fault } = turn;
    if (fault === "evicted before") return EVICTED;
    if (fault === "lost before") {
      if (effect === "write" && this.payment) this.#underWay.push(this.payment.order.attemptId);
      return effect === "submit" || effect === "watch" ? [] : [{ kind: "broken" }];
    }
    const events = this.#carryOut(effect, turn);
    if (fault === "evicted after") return EVICTED;
    if (fault === "lost after")
      return effect === "submit" || effect === "watch" ? [] : [{ kind: "broken" }];
    return events;
  }

  #carryOut(effect: PaymentEffect, turn: Turn): PaymentEvent[] {
    const { payment } = this;
    if (!payment) throw new Error("nothing is done without a payment");
    const { attemptId } = payment.order;
    switch (effect) {
      case "verify": {
        // The chain would not take an authorization that is used.
        const isUsed = [...this.#jobs.values()].some(({ state }) => state === "settled");
        if (turn.verdict === "broken") return [{ kind: "broken" }];
        if (turn.verdict === "invalid" || isUsed)
          return [{ kind: "invalid", payer: "0xdd", reason: "poor", message: null }];
        return [{ kind: "valid", payer: "0xdd", wallet: WALLET, job: jobOf(attemptId) }];
      }
      case "write": {
        const row = this.rows.get(attemptId);
        if (row) return [{ kind: row.status === "Verified" ? "written" : "ended" }];
        if (turn.row === "unpaid" || !this.#insert(attemptId)) return [{ kind: "denied" }];
        return [{ kind: turn.row === "late" ? "late" : "written" }];
      }
      case "withdraw": {
        this.#end(attemptId, 0);
        return [{ kind: "withdrawn" }];
      }
      case "submit": {
        expect(this.rows.get(attemptId)).toMatchObject({ status: "Verified", revision: 0 });
        if (payment.order.requirements.amount === "0") {
          this.#ended.add(attemptId);
          return [{ kind: "settled", attemptId, ...PENDING, isFinal: true } as PaymentEvent];
        }
        if (!this.#jobs.has(attemptId)) this.#jobs.set(attemptId, PENDING);
        this.#decide(attemptId, turn.chain, false);
        return this.#sightings(payment);
      }
      case "record":
        this.#record(payment);
        return [{ kind: "recorded" }];
      case "watch":
        return this.#sightings(payment);
    }
  }

  #sightings(payment: Payment): PaymentEvent[] {
    return listWatchedAttempts(payment).flatMap(
      (attempt) =>
        toPaymentEvent(attempt, this.#jobs.get(attempt.order.attemptId) ?? UNKNOWN) ?? [],
    );
  }

  /** @returns false when another attempt holds the payment */
  #insert(id: string): boolean {
    if (this.rows.has(id)) return false;
    if ([...this.rows.values()].some(({ status }) => status !== "Failed")) return false;
    const key = this.#keys.get(id) ?? "";
    this.rows.set(id, { key, status: "Verified", revision: 0, isCharged: true });
    return true;
  }

  #end(id: string, revision: 0 | 1): void {
    const row = this.rows.get(id);
    if (row && (row.status !== "Verified" || row.revision > 0)) return;
    const key = this.#keys.get(id) ?? "";
    this.rows.set(id, { key, status: "Failed", revision, isCharged: false });
  }

  #record({ order, outcome, phase, revision }: Payment): void {
    const { attemptId } = order;
    if (phase === "refused") {
      this.#end(attemptId, 1);
      return;
    }
    const status = outcome?.success ? "Settled" : "Failed";
    const row = this.rows.get(attemptId);
    if (!row) throw new Error("an outcome has an attempt");
    if (row.revision === revision + 1) {
      expect(row.status).toBe(status);
      return;
    }
    expect(row.revision).toBe(revision);
    const isCharged = row.isCharged && status === "Settled";
    this.rows.set(attemptId, { ...row, status, revision: revision + 1, isCharged });
  }

  /** The chain takes the authorization once; whoever else wanted it learns so. */
  #decide(id: string, to: Turn["chain"], isFinal: boolean): void {
    const before = this.#jobs.get(id);
    if (!before || before.isFinal) return;
    const isTaken = [...this.#jobs].some(
      ([other, { state }]) => other !== id && state === "settled",
    );
    const state = to === "reverted" ? "failed" : to;
    // Reverted ones come back with their block; others that failed never were sent.
    const now = { ...PENDING, state: isTaken && state === "settled" ? "failed" : state };
    this.#jobs.set(id, { ...now, isFinal: to === "failed" || (isFinal && state !== "pending") });
  }

  #store(payment: Payment | null): void {
    this.payment = payment;
    for (const { order } of payment ? [payment, ...payment.earlier] : []) {
      const text = JSON.stringify(order);
      expect(this.#orders.get(order.attemptId) ?? text).toBe(text);
      this.#orders.set(order.attemptId, text);
      expect(order.caller.id).toBe(this.#keys.get(order.attemptId));
    }
    this.#expectNothingForgotten();
  }

  /** What D1 may have open is what the object is at. */
  #expectNothingForgotten(): void {
    const open = [...this.rows].filter(([, { status }]) => status === "Verified");
    for (const [id] of open) expect(this.payment?.order.attemptId).toBe(id);
    const settled = [...this.rows.values()].filter(({ status }) => status === "Settled");
    expect(settled.length + open.length).toBeLessThanOrEqual(1);
  }
}

const PENDING: JobStatus = {
  state: "pending",
  transaction: "",
  reason: null,
  message: null,
  isFinal: false,
};
const UNKNOWN: JobStatus = { ...PENDING, state: "unknown" };
