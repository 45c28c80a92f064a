import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { onRequest } from "../../../src/x402/settle/on-request.ts";
import {
  advancePayment,
  PAYMENT_PHASES,
  type Payment,
  type PaymentEffect,
  type PaymentEvent,
  type PaymentPhase,
  toPaymentEvent,
} from "../../../src/x402/settle/payment-state.ts";
import { runs } from "../../support/effort.ts";
import { FAULTS, jobOf, orderOf, SettlementModel, type Turn, WALLET } from "./payment-model.ts";

const SUCCESS = {
  success: true,
  transaction: "0x01",
  payer: "0xdd",
  errorReason: null,
  errorMessage: null,
};

/** A payment that has come as far as that. */
function paymentIn(phase: PaymentPhase, over: Partial<Payment> = {}): Payment {
  const { payload: _, v: __, waitMs: ___, ...order } = orderOf("first");
  const isDecided = !["claimed", "writing", "withdrawing", "verified"].includes(phase);
  const isSuccess = ["settled", "settledRecorded", "closed"].includes(phase);
  return {
    phase,
    order,
    ownRequest: order.requestId,
    payer: "0xdd",
    wallet: WALLET,
    job: jobOf("first"),
    outcome: isDecided ? { ...SUCCESS, success: isSuccess } : null,
    revision: phase.endsWith("Recorded") || phase === "closed" ? 1 : 0,
    isFinal: phase === "closed" || phase === "refused",
    successReported: false,
    earlier: [],
    ...over,
  };
}

const KINDS = Object.keys({
  valid: true,
  invalid: true,
  written: true,
  late: true,
  ended: true,
  denied: true,
  broken: true,
  withdrawn: true,
  settled: true,
  failed: true,
  final: true,
  recorded: true,
  alarm: true,
} satisfies Record<PaymentEvent["kind"], true>) as PaymentEvent["kind"][];

function eventOf(kind: PaymentEvent["kind"], attemptId = "first"): PaymentEvent {
  const word = { attemptId, transaction: "0x02", reason: null, message: null, isFinal: false };
  switch (kind) {
    case "valid":
      return { kind, payer: "0xdd", wallet: WALLET, job: jobOf("first") };
    case "invalid":
      return { kind, payer: "0xdd", reason: "poor", message: null };
    case "settled":
    case "failed":
      return { kind, ...word };
    case "final":
      return { kind, attemptId };
    default:
      return { kind };
  }
}

/** Every event that changes something, and what is to be done then; `gone`: it is forgotten. */
const CHANGES: [PaymentPhase, PaymentEvent["kind"], PaymentPhase | "gone", PaymentEffect | null][] =
  [
    ["claimed", "valid", "writing", "write"],
    ["claimed", "invalid", "refused", "record"],
    ["claimed", "broken", "gone", null],
    ["claimed", "alarm", "gone", null],
    ["writing", "valid", "writing", "write"],
    ["writing", "invalid", "refused", "record"],
    ["writing", "written", "verified", "submit"],
    ["writing", "late", "withdrawing", "withdraw"],
    ["writing", "ended", "gone", null],
    ["writing", "denied", "withdrawing", "withdraw"],
    ["writing", "alarm", "withdrawing", "withdraw"],
    ["withdrawing", "withdrawn", "gone", null],
    ["withdrawing", "alarm", "withdrawing", "withdraw"],
    ["verified", "settled", "settled", "record"],
    ["verified", "failed", "failed", "record"],
    ["verified", "alarm", "verified", "submit"],
    ["refused", "recorded", "gone", null],
    ["refused", "alarm", "refused", "record"],
    ["settled", "recorded", "settledRecorded", null],
    ["settled", "alarm", "settled", "record"],
    ["failed", "recorded", "failedRecorded", null],
    ["failed", "alarm", "failed", "record"],
    ["settledRecorded", "settled", "settled", "record"],
    ["settledRecorded", "failed", "failed", "record"],
    ["settledRecorded", "final", "closed", null],
    ["settledRecorded", "alarm", "settledRecorded", "watch"],
    ["failedRecorded", "settled", "settled", "record"],
    ["failedRecorded", "final", "gone", null],
    ["failedRecorded", "alarm", "failedRecorded", "watch"],
  ];

