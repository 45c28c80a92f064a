/** Agents with several ways to be paid: by escrow on the ledger, and over x402 on EVM chains. */
import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { CREDENTIAL } from "../support/endpoints/registrations.ts";
import { QuoteFixture } from "../support/escrow/quote-fixture.ts";
import { insertKey } from "../support/keys.ts";
import { FOREIGN_READERS } from "../support/registry/foreign-readers.ts";
import { RegistrationFixture } from "../support/registry/registration-fixture.ts";
import { diff, settleRegistry } from "../support/registry/registry-sync.ts";
import { api, settle, X402Fixture } from "../x402/x402-fixture.ts";

const V2 = "Web3ChainV2";
const PAYEE = `0x${"ab".repeat(20)}`;
const RESOURCE = "https://agent.example.com/run";

let x402: X402Fixture;
let token: string;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-agents");
  token = x402.contracts.token.toLowerCase();
});
beforeEach(async () => {
  await emptyTables();
  await x402.setUp();
});

const fixed = (price: object) => ({ pricingType: "Fixed", fixed: [price] });
const onLedger = (overrides: object = {}) => ({
  chain: "Chain",
  network: "Preprod",
  pricing: fixed({ asset: "", amount: "5000000" }),
  ...overrides,
});
const onEvm = (overrides: object = {}) => ({
  chain: "EVM",
  network: x402.caip2,
  payTo: PAYEE,
  pricing: fixed({ asset: token, amount: "10000", decimals: 6 }),
  ...overrides,
});
const open = () => RegistrationFixture.open({ type: V2 });
const selling = (SupportedPaymentSources: object[], more: object = {}) => ({
  AgentPricing: undefined,
  SupportedPaymentSources,
  ...more,
});
// biome-ignore lint/suspicious/noExplicitAny: the assertions are what checks the answer's shape
const listedOf = (record: object) => (record as any).SupportedPaymentSources as any[];

/** An agent that is registered and settled. */
async function registered(overrides: object, headers: Record<string, string> = {}) {
  const fixture = await open();
  const answer = await fixture.register(overrides, headers);
  expect(answer).toMatchObject({ status: 200 });
  await fixture.settle();
  return { fixture, shown: await fixture.shown(answer.data.id) };
}

