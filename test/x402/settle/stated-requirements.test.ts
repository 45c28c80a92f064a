/** A resource without a fixed price: its owner states the terms of each payment. */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { PaymentRequirements } from "../../../src/x402/model/schemas.ts";
import { emptyTables } from "../../support/app.ts";
import { runs } from "../../support/effort.ts";
import { insertKey } from "../../support/keys.ts";
import { api, expectOk, type Payload, type SettleData, X402Fixture } from "../x402-fixture.ts";

type Source = Awaited<ReturnType<X402Fixture["source"]>>;

let x402: X402Fixture;
let buyer: Awaited<ReturnType<X402Fixture["buyer"]>>;
let source: Source;
let token: string;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-stated");
  buyer = await x402.buyer();
  token = await insertKey({ canPay: true, networkLimit: [x402.caip2] });
  source = await x402.source({ url: null, amount: null }, { token });
});

function state(over: Partial<PaymentRequirements> = {}): PaymentRequirements {
  return {
    scheme: "exact",
    network: x402.caip2,
    amount: "2500",
    asset: x402.contracts.token.toLowerCase(),
    payTo: source.payTo,
    maxTimeoutSeconds: 120,
    extra: { name: "Test Dollar", version: "1" },
    ...over,
  };
}

const sign = (requirements: PaymentRequirements, url = "https://any.example.com") =>
  x402.payment(buyer, { url, requirements });

function send<Data = SettleData>(
  path: "verify" | "settle",
  paymentPayload: Payload,
  paymentRequirements?: object,
  headers: Record<string, string> = { token },
  supportedPaymentSourceId = source.id,
) {
  const body = { supportedPaymentSourceId, paymentPayload, paymentRequirements };
  return api<Data>(`/x402/${path}`, body, headers);
}

describe("POST /x402/payment-sources", () => {
  it("registers a resource without a price and a URL", () => {
    expect(source).toMatchObject({
      url: null,
      requirements: null,
      terms: {
        caip2Network: x402.caip2,
        asset: x402.contracts.token.toLowerCase(),
        payTo: source.payTo,
        amount: null,
      },
    });
  });

  it("compares no URL for a resource that has a price alone", async () => {
    const priced = await x402.source({ url: null }, { token });
    const payment = await x402.payment(buyer, { ...priced, ...noUrl });
    expect((await send("settle", payment, undefined, { token }, priced.id)).data).toMatchObject({
      settleResponse: { success: true, amount: "10000" },
    });
  });
});

const noUrl = { url: "https://one.example" };

describe("a payment for a resource without a price", () => {
  it("is verified and settled at the price that the owner states", async () => {
    const terms = state();
    const payment = await sign(terms);
    const verified = await send<object>("verify", payment, terms);
    expect(verified.data).toMatchObject({ isValid: true, paymentIdentifier: null });
    const before = await x402.balance(source.payTo);
    const { attemptId, settleResponse } = await expectOk(await send("settle", payment, terms));
    expect(settleResponse).toMatchObject({ success: true, amount: "2500" });
    expect((await x402.balance(source.payTo)) - before).toBe(2500n);
    const { data } = await api<{ PaymentAttempts: object[] }>("/x402/payments?take=1");
    expect(data.PaymentAttempts).toMatchObject([{ id: attemptId, amount: "2500", resource: null }]);
    expect((await send("settle", payment, terms)).data).toMatchObject({ replay: true });
    const other = await send("settle", payment, { ...terms, amount: "1" });
    expect([other.status, other.message]).toEqual([
      400,
      "paymentPayload.accepted.amount: must be 1",
    ]);
  });

  it("needs stated terms", async () => {
    const { status, message } = await send("settle", await sign(state()));
    expect([status, message]).toEqual([
      400,
      "paymentRequirements: is required, as the resource has no fixed price",
    ]);
  });

  it.each([
    ["scheme", "upto"],
    ["network", "eip155:1"],
    ["asset", `0x${"12".repeat(20)}`],
    ["payTo", `0x${"34".repeat(20)}`],
    ["maxTimeoutSeconds", 86_401],
    ["maxTimeoutSeconds", 0],
    ["amount", "0"],
  ])("is refused when the stated %s is %s", async (field, value) => {
    const { status, message } = await send("settle", await sign(state()), {
      ...state(),
      [field]: value,
    });
    expect(status).toBe(400);
    expect(message).toContain(`paymentRequirements.${field}`);
  });

  it("takes addresses of any case", async () => {
    const terms = state();
    const stated = { ...terms, asset: x402.contracts.token };
    expect((await send<object>("verify", await sign(terms), stated)).data).toMatchObject({
      isValid: true,
    });
  });

  it("is none of another key, which states no price", async () => {
    const stranger = await insertKey({ canPay: true, networkLimit: [x402.caip2] });
    const payment = await sign(state());
    for (const path of ["verify", "settle"] as const)
      expect((await send(path, payment, state(), { token: stranger })).status).toBe(404);
    const { data } = await send<object>("verify", payment, state(), {});
    expect(data).toMatchObject({ isValid: true });
  });
});

it("no terms that a buyer accepts, and none that are stated, set a fixed price", async () => {
  const fixed = await x402.source({}, { token });
  const amount = fc.bigInt({ min: 1n, max: 20_000n }).map(String);
  const property = fc.asyncProperty(amount, amount, async (accepted, stated) => {
    const payment = await x402.payment(buyer, {
      ...fixed,
      requirements: { ...fixed.requirements, amount: accepted },
    });
    const terms = { ...fixed.requirements, amount: stated };
    const { status, data } = await send<{ isValid: boolean }>(
      "verify",
      payment,
      terms,
      { token },
      fixed.id,
    );
    const isAccepted = status === 200 && data.isValid;
    expect(isAccepted).toBe(accepted === fixed.requirements.amount);
  });
  const examples: [string, string][] = [
    ["10000", "1"],
    ["1", "1"],
  ];
  await fc.assert(property, { ...runs(10, 100), examples });
});
