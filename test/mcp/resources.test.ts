import { env } from "cloudflare:workers";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { toHex } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Env } from "../../src/env.ts";
import { runSchedule } from "../../src/schedule.ts";
import { app, emptyTables } from "../support/app.ts";
import type { Shown } from "../support/escrow/quote-fixture.ts";
import { insertKey } from "../support/keys.ts";
import { budgetOf, grant, purse, type Wallet } from "../x402/pay/paying.ts";
import { expectOk, settle, X402Fixture } from "../x402/x402-fixture.ts";

const MARKER = "obey me";
const FORECAST = "Rain until noon";
const URL_PATH = "/resources/forecast";
const realFetch = globalThis.fetch;

let x402: X402Fixture;
let wallet: Wallet;
let token: string;
let url: string;
let bindings: Env;
let nodes = 0;
/** The requests that reached the resource. */
let requests: { method: string; body: string; isPaid: boolean }[];

beforeEach(async () => {
  await emptyTables();
  x402 = await X402Fixture.create(`84532-mcp-${++nodes}`);
  wallet = await purse(x402);
  await x402.approvePermit2(wallet.address);
  token = await insertKey({ id: "agent", canPay: true, networkLimit: [x402.caip2] });
  await expectOk(await grant(x402, "agent", wallet, "15000"));
  url = `${env.AGENTS_URL}${URL_PATH}`;
  bindings = { ...env, LOOPBACK_ORIGINS: `${env.LOOPBACK_ORIGINS},${env.AGENTS_URL}` };
  requests = [];
});
afterEach(() => vi.unstubAllGlobals());

type Source = Awaited<ReturnType<X402Fixture["source"]>>;

interface Offer {
  /** Of `upto`: what is charged. */
  charge?: string;
  /** What the 402 has beside the terms of the source. */
  more?: object;
  accepts?: (source: Source) => object[];
  /** In place of the answer to a payment. */
  serve?: (pay: () => Promise<Response>) => Promise<Response>;
}

/** A resource server behind the URL: it settles a payment with the service, and answers. */
function sell(source: Source, { charge, more, accepts, serve = (pay) => pay() }: Offer = {}) {
  const terms = {
    x402Version: 2,
    error: MARKER,
    resource: { url, description: MARKER },
    accepts: accepts?.(source) ?? [source.requirements],
    ...more,
  };
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");
  const unpaid = (headers: object = {}) =>
    Response.json(terms, {
      status: 402,
      headers: { "payment-required": encode(terms), ...headers },
    });
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    if (request.url !== url) return realFetch(input, init);
    const header = request.headers.get("payment-signature");
    const body = await request.text();
    requests.push({ method: request.method, body, isPaid: header !== null });
    if (header === null) return unpaid();
    return serve(async () => {
      const payment = JSON.parse(Buffer.from(header, "base64").toString());
      const { data } = await settle(
        source,
        payment,
        {},
        charge === undefined ? {} : { amount: charge },
      );
      if (!data?.settleResponse.success || data.replay) return unpaid();
      const headers = { "payment-response": encode(data.settleResponse) };
      return new Response(FORECAST, { headers });
    });
  });
}

const source = (over: object = {}) => x402.source({ url, ...over });

async function connect(key = token): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL("http://service.test/mcp"), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
    fetch: async (address, init) => app.fetch(new Request(address, init), bindings),
  });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  return client;
}

async function use(name: string, args: object, key = token): Promise<Shown> {
  const client = await connect(key);
  const result = await client.callTool({ name, arguments: args as Record<string, unknown> });
  const [{ text } = { text: "{}" }] = result.content as { text: string }[];
  const outside = JSON.stringify(JSON.parse(text), (field, value) =>
    field === "untrusted_data" ? "" : value,
  );
  expect(outside).not.toContain(MARKER);
  return { ...JSON.parse(text), isError: result.isError };
}

const quote = () => use("quote_resource", { url });

/** Pays the first payment of a quote. */
const payFor = ({ quoteId, payments }: Shown, over: object = {}) => {
  const { decimals: _, untrusted_data: __, ...confirmedPayment } = payments[0];
  return use("pay_resource", { url, quoteId, confirmedPayment, ...over });
};

async function budget() {
  const found = await budgetOf("agent");
  return [found?.remainingAmount, found?.spentAmount];
}

