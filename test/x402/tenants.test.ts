import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { call, emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { grant, order, type Paid, pay, purse, terms, type Wallet } from "./pay/paying.ts";
import { api, expectOk, type Payload, settle, X402Fixture } from "./x402-fixture.ts";

/** What a tenant has on a chain, each of it made by its own key. */
interface Resources {
  x402: X402Fixture;
  caip2: string;
  source: Awaited<ReturnType<X402Fixture["source"]>>;
  payment: Payload;
  /** Signed, and nowhere settled yet. */
  spare: Payload;
  attempt: string;
  wallet: Wallet;
}

interface Tenant {
  id: string;
  token: string;
  /** What its key is good for. */
  own: Resources;
}

/** Two tenants of one chain. */
let alice: Tenant;
let bob: Tenant;
/** A tenant of another chain, who has things on the first one too, and lost access to it. */
let moved: Tenant & { lost: Resources };

beforeAll(async () => {
  await emptyTables();
  const rails = [
    await X402Fixture.create("84532-tenants"),
    await X402Fixture.create("8453-tenants"),
  ] as const;
  const [here, there] = rails;
  const newTenant = async (id: string) => {
    const networkLimit = rails.map(({ caip2 }) => caip2);
    return { id, token: await insertKey({ id, canPay: true, networkLimit }) };
  };
  /** The key of a tenant from now on is good for one chain. */
  const limited = async (id: string, { caip2 }: X402Fixture) => {
    await env.DB.prepare("DELETE FROM api_key WHERE id = ?").bind(id).run();
    return { id, token: await insertKey({ id, canPay: true, networkLimit: [caip2] }) };
  };
  const [a, b, m] = [await newTenant("alice"), await newTenant("bob"), await newTenant("moved")];
  const own = { a: await things(here, a), b: await things(here, b), m: await things(there, m) };
  const lost = await things(here, m);
  alice = { ...(await limited("alice", here)), own: own.a };
  bob = { ...(await limited("bob", here)), own: own.b };
  moved = { ...(await limited("moved", there)), own: own.m, lost };
});

async function things(x402: X402Fixture, { token }: { token: string }): Promise<Resources> {
  const source = await x402.source({}, { token });
  const buyer = await x402.buyer();
  const [payment, spare] = [await x402.payment(buyer, source), await x402.payment(buyer, source)];
  const { attemptId } = await expectOk(await settle(source, payment, { token }));
  const wallet = await purse(x402, { token });
  return { x402, caip2: x402.caip2, source, payment, spare, attempt: attemptId, wallet };
}

const NEW_SOURCE = { url: "https://api.example.com/data", amount: "1" };

/** Lists, with what tells that one has a thing. */
const LISTS: [path: string, of: (things: Resources) => string][] = [
  ["/x402/payments", ({ attempt }) => attempt],
  ["/x402/settlements", ({ attempt }) => attempt],
  ["/x402/payment-sources", ({ source }) => source.id],
  ["/x402/networks/available", ({ caip2 }) => caip2],
  ["/x402/wallets", ({ wallet }) => wallet.id],
  ["/x402/wallets/balances", ({ wallet }) => wallet.id],
  ["/x402/facilitator/supported", ({ caip2 }) => caip2],
];

/** What is asked for something of one's own. */
const REQUESTS: [path: string, body: (things: Resources) => object][] = [
  ["/x402/settle", paymentOf],
  ["/x402/verify", paymentOf],
  [
    "/x402/payment-sources",
    ({ caip2, source: { payTo } }) => ({ caip2Network: caip2, ...NEW_SOURCE, payTo }),
  ],
  ["/x402/wallets", ({ caip2 }) => ({ caip2Network: caip2, type: "Selling" })],
  ["/x402/pay", ({ x402, wallet }) => order(wallet, [terms(x402)])],
  ["/x402/facilitator/verify", plainOf],
  ["/x402/facilitator/settle", plainOf],
];

function paymentOf({ source, payment }: Resources) {
  return { supportedPaymentSourceId: source.id, paymentPayload: payment };
}

function plainOf({ source, spare }: Resources) {
  return { x402Version: 2, paymentPayload: spare, paymentRequirements: source.requirements };
}

/** Everything that payments leave behind. */
async function traces(): Promise<string> {
  const tables = ["x402_payment_attempt", "x402_settlement", "x402_payment_source", "x402_wallet"];
  const read = await env.DB.batch(tables.map((name) => env.DB.prepare(`SELECT * FROM ${name}`)));
  return JSON.stringify(read.map(({ results }) => results));
}

describe("a tenant that lost access to a chain", () => {
  it.each(LISTS)("is shown by GET %s what it has on its other chain alone", async (path, of) => {
    const answer = await call(`/api/v1${path}`, { headers: { token: moved.token } });
    const text = await answer.text();
    expect(text).toContain(of(moved.own));
    expect(text).not.toContain(of(moved.lost));
  });

  it.each(REQUESTS)(
    "is refused by POST %s what is its own there, and nothing else",
    async (path, body) => {
      const before = await traces();
      const headers = { token: moved.token, "idempotency-key": crypto.randomUUID() };
      expect((await api(path, body(moved.lost), headers)).status).toBe(403);
      expect(await traces()).toBe(before);
      const others = { ...headers, "idempotency-key": crypto.randomUUID() };
      expect((await api(path, body(moved.own), others)).status).toBe(200);
    },
  );
});

describe("a budget for another tenant's wallet", () => {
  it("opens it for payments, and for nothing else", async () => {
    const { x402, wallet } = alice.own;
    await expectOk(await grant(x402, bob.id, wallet, "100"));
    const headers = { token: bob.token };
    const { attemptId } = await expectOk(await pay(order(wallet, [terms(x402)]), headers));
    const attempts = async (token: string) =>
      JSON.stringify((await api("/x402/payments?take=100", undefined, { token })).data);
    expect(await attempts(bob.token)).toContain(attemptId);
    expect(await attempts(alice.token)).not.toContain(attemptId);
    const wallets = await api<object>("/x402/wallets", undefined, headers);
    expect(JSON.stringify(wallets.data)).not.toContain(wallet.id);
  });
});

describe("the same name for two tenants' payments", () => {
  it.each([
    ["Idempotency-Key", { "idempotency-key": "the-same" }, {}],
    ["paymentIdentifier", {}, { paymentIdentifier: "order_0123456789ab" }],
  ])("%s is two names", async (_, headers, named) => {
    const extensions = { "payment-identifier": { info: { required: false } } };
    const send = ({ token, own: { x402, wallet } }: Tenant) => {
      const body = order(wallet, [terms(x402)], { extensions, ...named });
      return api<Paid>("/x402/pay", body, { token, ...headers });
    };
    const [a, b] = [await expectOk(await send(alice)), await expectOk(await send(bob))];
    expect([a.payer, b.payer]).toEqual([alice.own.wallet.address, bob.own.wallet.address]);
  });
});