describe("an agent that is sold by escrow and over x402", () => {
  it("is one entry: in its record, its token, the registry and what buyers read", async () => {
    const extra = { name: "Test Dollar", version: "1", limits: { most: 7, words: ["a", "b"] } };
    const sources = [
      onLedger(),
      onLedger({ pricing: { pricingType: "Dynamic" } }),
      onEvm({ resource: RESOURCE, extra }),
      onEvm({ pricing: { pricingType: "Dynamic", dynamic: [{ asset: token }] } }),
      onEvm({ pricing: { pricingType: "Free" } }),
    ];
    const { fixture, shown } = await registered(selling(sources, { Verifications: [CREDENTIAL] }));
    const { address } = fixture.contract;
    const ledger = {
      chain: "Chain",
      network: "Preprod",
      paymentSourceType: V2,
      address,
      scheme: null,
      payTo: null,
      resource: null,
    };
    const evm = {
      chain: "EVM",
      network: x402.caip2,
      paymentSourceType: null,
      address: PAYEE,
      scheme: "Exact",
      payTo: PAYEE,
      resource: null,
    };
    const price = { asset: token, amount: "10000", decimals: 6 };
    const minted = [
      { ...ledger, sourceIndex: 0, pricing: fixed({ asset: "", amount: "5000000" }) },
      { ...ledger, sourceIndex: 1, pricing: { pricingType: "Dynamic" } },
      { ...evm, sourceIndex: 2, pricing: fixed(price), resource: RESOURCE, extra },
      {
        ...evm,
        sourceIndex: 3,
        pricing: { pricingType: "Dynamic", dynamic: [{ asset: token, decimals: 6 }] },
      },
      { ...evm, sourceIndex: 4, pricing: { pricingType: "Free" } },
    ];
    const id = expect.any(String);
    const Verifications = [CREDENTIAL];
    expect(listedOf(shown)).toEqual(minted.map((one, i) => (i === 2 ? { id, ...one } : one)));
    expect(shown).toMatchObject({
      state: "RegistrationConfirmed",
      AgentPricing: { pricingType: "Fixed", Pricing: [{ unit: "", amount: "5000000" }] },
      Verifications,
    });

    const { onchain_metadata } = await fixture.chain.get<{ onchain_metadata: unknown }>(
      `/assets/${shown.agentIdentifier}`,
    );
    expect(FOREIGN_READERS[V2].agent.parse(onchain_metadata)).toMatchObject({
      supported_payment_sources: [
        { chain: "Cardano" },
        { chain: "Cardano" },
        { chain: "EVM", settlement: { payTo: PAYEE, resource: RESOURCE, extra } },
        { chain: "EVM", pricing: { dynamic: [{ asset: token, decimals: "6" }] } },
        { chain: "EVM", pricing: { pricingType: "Free" } },
      ],
      verifications: Verifications,
    });

    const source = await fixture.followPolicy();
    await settleRegistry(fixture.chain, source);
    expect(await diff()).toMatchObject([{ SupportedPaymentSources: minted, Verifications }]);
    const query = `network=Preprod&agentIdentifier=${shown.agentIdentifier}`;
    const read = await fixture.ask<{ Metadata: object }>(
      "GET",
      `/registry/agent-identifier?${query}`,
    );
    expect(read.data.Metadata).toMatchObject({ SupportedPaymentSources: minted, Verifications });
  });

  it("is quoted at the position that the quote names", async () => {
    const quotes = await QuoteFixture.open(V2, { published: true });
    const { fixture } = quotes;
    const price = fixed({ asset: "LOVELACE", amount: "7000000" });
    const { data } = await fixture.register(selling([onEvm(), onLedger({ pricing: price })]));
    await fixture.settle();
    quotes.agentIdentifier = (await fixture.shown(data.id)).agentIdentifier ?? "";
    const quoted = { status: 200, data: { RequestedFunds: [{ unit: "", amount: "7000000" }] } };
    expect(await quotes.quote({ supportedPaymentSourceIndex: 1 })).toMatchObject(quoted);
    expect(await quotes.quote({ supportedPaymentSourceIndex: undefined })).toMatchObject(quoted);
    expect(await quotes.quote({ supportedPaymentSourceIndex: 0 })).toMatchObject({
      status: 400,
      message: expect.stringContaining("another chain"),
    });
  });

  it("is settled by the key that registered it, with the id of its record", async () => {
    const owner = {
      token: await insertKey({ canPay: true, networkLimit: ["Preprod", x402.caip2] }),
    };
    const { shown } = await registered(selling([onEvm(), onEvm({ resource: RESOURCE })]), owner);
    const [anyUrl, oneUrl] = listedOf(shown);
    const { data } = await api<{ PaymentSources: Parameters<X402Fixture["payment"]>[1][] }>(
      "/x402/payment-sources",
      undefined,
      owner,
    );
    const requirementsOf = (id: string) =>
      data.PaymentSources.find((one) => (one as unknown as { id: string }).id === id)?.requirements;
    const pay = async (id: string, url: string, headers = owner) => {
      const requirements = requirementsOf(id);
      if (!requirements) throw new Error("not listed");
      const payment = await x402.payment(await x402.buyer(), { url, requirements });
      return settle({ id }, payment, headers);
    };
    expect(await pay(anyUrl.id, "https://any.example.com")).toMatchObject({
      status: 200,
      data: { settleResponse: { success: true } },
    });
    expect((await pay(oneUrl.id, "https://any.example.com")).status).toBe(400);
    expect((await pay(oneUrl.id, RESOURCE)).data.settleResponse.success).toBe(true);
    expect(await x402.balance(PAYEE)).toBe(20_000n);
    const stranger = { token: await insertKey({ canPay: true, networkLimit: [x402.caip2] }) };
    expect((await pay(anyUrl.id, "https://any.example.com", stranger)).status).toBe(404);
  });

  it("may be sold over x402 alone", async () => {
    const { shown } = await registered(selling([onEvm()]));
    expect(shown).toMatchObject({
      AgentPricing: { pricingType: "Fixed", Pricing: [{ unit: token, amount: "10000" }] },
    });
  });
});