describe("the table of a payment", () => {
  const cells = PAYMENT_PHASES.flatMap((phase) => KINDS.map((kind) => [phase, kind] as const));
  it.each(cells)("%s, %s", (phase, kind) => {
    const payment = paymentIn(phase);
    const step = advancePayment(payment, eventOf(kind));
    const change = CHANGES.find(([from, event]) => from === phase && event === kind);
    if (change)
      expect([step.payment?.phase ?? "gone", step.effect]).toEqual([change[2], change[3]]);
    else expect(step).toEqual({ payment, effect: null });
    if (step.payment) expect(step.payment.order).toEqual(payment.order);
  });

  it("closes or forgets at once what is final when D1 has it", () => {
    const recorded = (phase: PaymentPhase) =>
      advancePayment(paymentIn(phase, { isFinal: true }), { kind: "recorded" }).payment;
    expect(recorded("settled")).toMatchObject({ phase: "closed", revision: 1 });
    expect(recorded("failed")).toBeNull();
  });

  it("comes back to the attempt before when the latest is forgotten", () => {
    const { earlier: _, ...before } = paymentIn("failedRecorded");
    const payment = paymentIn("withdrawing", { earlier: [before] });
    expect(advancePayment(payment, { kind: "withdrawn" }).payment).toEqual({
      ...before,
      earlier: [],
    });
  });

  it.each(PAYMENT_PHASES)(
    "%s, an attempt before is settled: its turn only once the latest failed",
    (phase) => {
      const order = { ...paymentIn("claimed").order, attemptId: "before" };
      const { earlier: _, ...before } = paymentIn("failedRecorded", { order });
      const payment = paymentIn(phase, { earlier: [before] });
      const step = advancePayment(payment, eventOf("settled", "before"));
      if (phase !== "failedRecorded") return expect(step).toEqual({ payment, effect: null });
      expect(step).toMatchObject({ payment: { phase: "settled", order }, effect: "record" });
      expect(step.payment?.earlier.map((one) => one.order.attemptId)).toEqual(["first"]);
      const final = advancePayment(payment, { kind: "final", attemptId: "before" });
      expect(final).toEqual({ payment: { ...payment, earlier: [] }, effect: null });
    },
  );

  it("hears no event of an attempt that it does not know", () => {
    for (const phase of PAYMENT_PHASES)
      for (const kind of ["settled", "failed", "final"] as const) {
        const payment = paymentIn(phase);
        expect(advancePayment(payment, eventOf(kind, "stranger"))).toEqual({
          payment,
          effect: null,
        });
      }
  });
});

describe("what the wallet says", () => {
  const says = (state: "unknown" | "pending" | "settled" | "failed", isFinal = false) => ({
    state,
    transaction: "0x01",
    reason: null,
    message: null,
    isFinal,
  });
  it("is news, the end of watching, or nothing", () => {
    const [verified, settled] = [paymentIn("verified"), paymentIn("settledRecorded")];
    expect(toPaymentEvent(verified, says("pending"))).toBeNull();
    expect(toPaymentEvent(verified, says("unknown"))).toBeNull();
    expect(toPaymentEvent(verified, says("settled"))).toMatchObject({ kind: "settled" });
    expect(toPaymentEvent(settled, says("settled"))).toBeNull();
    expect(toPaymentEvent(settled, says("settled", true))).toMatchObject({ kind: "final" });
    expect(toPaymentEvent(settled, says("unknown"))).toMatchObject({ kind: "final" });
    expect(toPaymentEvent(settled, says("failed"))).toMatchObject({ kind: "failed" });
    const moved = { ...says("settled"), transaction: "0x02" };
    expect(toPaymentEvent(settled, moved)).toMatchObject({ kind: "settled", transaction: "0x02" });
  });
});