describe("the tools quote_resource and pay_resource", () => {
  it("pay the confirmed price of a resource once, from the key's budget", async () => {
    const seller = await source();
    sell(seller);
    const quoted = await quote();
    const { scheme, network, asset, payTo, amount } = seller.requirements;
    expect(quoted).toMatchObject({
      paymentRequired: true,
      payments: [{ scheme, network, asset, payTo, amount, decimals: 6 }],
      untrusted_data: { resource: { description: MARKER } },
    });
    expect(await budget()).toEqual(["15000", "0"]);

    const paid = await payFor(quoted);
    expect(paid).toMatchObject({
      isError: false,
      signed: true,
      isDelivered: true,
      status: 200,
      payment: { scheme, network, asset, payTo, amount },
      untrusted_data: { answer: [FORECAST], settlement: { success: true, amount } },
    });
    expect(await budget()).toEqual(["5000", "10000"]);
    expect(await x402.balance(seller.payTo)).toBe(10_000n);

    expect(await payFor(quoted)).toMatchObject({
      signed: true,
      attemptId: paid.attemptId,
      isDelivered: false,
      status: 402,
    });
    expect(await budget()).toEqual(["5000", "10000"]);
    expect(await x402.balance(seller.payTo)).toBe(10_000n);

    // The budget does not cover another payment.
    expect(await payFor(await quote())).toMatchObject({ isError: true, status: 402 });
    expect(await x402.balance(seller.payTo)).toBe(10_000n);
  });

  it("debit the maximum of upto, and the rest returns once the chain shows the charge", async () => {
    const seller = await source({ scheme: "upto" });
    sell(seller, { charge: "2500" });
    const quoted = await quote();
    expect(quoted).toMatchObject({ payments: [{ scheme: "upto", amount: "10000" }] });
    expect(await payFor(quoted)).toMatchObject({
      isDelivered: true,
      payment: { scheme: "upto", amount: "10000" },
      untrusted_data: { answer: [FORECAST], settlement: { amount: "2500" } },
    });
    expect(await budget()).toEqual(["5000", "10000"]);
    await x402.rpc("anvil_mine", toHex(12));
    await runSchedule(env);
    expect(await budget()).toEqual(["12500", "2500"]);
    expect(await x402.balance(seller.payTo)).toBe(2500n);
  });

  it.each(["exact", "upto"])(
    "pay nothing by %s where the wallet has not approved Permit2",
    async (scheme) => {
      await x402.approvePermit2(wallet.address, 0n);
      sell(await source({ scheme }), {
        accepts: ({ requirements }) => [
          { ...requirements, extra: { ...requirements.extra, assetTransferMethod: "permit2" } },
        ],
      });
      const refused = await payFor(await quote());
      expect(refused).toMatchObject({ isError: true, status: 402 });
      const { message } = refused.untrusted_data;
      expect(message).toContain(`The wallet ${wallet.address} has approved the Permit2 contract`);
      expect(message).toContain("Call approve(0x000000000022D473030F116dDEE9F6B43aC78BA3, amount)");
      expect(requests.some(({ isPaid }) => isPaid)).toBe(false);
      expect(await budget()).toEqual(["15000", "0"]);
    },
  );

  it.each([
    ["a lower amount", { amount: "9999" }],
    ["another scheme", { scheme: "upto" }],
    ["another payee", { payTo: `0x${"1".repeat(40)}` }],
    ["another token", { asset: `0x${"2".repeat(40)}` }],
    ["another chain", { network: "eip155:1" }],
  ])("pay nothing where the resource does not offer what was confirmed: %s", async (_, over) => {
    sell(await source());
    const quoted = await quote();
    const { decimals: __, untrusted_data: ___, ...payment } = quoted.payments[0];
    const refused = await payFor(quoted, { confirmedPayment: { ...payment, ...over } });
    expect(refused).toMatchObject({
      isError: true,
      error: expect.stringContaining("Nothing was paid"),
    });
    expect(requests.some(({ isPaid }) => isPaid)).toBe(false);
    expect(await budget()).toEqual(["15000", "0"]);
  });

  it("pay nothing where the price has risen since the quote", async () => {
    sell(await source());
    const quoted = await quote();
    sell(await source({ amount: "14000" }));
    expect(await payFor(quoted)).toMatchObject({ isError: true });
    expect(await budget()).toEqual(["15000", "0"]);
  });

  it("send the same payment again after a lost answer", async () => {
    const seller = await source();
    let isLost = true;
    sell(seller, {
      serve: async (pay) => {
        const answer = await pay();
        if (!isLost) return new Response(FORECAST);
        isLost = false;
        return Promise.reject(new TypeError(`the answer is lost ${answer.status}`));
      },
    });
    const quoted = await quote();
    const lost = await payFor(quoted);
    expect(lost).toMatchObject({
      isError: false,
      signed: true,
      isDelivered: false,
      advice: expect.stringContaining("Repeat the call"),
    });
    expect(await payFor(quoted)).toMatchObject({ attemptId: lost.attemptId, isDelivered: true });
    expect(await budget()).toEqual(["5000", "10000"]);
    expect(await x402.balance(seller.payTo)).toBe(10_000n);
  });

  it("pay once where calls with one quoteId come at once", async () => {
    const seller = await source();
    sell(seller);
    const quoted = await quote();
    const answers = await Promise.all([1, 2, 3].map(() => payFor(quoted)));
    expect(new Set(answers.map(({ attemptId }) => attemptId)).size).toBe(1);
    expect(await budget()).toEqual(["5000", "10000"]);
    expect(await x402.balance(seller.payTo)).toBe(10_000n);
  });

  it("name the payment where the resource wants an identifier", async () => {
    const seller = await source();
    const extensions = { "payment-identifier": { info: { required: true } } };
    sell(seller, { more: { extensions } });
    const quoted = await quote();
    expect(await payFor(quoted)).toMatchObject({ isDelivered: true });
    const { results } = await env.DB.prepare(
      "SELECT payment_identifier AS name FROM x402_payment_attempt ORDER BY direction",
    ).all();
    const name = `mcp_${quoted.quoteId}`;
    expect(results).toEqual([{ name }, { name }]);
  });

  it("send the body of a POST with each request", async () => {
    sell(await source());
    const request = { url, method: "POST", body: { city: "Vienna" } };
    const quoted = await use("quote_resource", request);
    expect(await payFor(quoted, request)).toMatchObject({ isDelivered: true });
    const body = JSON.stringify(request.body);
    expect(requests).toEqual([
      { method: "POST", body, isPaid: false },
      { method: "POST", body, isPaid: false },
      { method: "POST", body, isPaid: true },
    ]);
  });

  it("return the answer of a resource that asks for no payment", async () => {
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) =>
      new Request(input, init).url === url
        ? Promise.resolve(new Response(`${MARKER} ${"x".repeat(5_000)}`))
        : realFetch(input, init),
    );
    const free = await quote();
    expect(free).toMatchObject({ paymentRequired: false, status: 200 });
    expect(free.untrusted_data.answer.join("")).toBe(`${MARKER} ${"x".repeat(5_000)}`);
  });

  it("show nothing of hostile terms outside of untrusted_data, and pay none of them", async () => {
    const hostile = [
      { scheme: MARKER },
      { network: `eip155:1 ${MARKER}` },
      { asset: MARKER },
      { payTo: MARKER },
      { amount: `1 ${MARKER}` },
    ];
    sell(await source(), {
      accepts: ({ requirements }) => [
        ...hostile.map((over) => ({ ...requirements, ...over })),
        { ...requirements, extra: { ...requirements.extra, note: MARKER } },
      ],
    });
    const { payments } = await quote();
    expect(payments).toMatchObject([
      { amount: "10000", untrusted_data: { extra: { note: MARKER } } },
    ]);
    sell(await source(), { more: { x402Version: 1 } });
    expect(await quote()).toMatchObject({ isError: true });
  });

  it("reach no private address", async () => {
    for (const address of ["http://10.0.0.1/", "http://localhost/", "http://[::1]/x"])
      expect(await use("quote_resource", { url: address })).toMatchObject({
        isError: true,
        error: expect.stringContaining("not reachable"),
      });
  });

  it("pay nothing for a key without a budget", async () => {
    sell(await source());
    const stranger = await insertKey({ canPay: true, networkLimit: [x402.caip2] });
    const quoted = await use("quote_resource", { url }, stranger);
    const { decimals: _, untrusted_data: __, ...confirmedPayment } = quoted.payments[0];
    const args = { url, quoteId: quoted.quoteId, confirmedPayment };
    expect(await use("pay_resource", args, stranger)).toMatchObject({ isError: true, status: 400 });
    expect(requests.some(({ isPaid }) => isPaid)).toBe(false);
  });
});
