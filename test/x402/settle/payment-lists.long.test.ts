import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { insertKey } from "../../support/keys.ts";
import type { Attempt } from "../settlement-fixture.ts";
import { api, settle, X402Fixture } from "../x402-fixture.ts";

let x402: X402Fixture;
/** Two keys with a settled payment each. */
let keys: { token: string; attemptId: string; transaction: string }[];

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-lists");
});

beforeEach(async () => {
  await env.DB.batch([
    env.DB.prepare("DELETE FROM x402_payment_attempt"),
    env.DB.prepare("DELETE FROM x402_settlement"),
  ]);
  keys = [];
  for (let n = 0; n < 2; n++) {
    const token = await insertKey({ canPay: true, networkLimit: [x402.caip2] });
    const source = await x402.source({}, { token });
    const payment = await x402.payment(await x402.buyer(), source);
    const { attemptId, settleResponse } = (await settle(source, payment, { token })).data;
    keys.push({ token, attemptId, transaction: settleResponse.transaction });
  }
});

const ADMIN = env.ADMIN_KEY ?? "";
const count = async (path: string, token = ADMIN) =>
  (await api<{ total: number }>(`/x402${path}`, undefined, { token })).data.total;
const newestFirst = (ids: string[]) => [...ids].sort().reverse();

describe("GET /x402/payments", () => {
  const list = async (query: string, token = ADMIN) => {
    const path = `/x402/payments?${query}`;
    const { data } = await api<{ PaymentAttempts: Attempt[] }>(path, undefined, { token });
    return data.PaymentAttempts;
  };

  it("shows a key its own attempts only, an Admin all of them", async () => {
    for (const { token, attemptId, transaction } of keys)
      expect(await list("", token)).toMatchObject([
        { id: attemptId, status: "Settled", Settlement: { success: true, txHash: transaction } },
      ]);
    const ids = keys.map(({ attemptId }) => attemptId);
    expect((await list("")).map(({ id }) => id)).toEqual(newestFirst(ids));
  });

  it("pages newest first by the last id seen", async () => {
    const all = (await list("")).map(({ id }) => id);
    const [first] = await list("take=1");
    const next = await list(`take=1&cursorId=${first?.id}`);
    expect([first?.id, ...next.map(({ id }) => id)]).toEqual(all);
    expect(await list(`cursorId=${next[0]?.id}`)).toEqual([]);
  });

  it.each([
    ["status=Settled", 2],
    ["status=Failed", 0],
    ["direction=InboundSettle", 2],
    ["direction=OutboundPayment", 0],
    ["caip2Network=eip155:84532", 2],
    ["caip2Network=eip155:1", 0],
    ["createdFrom=2024-01-01&createdTo=2100-01-01", 2],
    ["createdFrom=2100-01-01", 0],
    ["createdTo=2024-01-01", 0],
    ["side=sell", 2],
    ["side=buy", 0],
    ["side=buy&direction=InboundSettle", 2],
    ["isStuck=true&status=Settled", 0],
    ["isStuck=false&status=Settled", 2],
  ])("filters by %s, as the count does", async (query, found) => {
    expect(await list(query)).toHaveLength(found);
    expect(await count(`/payments/count?${query}`)).toBe(found);
  });

  it("finds settlements that have had no outcome for a day", async () => {
    const ids = keys.map(({ attemptId }) => attemptId);
    const set = (id: string | undefined, hours: number) =>
      env.DB.prepare(
        "UPDATE x402_payment_attempt SET status = 'Verified', updated_at = ? WHERE id = ?",
      ).bind(Date.now() - hours * 60 * 60_000, id);
    await env.DB.batch([set(ids[0], 25), set(ids[1], 23)]);
    expect(await list("isStuck=true&status=Settled")).toMatchObject([{ id: ids[0] }]);
    expect(await count("/payments/count?isStuck=true", keys[1]?.token)).toBe(0);
  });

  it("counts a key's own attempts alone", async () => {
    expect(await count("/payments/count", keys[0]?.token)).toBe(1);
    expect(await count("/settlements/count", keys[0]?.token)).toBe(1);
  });

  it("finds the attempts of one payload by its hash", async () => {
    const [one] = await list("");
    const found = await list(`paymentPayloadHash=${one?.paymentPayloadHash}`);
    expect(found.map(({ id }) => id)).toEqual([one?.id]);
  });
});

describe("GET /x402/settlements", () => {
  interface Settlement {
    id: string;
    attemptId: string;
    success: boolean;
    txHash: string;
  }
  const list = async (query: string, token = ADMIN) => {
    const path = `/x402/settlements?${query}`;
    const { data } = await api<{ Settlements: Settlement[] }>(path, undefined, { token });
    return data.Settlements;
  };

  it("shows a key those of its own attempts only, an Admin all of them", async () => {
    for (const { token, attemptId, transaction } of keys)
      expect(await list("", token)).toMatchObject([
        { attemptId, success: true, txHash: transaction },
      ]);
    const ids = (await list("")).map(({ id }) => id);
    expect(ids).toHaveLength(2);
    expect(ids).toEqual(newestFirst(ids));
  });

  it("pages newest first by the last id seen", async () => {
    const all = await list("");
    const [first] = await list("limit=1");
    expect([first, ...(await list(`limit=1&cursorId=${first?.id}`))]).toEqual(all);
    expect(await list("take=1")).toEqual([first]);
  });

  it.each([
    ["success=true", 2],
    ["success=false", 0],
    ["caip2Network=eip155:84532", 2],
    ["caip2Network=eip155:1", 0],
  ])("filters by %s, as the count does", async (query, found) => {
    expect(await list(query)).toHaveLength(found);
    expect(await count(`/settlements/count?${query}`)).toBe(found);
  });
});

describe("the payer of a payment", () => {
  it("is shown in lower case everywhere", async () => {
    const source = await x402.source();
    const buyer = await x402.buyer();
    const payment = await x402.payment(buyer, source);
    const payer = buyer.address.toLowerCase();
    const verified = await api<{ payer: string }>("/x402/verify", {
      supportedPaymentSourceId: source.id,
      paymentPayload: payment,
    });
    expect(verified.data.payer).toBe(payer);
    const { settleResponse, paymentPayloadHash } = (await settle(source, payment)).data;
    expect(settleResponse.payer).toBe(payer);
    const { data } = await api<{ PaymentAttempts: object[] }>(
      `/x402/payments?direction=InboundSettle&paymentPayloadHash=${paymentPayloadHash}`,
    );
    expect(data.PaymentAttempts).toMatchObject([{ payer, Settlement: { payer } }]);
    const event = await env.DB.prepare("SELECT data FROM event ORDER BY created_at DESC LIMIT 1");
    expect(JSON.parse((await event.first<{ data: string }>())?.data ?? "")).toMatchObject({
      payer,
    });
  });
});
