import { beforeAll, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { type Payload, settle, X402Fixture } from "../x402-fixture.ts";

let x402: X402Fixture;
let buyer: Awaited<ReturnType<X402Fixture["buyer"]>>;
let source: Awaited<ReturnType<X402Fixture["source"]>>;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-identifier");
  buyer = await x402.buyer();
});

/** A new payment that carries the extension. */
async function identified(info: Record<string, unknown>, by = buyer): Promise<Payload> {
  const extensions = { "payment-identifier": { info } };
  return { ...(await x402.payment(by, source)), extensions };
}

describe("POST /x402/settle with a payment identifier", () => {
  it("tells it, and answers the same payment again with its settlement", async () => {
    source = await x402.source();
    const payment = await identified({ required: true, id: "order_0123456789ab" });
    const first = (await settle(source, payment)).data;
    expect(first.paymentIdentifier).toBe("order_0123456789ab");
    expect((await settle(source, payment)).data).toMatchObject({
      replay: true,
      paymentIdentifier: "order_0123456789ab",
      settleResponse: first.settleResponse,
    });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("answers 409 to another payment under it, and names the attempt", async () => {
    source = await x402.source();
    const info = { required: true, id: "order_one_for_one" };
    const { attemptId } = (await settle(source, await identified(info))).data;
    const { status, message } = await settle(source, await identified(info));
    expect({ status, message }).toEqual({
      status: 409,
      message: expect.stringContaining(attemptId),
    });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("settles one of several payments that come under it at once", async () => {
    source = await x402.source();
    const info = { required: true, id: "order_all_at_once" };
    const payments = await Promise.all([1, 2, 3, 4].map(() => identified(info)));
    const answers = await Promise.all(payments.map((payment) => settle(source, payment)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("settles payments of other payers under the same identifier", async () => {
    source = await x402.source();
    const info = { required: true, id: "order_of_everybody" };
    const payments = [await identified(info), await identified(info, await x402.buyer())];
    for (const payment of payments)
      expect((await settle(source, payment)).data.settleResponse.success).toBe(true);
    expect(await x402.balance(source.payTo)).toBe(20_000n);
  });

  it("answers a stranger who claims its payer as without the identifier", async () => {
    source = await x402.source();
    const info = { required: true, id: "order_of_a_victim" };
    await settle(source, await identified(info));
    const stranger = await x402.buyer();
    const forged = await x402.payment(stranger, source, "eip3009", buyer.address);
    const { data } = await settle(source, { ...(await identified(info)), payload: forged.payload });
    expect(data.settleResponse).toMatchObject({ errorReason: "invalid_exact_evm_signature" });
  });

  it("takes another payment under it once the first has failed", async () => {
    source = await x402.source();
    const info = { required: true, id: "order_second_try" };
    const failing = await identified(info);
    const poor = await x402.buyer(1n);
    const { payload } = await x402.payment(poor, source);
    const refused = (await settle(source, { ...failing, payload })).data;
    expect(refused.settleResponse.success).toBe(false);
    expect((await settle(source, failing)).data.settleResponse.success).toBe(true);
  });

  it.each([
    ["short", { required: true, id: "short" }],
    ["too long", { required: false, id: "x".repeat(129) }],
    ["of other characters", { required: false, id: "order 0123456789ab" }],
    ["no text", { required: false, id: 1234567890123456 }],
    ["required and absent", { required: true }],
  ])("answers 400 when it is %s", async (_, info) => {
    source = await x402.source();
    const { status, message } = await settle(source, await identified(info));
    expect(status).toBe(400);
    expect(message).toContain("paymentPayload.extensions.payment-identifier.info.id");
    expect(await x402.balance(source.payTo)).toBe(0n);
  });

  it("settles without one when it is not required", async () => {
    source = await x402.source();
    const { data } = await settle(source, await identified({ required: false }));
    expect(data).toMatchObject({ paymentIdentifier: null, settleResponse: { success: true } });
  });
});
