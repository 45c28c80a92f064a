import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { insertKey } from "../../support/keys.ts";
import { holdEventsToTheDocument } from "../../support/webhooks/declared.ts";
import { disguisePayload, upper } from "../disguises.ts";
import { api, settle, untilDecided, X402Fixture } from "../x402-fixture.ts";

let x402: X402Fixture;

holdEventsToTheDocument();
beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-settle");
});

interface Attempt {
  id: string;
  status: string;
  direction: string;
  payer: string;
  errorReason: string | null;
  Settlement: { success: boolean; txHash: string; amount: string; payer: string } | null;
}

async function attempts(hash: string): Promise<Attempt[]> {
  const { data } = await api<{ PaymentAttempts: Attempt[] }>(
    `/x402/payments?take=100&paymentPayloadHash=${hash}`,
  );
  return data.PaymentAttempts;
}

async function events(attemptId: string) {
  const { results } = await env.DB.prepare("SELECT kind, data FROM event WHERE record_id = ?")
    .bind(attemptId)
    .all<{ kind: string; data: string }>();
  return results.map(({ kind, data }) => ({ kind, data: JSON.parse(data) }));
}

/** The primary's bookmark. Newer ones sort last. */
async function readBookmark(): Promise<string> {
  const session = env.DB.withSession("first-primary");
  await session.prepare("SELECT 1").run();
  return session.getBookmark() ?? "";
}

async function pendingTransactions(): Promise<number> {
  const { pending } = await x402.rpc<{ pending: string }>("txpool_status");
  return Number(pending);
}