describe("a request for an authorization", () => {
  const { caller, requirements } = orderOf("second");
  const ASKED = {
    own: orderOf("second", { requestId: "request of first" }),
    repeat: orderOf("second"),
    rival: orderOf("second", { caller: { ...caller, id: "another key" } }),
    other: orderOf("second", { payloadHash: "another hash" }),
  };
  const RELATIONS = ["own", "repeat", "rival", "other"] as const;
  /** What each request causes, in the order of RELATIONS. */
  const REPLIES: Record<PaymentPhase, string> = {
    claimed: "new new new new",
    writing: "verify verify withdraw conflict",
    withdrawing: "withdraw withdraw withdraw conflict",
    verified: "submit submit submit conflict",
    refused: "record record record conflict",
    settled: "outcome outcome outcome conflict",
    failed: "outcome outcome outcome conflict",
    settledRecorded: "outcome outcome outcome conflict",
    failedRecorded: "outcome new new new",
    closed: "outcome outcome outcome conflict",
  };
  const reactTo = (payment: Payment, order = ASKED.repeat, isBusy = false) =>
    onRequest(payment, order, { isBusy, isWatched: true });

  it.each(PAYMENT_PHASES)("in phase %s is answered by its payment, key and request", (phase) => {
    const payment = paymentIn(phase);
    const replies = RELATIONS.map((relation) => {
      const reaction = reactTo(payment, ASKED[relation]);
      if (reaction.reply !== "work") return reaction.reply;
      const isNew = reaction.payment.order.attemptId === "second";
      expect(reaction.payment.order.caller.id).toBe(isNew ? ASKED[relation].caller.id : "key");
      expect(reaction.payment.order.attemptId).toBe(isNew ? "second" : "first");
      return isNew ? "new" : reaction.effect;
    });
    expect(replies.join(" ")).toBe(REPLIES[phase]);
  });

  it("joins a beginning that is under way, or is turned away", () => {
    for (const phase of ["claimed", "writing"] as const) {
      const payment = paymentIn(phase);
      for (const relation of ["own", "repeat", "rival"] as const)
        expect(reactTo(payment, ASKED[relation], true)).toMatchObject({ reply: "work", payment });
      expect(reactTo(payment, ASKED.other, true).reply).toBe("conflict");
    }
  });

  it.each([
    ["payee", { payTo: "0xee" }],
    ["amount", { amount: "1000000" }],
    ["token", { asset: "0xee" }],
    ["network", { network: "eip155:1" }],
  ])("is for another payment with another %s", (_, changes) => {
    const order = orderOf("second", { requirements: { ...requirements, ...changes } });
    expect(reactTo(paymentIn("closed"), order).reply).toBe("conflict");
    const elsewhere = orderOf("second", { paymentSourceId: "source" });
    expect(reactTo(paymentIn("closed"), elsewhere).reply).toBe("conflict");
  });

  it("is for the same payment with addresses in other letters", () => {
    const order = orderOf("second", {
      requirements: { ...requirements, payTo: "0xBB", asset: "0xAA" },
    });
    expect(reactTo(paymentIn("closed"), order).reply).toBe("outcome");
  });

  const charged = (attemptId: string, amount: string) =>
    orderOf(attemptId, { requirements: { ...requirements, amount }, maxAmount: "10000" });

  it("is for the same payment with another charge of upto, and its charge stands", () => {
    const { order } = paymentIn("claimed");
    for (const phase of ["writing", "verified", "settled", "closed"] as const) {
      const payment = paymentIn(phase, { order: { ...order, maxAmount: "10000" } });
      const reaction = reactTo(payment, charged("second", "1"));
      expect(reaction.reply).toBe(phase === "writing" || phase === "verified" ? "work" : "outcome");
      expect(reaction.payment.order.requirements.amount).toBe("10000");
    }
    expect(reactTo(paymentIn("closed"), charged("second", "10000")).reply).toBe("conflict");
  });

  it("begins another attempt with its own charge once the one before has failed", () => {
    const failed = paymentIn("failedRecorded");
    const reaction = reactTo(failed, charged("second", "1"));
    expect(reaction).toMatchObject({
      reply: "work",
      payment: {
        order: { attemptId: "second", requirements: { amount: "1" } },
        earlier: [{ order: { attemptId: "first", requirements: { amount: "10000" } } }],
      },
    });
  });

  it("ends nothing for good by a charge of 0 while a re-org may settle what has failed", () => {
    const failed = paymentIn("failedRecorded");
    expect(reactTo(failed, charged("second", "0"))).toEqual({ payment: failed, reply: "outcome" });
    const { earlier: _, ...before } = failed;
    const claimed = paymentIn("claimed", { earlier: [before] });
    expect(reactTo(claimed, charged("second", "0"))).toEqual({ payment: failed, reply: "outcome" });
  });

  it("has a failed payment compared with the chain before another attempt begins", () => {
    const asked = { isBusy: false, isWatched: false };
    expect(onRequest(paymentIn("failedRecorded"), ASKED.repeat, asked)).toMatchObject({
      effect: "watch",
    });
  });

  it("begins no more attempts than fit while those before are not final", () => {
    let payment = paymentIn("failedRecorded");
    let attempts = 1;
    for (;;) {
      const reaction = reactTo(payment, orderOf(`attempt ${attempts}`));
      if (reaction.reply !== "work") break;
      payment = { ...paymentIn("failedRecorded"), ...reaction.payment, phase: "failedRecorded" };
      attempts++;
    }
    expect(attempts).toBe(33);
  });
});

