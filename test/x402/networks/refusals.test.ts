import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { call, emptyTables } from "../../support/app.ts";
import { order, pay, purse, terms } from "../pay/paying.ts";
import { api, type Envelope, expectOk, settle, X402Fixture } from "../x402-fixture.ts";

type Ways = Record<string, () => Promise<Envelope<unknown>>>;

let x402: X402Fixture;
let ways: Ways;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-refusals");
});
beforeEach(async () => {
  await emptyTables();
  await x402.setUp();
  ways = await everyWay();
});

const change = (body: object) => api("/x402/networks", { caip2Id: x402.caip2, ...body });

/** Each way to bring one payment to the x402, and to make or to ask for another. */
async function everyWay(): Promise<Ways> {
  const [source, wallet] = [await x402.source(), await purse(x402)];
  const paymentPayload = await x402.payment(await x402.buyer(), source);
  const { id: supportedPaymentSourceId, requirements, url, payTo } = source;
  const plain = { x402Version: 2, paymentPayload, paymentRequirements: requirements };
  return {
    settle: () => settle(source, paymentPayload),
    verify: () => api("/x402/verify", { supportedPaymentSourceId, paymentPayload }),
    "facilitator/settle": () => api("/x402/facilitator/settle", plain),
    "facilitator/verify": () => api("/x402/facilitator/verify", plain),
    pay: () => pay(order(wallet, [terms(x402)])),
    "payment-sources": () =>
      api("/x402/payment-sources", { url, payTo, caip2Network: x402.caip2, amount: "1" }),
  };
}

/** Goes every way, and tells what was answered. */
async function statuses(): Promise<Record<string, number>> {
  const answers: Record<string, number> = {};
  for (const [name, ask] of Object.entries(ways)) answers[name] = (await ask()).status;
  return answers;
}

async function attempts(): Promise<{ direction: string }[]> {
  const { data } = await api<{ PaymentAttempts: { direction: string }[] }>("/x402/payments");
  return data.PaymentAttempts;
}

const SETTLES = { status: 200, data: { replay: false, settleResponse: { success: true } } };

describe("a network", () => {
  it("that is off has nothing settled, verified, paid or registered on it", async () => {
    await expectOk(await change({ isEnabled: false }));
    expect(await statuses()).toEqual({
      settle: 404,
      verify: 404,
      "facilitator/settle": 200,
      "facilitator/verify": 200,
      pay: 400,
      "payment-sources": 404,
    });
    expect(await attempts()).toEqual([]);
    const supported = await call("/api/v1/x402/facilitator/supported");
    expect(await supported.json()).toMatchObject({ kinds: [], signers: { "eip155:*": [] } });
    await expectOk(await change({ isEnabled: true }));
    expect(await ways.settle?.()).toMatchObject(SETTLES);
  });

  it("without a facilitator wallet has nothing settled or verified", async () => {
    await expectOk(await change({ facilitatorWalletId: null }));
    expect(await statuses()).toEqual({
      settle: 404,
      verify: 404,
      "facilitator/settle": 200,
      "facilitator/verify": 200,
      pay: 200,
      "payment-sources": 200,
    });
    expect((await attempts()).map(({ direction }) => direction)).toEqual(["OutboundPayment"]);
    await expectOk(await change({ facilitatorWalletId: x402.facilitator.id }));
    expect(await ways.settle?.()).toMatchObject(SETTLES);
  });

  it("whose node has turned to another chain has nothing settled or verified", async () => {
    await x402.rpc("anvil_setChainId", 1);
    const answers = await statuses();
    await x402.rpc("anvil_setChainId", x402.contracts.chainId);
    expect(answers).toMatchObject({
      settle: 502,
      verify: 502,
      "facilitator/settle": 502,
      "facilitator/verify": 502,
    });
    expect((await attempts()).map(({ direction }) => direction)).toEqual(["OutboundPayment"]);
    expect(await ways.settle?.()).toMatchObject(SETTLES);
  });
});
