import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { call, emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { grant, order, type Paid, pay, purse, terms, type Wallet } from "./pay/paying.ts";
import { api, expectOk, type Payload, Rail, settle } from "./rail.ts";

/** What a tenant has on a chain, each of it made by its own key. */
interface Things {
  rail: Rail;
  caip2: string;
  source: Awaited<ReturnType<Rail["source"]>>;
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
  own: Things;
}

/** Two tenants of one chain. */
let alice: Tenant;
let bob: Tenant;
/** A tenant of another chain, who has things on the first one too, and lost access to it. */
let moved: Tenant & { lost: Things };
const ADMIN = env.ADMIN_KEY ?? "";

beforeAll(async () => {
  await emptyTables();
  const rails = [await Rail.create("84532-tenants"), await Rail.create("8453-tenants")] as const;
  const [here, there] = rails;
  const newTenant = async (id: string) => {
    const networkLimit = rails.map(({ caip2 }) => caip2);
    return { id, token: await insertKey({ id, canPay: true, networkLimit }) };
  };
  /** The key of a tenant from now on is good for one chain. */
  const limited = async (id: string, { caip2 }: Rail) => {
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

async function things(rail: Rail, { token }: { token: string }): Promise<Things> {
  const source = await rail.source({}, { token });
  const buyer = await rail.buyer();
  const [payment, spare] = [await rail.payment(buyer, source), await rail.payment(buyer, source)];
  const { attemptId } = await expectOk(await settle(source, payment, { token }));
  const wallet = await purse(rail, { token });
  return { rail, caip2: rail.caip2, source, payment, spare, attempt: attemptId, wallet };
}

/** How an endpoint keeps tenants apart. */
type Rule =
  /** A list: one's own on one's own chains, told by these ids. */
  | { lists: (own: Things) => string; ids: (answer: never) => string[] }
  /** Works on something that belongs to a tenant. */
  | { uses: (own: Things) => object; missing: (own: Things) => object }
  /** Belongs to nobody, but names a chain. */
  | { names: (own: Things) => object }
  /** Not for tenants. */
  | "Admin";

const paymentOf = ({ source, payment }: Things) => ({
  supportedPaymentSourceId: source.id,
  paymentPayload: payment,
});
const plainOf = ({ source, spare }: Things) => ({
  x402Version: 2,
  paymentPayload: spare,
  paymentRequirements: source.requirements,
});
const NOWHERE = "nowhere";

const RULES: Record<string, Rule> = {
  "POST /x402/settle": {
    uses: paymentOf,
    missing: (own) => ({ ...paymentOf(own), supportedPaymentSourceId: NOWHERE }),
  },
  "POST /x402/verify": {
    uses: paymentOf,
    missing: (own) => ({ ...paymentOf(own), supportedPaymentSourceId: NOWHERE }),
  },
  "GET /x402/payments": {
    lists: ({ attempt }) => attempt,
    ids: (answer: { data: { PaymentAttempts: { id: string }[] } }) =>
      answer.data.PaymentAttempts.map(({ id }) => id),
  },
  "GET /x402/settlements": {
    lists: ({ attempt }) => attempt,
    ids: (answer: { data: { Settlements: { attemptId: string }[] } }) =>
      answer.data.Settlements.map(({ attemptId }) => attemptId),
  },
  "GET /x402/payment-sources": {
    lists: ({ source }) => source.id,
    ids: (answer: { data: { PaymentSources: { id: string }[] } }) =>
      answer.data.PaymentSources.map(({ id }) => id),
  },
  "POST /x402/payment-sources": {
    names: ({ caip2, source: { url, payTo } }) => ({
      caip2Network: caip2,
      url,
      payTo,
      amount: "1",
    }),
  },
  "GET /x402/networks": "Admin",
  "POST /x402/networks": "Admin",
  "GET /x402/networks/available": {
    lists: ({ caip2 }) => caip2,
    ids: (answer: { data: { Networks: { caip2Id: string }[] } }) =>
      answer.data.Networks.map(({ caip2Id }) => caip2Id),
  },
  "GET /x402/wallets": {
    lists: ({ wallet }) => wallet.id,
    ids: (answer: { data: { Wallets: { id: string }[] } }) =>
      answer.data.Wallets.map(({ id }) => id),
  },
  "GET /x402/wallets/balances": {
    lists: ({ wallet }) => wallet.id,
    ids: (answer: { data: { Balances: { evmWalletId: string }[] } }) =>
      answer.data.Balances.map(({ evmWalletId }) => evmWalletId),
  },
  "POST /x402/wallets": { names: ({ caip2 }) => ({ caip2Network: caip2, type: "Selling" }) },
  "GET /x402/low-balance": "Admin",
  "POST /x402/low-balance": "Admin",
  "POST /x402/pay": {
    uses: ({ rail, wallet }) => order(wallet, [terms(rail)]),
    missing: ({ rail }) => order({ id: NOWHERE }, [terms(rail)]),
  },
  "GET /x402/budgets": "Admin",
  "POST /x402/budgets": "Admin",
  "GET /x402/facilitator/supported": {
    lists: ({ caip2 }) => caip2,
    ids: (answer: { kinds: { network: string }[] }) => answer.kinds.map(({ network }) => network),
  },
  "POST /x402/facilitator/verify": { names: plainOf },
  "POST /x402/facilitator/settle": { names: plainOf },
};

async function ask(endpoint: string, token: string, body: object = {}) {
  const [method = "", path = ""] = endpoint.split(" ");
  const headers = { token, "idempotency-key": crypto.randomUUID() };
  const sent = method === "GET" ? {} : { body: JSON.stringify(body) };
  const answer = await call(`/api/v1${path}`, { method, headers, ...sent });
  const { error, ...rest } = (await answer.json()) as { error?: { message: string } };
  return { status: answer.status, message: error?.message, body: rest as never };
}

/** Everything that payments leave behind. */
async function traces(): Promise<string> {
  const tables = ["x402_payment_attempt", "x402_settlement", "x402_payment_source", "x402_wallet"];
  const read = await env.DB.batch(tables.map((name) => env.DB.prepare(`SELECT * FROM ${name}`)));
  return JSON.stringify(read.map(({ results }) => results));
}

describe("the table of rules", () => {
  it("has every operation under /x402 of the OpenAPI document", async () => {
    const { paths } = (await (await call("/api/v1/openapi.json")).json()) as {
      paths: Record<string, object>;
    };
    const served = Object.entries(paths)
      .filter(([path]) => path.startsWith("/api/v1/x402/"))
      .flatMap(([path, operations]) =>
        Object.keys(operations).map(
          (method) => `${method.toUpperCase()} ${path.replace("/api/v1", "")}`,
        ),
      );
    expect(Object.keys(RULES).sort()).toEqual(served.sort());
  });
});

const isList = (rule: Rule) => typeof rule === "object" && "lists" in rule;
/** Lists first: the others make more of what is listed. */
const IN_TURN = Object.entries(RULES).sort(([, a], [, b]) => Number(isList(b)) - Number(isList(a)));

describe.each(IN_TURN)("%s", (endpoint, rule) => {
  if (rule === "Admin")
    it("is not for tenants", async () => {
      expect((await ask(endpoint, alice.token)).status).toBe(403);
    });
  else if ("lists" in rule)
    it("shows a tenant its own on its own chains, an Admin everything", async () => {
      const shown = async (token: string) => rule.ids((await ask(endpoint, token)).body);
      for (const { token, own } of [alice, bob, moved])
        expect(await shown(token)).toEqual([rule.lists(own)]);
      const everything = [alice.own, bob.own, moved.own, moved.lost].map(rule.lists);
      expect(await shown(ADMIN)).toEqual(expect.arrayContaining(everything));
    });
  else if ("names" in rule)
    it("answers 403 on a chain that the key may not use", async () => {
      const before = await traces();
      for (const body of [rule.names(alice.own), rule.names(moved.lost)])
        expect((await ask(endpoint, moved.token, body)).status).toBe(403);
      expect((await ask(endpoint, alice.token, rule.names(moved.own))).status).toBe(403);
      expect(await traces()).toBe(before);
      expect((await ask(endpoint, moved.token, rule.names(moved.own))).status).toBe(200);
      expect((await ask(endpoint, ADMIN, rule.names(alice.own))).status).toBe(200);
    });
  else
    it("answers 404 for what is another tenant's, as if it were not there", async () => {
      const before = await traces();
      for (const { token } of [bob, moved]) {
        const foreign = await ask(endpoint, token, rule.uses(alice.own));
        expect(foreign.status).toBe(404);
        expect(foreign).toEqual(await ask(endpoint, token, rule.missing(alice.own)));
      }
      expect((await ask(endpoint, moved.token, rule.uses(moved.lost))).status).toBe(403);
      expect(await traces()).toBe(before);
      expect((await ask(endpoint, alice.token, rule.uses(alice.own))).status).toBe(200);
      expect((await ask(endpoint, ADMIN, rule.uses(alice.own))).status).toBe(200);
    });
});

describe("a budget for another tenant's wallet", () => {
  it("opens it for payments, and for nothing else", async () => {
    const { rail, wallet } = alice.own;
    await expectOk(await grant(rail, bob.id, wallet, "100"));
    const headers = { token: bob.token };
    const { attemptId } = await expectOk(await pay(order(wallet, [terms(rail)]), headers));
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
    const send = ({ token, own: { rail, wallet } }: Tenant) => {
      const body = order(wallet, [terms(rail)], { extensions, ...named });
      return api<Paid>("/x402/pay", body, { token, ...headers });
    };
    const [a, b] = [await expectOk(await send(alice)), await expectOk(await send(bob))];
    expect([a.payer, b.payer]).toEqual([alice.own.wallet.address, bob.own.wallet.address]);
  });
});