const turn: fc.Arbitrary<Turn> = fc.record({
  fault: fc.oneof(
    { weight: 3, arbitrary: fc.constant("none" as const) },
    { weight: 2, arbitrary: fc.constantFrom(...FAULTS) },
  ),
  verdict: fc.constantFrom("valid", "valid", "valid", "invalid", "broken"),
  row: fc.constantFrom("taken", "taken", "taken", "late", "unpaid"),
  chain: fc.constantFrom("pending", "settled", "failed", "reverted"),
});
const turns = fc.array(turn, { minLength: 8, maxLength: 8 });
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      request: fc.record({
        key: fc.constantFrom("alice" as const, "bob" as const),
        terms: fc.constantFrom("agreed" as const, "agreed" as const, "others" as const),
        charge: fc.constantFrom(null, null, "10000" as const, "4000" as const, "0" as const),
        isAgain: fc.boolean(),
      }),
      turns,
    }),
  },
  { weight: 3, arbitrary: fc.record({ alarm: fc.constant(true), turns }) },
  {
    weight: 2,
    arbitrary: fc.record({
      chain: fc.constantFrom<Turn["chain"]>("pending", "settled", "reverted"),
      isFinal: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ deliver: fc.constant(true) }) },
);

const CALM: Turn = { fault: "none", verdict: "valid", row: "taken", chain: "reverted" };
function* without(faults: Turn[]): Generator<Turn, Turn> {
  yield* faults;
  for (;;) yield CALM;
}

describe("any sequence of requests, alarms, lost answers, evictions and reorganisations", () => {
  it("settles once, keeps every claim with its key, and leaves no attempt open in D1", () => {
    fc.assert(
      fc.property(fc.array(command, { minLength: 1, maxLength: 12 }), (commands) => {
        const settlement = new SettlementModel();
        for (const one of commands)
          if ("request" in one) settlement.request(one.request, without(one.turns));
          else if ("alarm" in one) settlement.alarm(without(one.turns));
          else if ("chain" in one) settlement.turnChain(one.chain, one.isFinal);
          else settlement.deliver();
        settlement.settleDown(() => without([]));
      }),
      runs(1_000, 100_000),
    );
  });
});
