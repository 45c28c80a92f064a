import { beforeAll, describe, expect, it } from "vitest";
import { call, emptyTables } from "../../support/app.ts";
import type { Attempt } from "../settlement-fixture.ts";
import { api, type Payload, settle, X402Fixture } from "../x402-fixture.ts";

interface Verification {
  attemptId: string;
  paymentPayloadHash: string;
  isValid: boolean;
  payer: string | null;
  invalidReason: string | null;
  invalidMessage: string | null;
}

let x402: X402Fixture;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-verify");
});

async function verify(source: { id: string }, paymentPayload: Payload): Promise<Verification> {
  const body = { supportedPaymentSourceId: source.id, paymentPayload };
  return (await api<Verification>("/x402/verify", body)).data;
}

async function attempts(hash: string): Promise<(Attempt & { direction: string })[]> {
  const path = `/x402/payments?paymentPayloadHash=${hash}`;
  const { data } = await api<{ PaymentAttempts: (Attempt & { direction: string })[] }>(path);
  return data.PaymentAttempts;
}

describe("POST /x402/verify", () => {
  it("says what settling would say, and settles nothing", async () => {
    const [buyer, source] = [await x402.buyer(), await x402.source()];
    const payment = await x402.payment(buyer, source);
    const verified = await verify(source, payment);
    expect(verified).toMatchObject({
      isValid: true,
      payer: buyer.address.toLowerCase(),
      invalidReason: null,
      invalidMessage: null,
    });
    expect(await x402.balance(source.payTo)).toBe(0n);
    expect(await attempts(verified.paymentPayloadHash)).toMatchObject([
      { id: verified.attemptId, direction: "InboundVerify", status: "Verified", Settlement: null },
    ]);

    const settled = (await settle(source, payment)).data;
    expect(settled).toMatchObject({ replay: false, settleResponse: { success: true } });
    expect(settled.paymentPayloadHash).toBe(verified.paymentPayloadHash);
    expect(await verify(source, payment)).toMatchObject({
      isValid: false,
      invalidReason: "invalid_exact_evm_nonce_already_used",
    });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("records why a payment would not settle", async () => {
    const [poor, source] = [await x402.buyer(1n), await x402.source()];
    const payment = await x402.payment(poor, source);
    const refused = await verify(source, payment);
    const errorReason = "invalid_exact_evm_insufficient_balance";
    expect(refused).toMatchObject({ isValid: false, invalidReason: errorReason });
    expect(await attempts(refused.paymentPayloadHash)).toMatchObject([
      { direction: "InboundVerify", status: "Failed", errorReason },
    ]);
  });
});

describe("POST /x402/facilitator/verify and settle, sent no x402Version of their own", () => {
  const ask = async (path: string, paymentPayload: Payload) => {
    const body = JSON.stringify({ paymentPayload, paymentRequirements: paymentPayload.accepted });
    const answer = await call(`/api/v1/x402/facilitator/${path}`, { method: "POST", body });
    return { status: answer.status, body: await answer.json() };
  };

  it("take that of the payload", async () => {
    const [buyer, source] = [await x402.buyer(), await x402.source()];
    const payment = await x402.payment(buyer, source);
    const verified = await ask("verify", payment);
    expect(verified).toMatchObject({ status: 200, body: { isValid: true } });
    const settled = await ask("settle", payment);
    expect(settled).toMatchObject({ status: 200, body: { success: true } });

    const newer = { ...payment, x402Version: 3 };
    const reason = "invalid_x402_version";
    expect((await ask("verify", newer)).body).toMatchObject({ invalidReason: reason });
    expect((await ask("settle", newer)).body).toMatchObject({ errorReason: reason });
  });
});