describe("POST /registry answers 400", () => {
  const tokens = "ab".repeat(30);
  it.each([
    ["AgentPricing", "is required", () => ({ AgentPricing: undefined })],
    [
      "SupportedPaymentSources",
      "together with AgentPricing",
      () => ({ SupportedPaymentSources: [onLedger()] }),
    ],
    ["[0].network", "network of the agent", () => selling([onLedger({ network: "Mainnet" })])],
    [
      "[0].paymentSourceType",
      "must be Web3ChainV2",
      () => selling([onLedger({ paymentSourceType: "Web3ChainV1" })]),
    ],
    ["[0].address", "must be the contract", () => selling([onLedger({ address: "addr_test1w" })])],
    ["[1]", "repeats SupportedPaymentSources[0]", () => selling([onLedger(), onLedger()])],
    ["[1]", "repeats", () => selling([onEvm(), onEvm({ extra: { a: 1 } })])],
    [
      "[0].pricing.fixed[0].asset",
      "does not show this token",
      () => selling([onLedger({ pricing: fixed({ asset: tokens, amount: "1" }) })]),
    ],
    ["[0].network", "no enabled network", () => selling([onEvm({ network: "eip155:1" })])],
    ["[0].address", "must be payTo", () => selling([onEvm({ address: token })])],
    [
      "[0].pricing.fixed[0].asset",
      "is not the address of a token",
      () => selling([onEvm({ pricing: fixed({ asset: PAYEE, amount: "1" }) })]),
    ],
    [
      "[0].pricing.fixed[0].decimals",
      "has 6 decimals",
      () => selling([onEvm({ pricing: fixed({ asset: token, amount: "1", decimals: 8 }) })]),
    ],
    [
      "The token's metadata",
      "Shorten",
      () =>
        selling(
          Array.from({ length: 24 }, (_, i) =>
            onEvm({ resource: `https://a.example/${"x".repeat(470)}/${i}`, extra: { i } }),
          ),
        ),
    ],
  ])("naming %s: %s", async (field, why, overrides) => {
    const fixture = await open();
    const { status, message } = await fixture.register(overrides());
    expect({ status, message }).toEqual({ status: 400, message: expect.stringContaining(why) });
    expect(message).toContain(field);
    const rows = await env.DB.prepare("SELECT count(*) AS n FROM x402_payment_source").first("n");
    expect(rows).toBe(0);
  });

  it("for an agent of Web3ChainV1, which has one price and lists no credentials", async () => {
    const fixture = await RegistrationFixture.open();
    expect(await fixture.register({ SupportedPaymentSources: [onLedger()] })).toMatchObject({
      status: 400,
      message: expect.stringContaining("Web3ChainV1"),
    });
    const { data } = await fixture.register({ Verifications: [CREDENTIAL] });
    expect(data.Verifications).toEqual([]);
  });

  it("and 403 for an EVM chain that the key may not use", async () => {
    const headers = { token: await insertKey({ canPay: true, networkLimit: ["Preprod"] }) };
    const fixture = await open();
    expect(await fixture.register(selling([onEvm()]), headers)).toMatchObject({
      status: 403,
      message: expect.stringContaining("SupportedPaymentSources[0].network"),
    });
  });
});

describe("POST /registry/update", () => {
  it("keeps the ways to be paid and the credentials that the request omits", async () => {
    const { fixture, shown } = await registered(
      selling([onLedger(), onEvm()], { Verifications: [CREDENTIAL] }),
    );
    const { data } = await fixture.update(shown.agentIdentifier, {
      AgentPricing: undefined,
      name: "Second",
    });
    const { SupportedPaymentSources, Verifications } = shown;
    expect(data).toMatchObject({ name: "Second", SupportedPaymentSources, Verifications });
    await fixture.settle();
    const updated = await fixture.shown(shown.id);
    expect(updated).toMatchObject({ state: "UpdateConfirmed", SupportedPaymentSources });

    const cleared = await fixture.update(updated.agentIdentifier, { Verifications: [] });
    expect(cleared.data).toMatchObject({ Verifications: [], SupportedPaymentSources: [{}] });
    expect(listedOf(cleared.data)).toHaveLength(1);
  });

  it("keeps the id of a way over x402 that stays, and gives a changed one another", async () => {
    const owner = {
      token: await insertKey({ canPay: true, networkLimit: ["Preprod", x402.caip2] }),
    };
    const { fixture, shown } = await registered(selling([onEvm()]), owner);
    const [former] = listedOf(shown);
    const changed = onEvm({ pricing: fixed({ asset: token, amount: "20000" }) });
    const { data } = await fixture.update(shown.agentIdentifier, selling([changed, onEvm()]));
    const [first, second] = listedOf(data);
    expect(second.id).toBe(former.id);
    expect(first.id).not.toBe(former.id);
    const { data: listed } = await api<{ PaymentSources: { id: string }[] }>(
      "/x402/payment-sources",
      undefined,
      owner,
    );
    expect(listed.PaymentSources.map(({ id }) => id).sort()).toEqual([former.id, first.id].sort());
  });

  it("says how many unpaid quotes nobody can buy after it", async () => {
    const quotes = await QuoteFixture.open(V2, { published: true });
    const { fixture } = quotes;
    const { data } = await fixture.register();
    await fixture.settle();
    quotes.agentIdentifier = (await fixture.shown(data.id)).agentIdentifier ?? "";
    for (const nonce of ["01", "02"])
      expect(await quotes.quote({ identifierFromPurchaser: nonce.repeat(10) })).toMatchObject({
        status: 200,
      });
    const answer = await fixture.update(quotes.agentIdentifier);
    expect(answer.data.Warnings).toEqual([
      expect.stringMatching(/^agentIdentifier: 2 unpaid quotes /),
    ]);
  });

  it("answers 400 when the service no longer settles on a chain that the agent keeps", async () => {
    const { fixture, shown } = await registered(selling([onLedger(), onEvm()]));
    await api("/x402/networks", { caip2Id: x402.caip2, isEnabled: false });
    expect(await fixture.update(shown.agentIdentifier, { AgentPricing: undefined })).toMatchObject({
      status: 400,
      message: expect.stringContaining("SupportedPaymentSources[1].network"),
    });
    await x402.setUp();
    await api("/x402/networks", { caip2Id: x402.caip2, isEnabled: true });
  });
});