describe("POST /x402/settle", () => {
  it.each(["eip3009", "permit2"] as const)("settles a payment by %s", async (method) => {
    const [buyer, source] = [await x402.buyer(), await x402.source()];
    const payment = await x402.payment(buyer, source, method);
    const { status, data, message } = await settle(source, payment);
    expect({ status, message }).toEqual({ status: 200, message: "" });
    expect(data).toEqual({
      attemptId: expect.any(String),
      paymentPayloadHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      paymentIdentifier: null,
      replay: false,
      settleResponse: {
        success: true,
        payer: buyer.address.toLowerCase(),
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        network: x402.caip2,
        amount: "10000",
      },
    });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
    const [attempt] = await attempts(data.paymentPayloadHash);
    expect(attempt).toMatchObject({
      id: data.attemptId,
      status: "Settled",
      direction: "InboundSettle",
      Settlement: { success: true, txHash: data.settleResponse.transaction, amount: "10000" },
    });
    expect(await events(data.attemptId)).toMatchObject([
      { kind: "X402_PAYMENT_SETTLED", data: { success: true, attemptId: data.attemptId } },
    ]);
  });

  it("answers with a bookmark that is newer than the settlement", async () => {
    const [buyer, source] = [await x402.buyer(), await x402.source()];
    const payment = await x402.payment(buyer, source);
    await x402.rpc("evm_setAutomine", false);
    const answer = settle(source, payment);
    await vi.waitUntil(async () => (await pendingTransactions()) > 0, { timeout: 60_000 });
    const beforeIt = await readBookmark();
    await x402.rpc("evm_setAutomine", true);
    await x402.rpc("evm_mine");
    const { headers, data } = await answer;
    expect(data.settleResponse.success).toBe(true);
    expect((headers.get("x-d1-bookmark") ?? "") > beforeIt).toBe(true);
  });

  it("answers a settled payment again with its settlement and a new attempt", async () => {
    const [buyer, source] = [await x402.buyer(), await x402.source()];
    const payment = await x402.payment(buyer, source);
    const first = (await settle(source, payment)).data;
    const again = (await settle(source, payment)).data;
    expect(again).toEqual({ ...first, replay: true, attemptId: expect.any(String) });
    expect(again.attemptId).not.toBe(first.attemptId);
    const [replayed, settled] = await attempts(first.paymentPayloadHash);
    expect(replayed).toMatchObject({ id: again.attemptId, status: "Replayed" });
    expect(replayed?.Settlement).toEqual(settled?.Settlement);
    expect(await events(again.attemptId)).toEqual([]);
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("makes one transfer of 50 submissions at once, and says replay to 49 of them", async () => {
    const [buyer, source] = [await x402.buyer(), await x402.source()];
    const payment = await x402.payment(buyer, source);
    const answers = await Promise.all(Array.from({ length: 50 }, () => settle(source, payment)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers.filter(({ data }) => !data.replay)).toHaveLength(1);
    const transactions = answers.map(({ data }) => data.settleResponse.transaction);
    expect(new Set(transactions).size).toBe(1);
    expect(answers.every(({ data }) => data.settleResponse.success)).toBe(true);
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("answers 409 to an authorization in any other dress", async () => {
    const [buyer, source, other] = [await x402.buyer(), await x402.source(), await x402.source()];
    const payment = await x402.payment(buyer, source);
    const disguises: unknown[] = [
      ...disguisePayload(payment),
      { ...payment, accepted: { ...payment.accepted, asset: upper(payment.accepted.asset) } },
      { ...payment, accepted: { ...payment.accepted, payTo: upper(payment.accepted.payTo) } },
      { ...payment, accepted: { ...payment.accepted, extra: {} } },
      { ...payment, accepted: { ...payment.accepted, extra: null } },
      ...Array.from({ length: 7 }, (_, i) => ({ ...payment, extensions: { i } })),
    ];
    const answers = await Promise.all(
      [payment, ...disguises].map((dress) => settle(source, dress)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...disguises.map(() => 409)]);
    const settled = answers.find(({ status }) => status === 200)?.data;
    for (const { status, message } of answers)
      if (status === 409) expect(message).toContain(settled?.attemptId);
    expect(await x402.balance(source.payTo)).toBe(10_000n);
    expect((await settle(other, payment)).status).toBe(400);
  });

  it("settles 20 payments at once from one wallet, with 20 transfers", async () => {
    const source = await x402.source();
    const buyer = await x402.buyer();
    const payments = await Promise.all(
      Array.from({ length: 20 }, () => x402.payment(buyer, source)),
    );
    const answers = await Promise.all(
      payments.map((payment) => untilDecided(() => settle(source, payment))),
    );
    const failed = answers.filter(({ data }) => !data?.settleResponse.success);
    expect(failed.map(({ status, message, data }) => ({ status, message, data }))).toEqual([]);
    expect(new Set(answers.map(({ data }) => data.settleResponse.transaction)).size).toBe(20);
    expect(await x402.balance(source.payTo)).toBe(200_000n);
  });

  it("fails a payload that has only a signature, and names what is missing", async () => {
    const source = await x402.source();
    const { data } = await settle(source, {
      x402Version: 2,
      resource: { url: source.url },
      accepted: source.requirements,
      payload: { signature: "0x2d6a" },
    });
    expect(data.settleResponse).toMatchObject({
      success: false,
      transaction: "",
      errorReason: "invalid_payload",
      errorMessage: expect.stringContaining("authorization"),
    });
    const [attempt] = await attempts(data.paymentPayloadHash);
    expect(attempt).toMatchObject({ status: "Failed", errorReason: "invalid_payload" });
  });

  it("fails what the chain refuses with its reason, and tries the same payload anew", async () => {
    const source = await x402.source();
    const poor = await x402.buyer(1n);
    const payment = await x402.payment(poor, source);
    const refused = (await settle(source, payment)).data;
    expect(refused.settleResponse).toMatchObject({
      success: false,
      errorReason: "invalid_exact_evm_insufficient_balance",
    });
    expect(await events(refused.attemptId)).toMatchObject([{ kind: "X402_PAYMENT_FAILED" }]);
    await x402.mint(x402.contracts.token, poor.address, 10_000n);
    const settled = (await settle(source, payment)).data;
    expect(settled).toMatchObject({ replay: false, settleResponse: { success: true } });
    expect(settled.attemptId).not.toBe(refused.attemptId);
  });

  it.each([
    ["x402Version", (p: Spoiled) => ({ ...p, x402Version: 1 })],
    ["resource.url", (p: Spoiled) => ({ ...p, resource: { url: "https://other.example.com" } })],
    ["accepted.amount", (p: Spoiled) => accepted(p, { amount: "9999" })],
    ["accepted.network", (p: Spoiled) => accepted(p, { network: "eip155:1" })],
    ["accepted.scheme", (p: Spoiled) => accepted(p, { scheme: "upto" })],
    ["accepted.asset", (p: Spoiled) => accepted(p, { asset: `0x${"1".repeat(40)}` })],
    ["accepted.payTo", (p: Spoiled) => accepted(p, { payTo: `0x${"1".repeat(40)}` })],
    ["accepted.maxTimeoutSeconds", (p: Spoiled) => accepted(p, { maxTimeoutSeconds: 1 })],
  ])("answers 400 when %s is not what was registered", async (field, spoil) => {
    const [buyer, source] = [await x402.buyer(), await x402.source()];
    const payment = await x402.payment(buyer, source);
    const { status, message } = await settle(source, spoil(payment));
    expect(status).toBe(400);
    expect(message).toContain(`paymentPayload.${field}`);
  });

  it("settles with terms that leave `extra` out", async () => {
    const [buyer, source] = [await x402.buyer(), await x402.source()];
    const payment = await x402.payment(buyer, source);
    const { extra: _, ...terms } = payment.accepted;
    expect((await settle(source, { ...payment, accepted: terms })).data).toMatchObject({
      settleResponse: { success: true },
    });
  });

  it("answers 404 for a source that is not there, or is another key's", async () => {
    const source = await x402.source();
    const payment = await x402.payment(await x402.buyer(), source);
    expect((await settle({ id: "nowhere" }, payment)).status).toBe(404);
    const token = await insertKey({ canPay: true, networkLimit: [x402.caip2] });
    expect((await settle(source, payment, { token })).status).toBe(404);
  });

  it("takes a credit for a settlement, none for a replay or a failure, and 402 without", async () => {
    const id = "limited-key";
    const limits = { usageLimited: true, maxUsageCredits: 1, networkLimit: [x402.caip2] };
    const token = await insertKey({ id, canPay: true, ...limits });
    const used = async () =>
      env.DB.prepare("SELECT accumulated_usage_credits AS used FROM api_key WHERE id = ?")
        .bind(id)
        .first<{ used: number }>();
    const [buyer, poor] = [await x402.buyer(), await x402.buyer(1n)];
    const source = await x402.source({}, { token });

    const refused = await settle(source, await x402.payment(poor, source), { token });
    expect(refused.data.settleResponse.success).toBe(false);
    expect(await used()).toEqual({ used: 0 });

    const payment = await x402.payment(buyer, source);
    expect((await settle(source, payment, { token })).status).toBe(200);
    expect((await settle(source, payment, { token })).data.replay).toBe(true);
    expect(await used()).toEqual({ used: 1 });

    const next = await x402.payment(buyer, source);
    expect(await settle(source, next, { token })).toMatchObject({ status: 402 });
    expect(await x402.balance(source.payTo)).toBe(10_000n);
  });

  it("asks no node for a key without credits, and answers the settlement that the key has paid for", async () => {
    const limits = { usageLimited: true, maxUsageCredits: 1, networkLimit: [x402.caip2] };
    const token = await insertKey({ canPay: true, ...limits });
    const [buyer, poor] = [await x402.buyer(), await x402.buyer(1n)];
    const source = await x402.source({}, { token });
    const paid = await x402.payment(buyer, source);
    expect((await settle(source, paid, { token })).status).toBe(200);
    const [next, refusable] = [await x402.payment(buyer, source), await x402.payment(poor, source)];

    const { fetch } = globalThis;
    let asked = 0;
    vi.stubGlobal("fetch", (...args: Parameters<typeof fetch>) => {
      // What only these two would ask: the wallet goes on watching the first payment.
      if (String(args[1]?.body).includes("eth_call")) asked++;
      return fetch(...args);
    });
    for (const payment of [next, refusable])
      expect((await settle(source, payment, { token })).status).toBe(402);
    expect(asked).toBe(0);
    vi.unstubAllGlobals();
    expect((await settle(source, paid, { token })).data.replay).toBe(true);
  });

  it("gives back no credit that was not taken, as when the key's limit has just ended", async () => {
    const id = "key-without-limit-now";
    const limits = { usageLimited: true, maxUsageCredits: 9, networkLimit: [x402.caip2] };
    const token = await insertKey({ id, canPay: true, ...limits });
    const source = await x402.source({ asset: x402.contracts.feeToken }, { token });
    // From here on the key is remembered; somewhere else it is changed.
    const set = "UPDATE api_key SET usage_limited = 0, accumulated_usage_credits = 3 WHERE id = ?";
    await env.DB.prepare(set).bind(id).run();
    const payment = await x402.payment(await x402.buyer(), source);
    expect((await settle(source, payment, { token })).data.settleResponse.success).toBe(false);
    const used = "SELECT accumulated_usage_credits AS used FROM api_key WHERE id = ?";
    expect(await env.DB.prepare(used).bind(id).first()).toEqual({ used: 3 });
  });

  it.each(["eip3009", "permit2"] as const)(
    "fails a token that takes a fee by %s, and says which transaction moved money",
    async (method) => {
      const source = await x402.source({ asset: x402.contracts.feeToken });
      const payment = await x402.payment(await x402.buyer(), source, method);
      const { data } = await settle(source, payment);
      const { transaction } = data.settleResponse;
      expect(data.settleResponse).toMatchObject({
        success: false,
        errorReason: "invalid_exact_evm_transfer_event_mismatch",
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      });
      expect(await attempts(data.paymentPayloadHash)).toMatchObject([
        { status: "Failed", Settlement: { success: false, txHash: transaction } },
      ]);
      // The authorization is used up: sent again, it moves nothing more.
      expect((await settle(source, payment)).data.settleResponse.success).toBe(false);
      expect(await x402.balance(source.payTo, x402.contracts.feeToken)).toBe(9_900n);
    },
  );
});

type Spoiled = Awaited<ReturnType<X402Fixture["payment"]>>;

function accepted(payment: Spoiled, changes: Record<string, unknown>) {
  return { ...payment, accepted: { ...payment.accepted, ...changes } };
}
