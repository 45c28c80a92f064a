import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { app, emptyTables } from "../../support/app.ts";
import { insertKey } from "../../support/keys.ts";
import { facilitate } from "../facilitator.ts";
import { api, expectOk, settle, X402Fixture } from "../x402-fixture.ts";

const ENTRY = {
  serviceName: "Forecasts",
  tags: ["weather", "vienna"],
  mimeType: "application/json",
  info: { input: { type: "http", method: "GET", queryParams: { city: "Vienna" } } },
  schema: { type: "object", properties: { input: { type: "object" } } },
};
const HOSTILE = { info: { input: { type: "http", method: "GET" } }, schema: { title: "payer" } };

interface Entry {
  resource: string;
  lastUpdated: string;
  [field: string]: unknown;
}

let x402: X402Fixture;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-catalog");
});
beforeEach(() => env.DB.prepare("DELETE FROM x402_payment_source").run());

/** Reads the catalog as a stranger: without an API key. */
async function read<Answer>(path: string, parameters: Record<string, string>): Promise<Answer> {
  const query = new URLSearchParams(parameters);
  const url = `http://service.test/api/v1/x402/facilitator/discovery/${path}?${query}`;
  const response = await app.request(url, {}, env);
  expect(response.status, await response.clone().text()).toBe(200);
  return response.json();
}

const list = (parameters: Record<string, string> = {}) =>
  read<{ x402Version: number; items: Entry[]; pagination: object }>("resources", parameters);
const search = (query: string, parameters: Record<string, string> = {}) =>
  read<{ resources: Entry[]; partialResults: boolean }>("search", { query, ...parameters });
const namesOf = (entries: Entry[]) => entries.map(({ resource }) => new URL(resource).pathname);

const listed = (name: string, over: object = {}, headers: Record<string, string> = {}) =>
  x402.source({ url: `https://api.example.com/${name}`, discovery: ENTRY, ...over }, headers);

function change(id: string, discovery: object | null, token = env.ADMIN_KEY ?? "") {
  const request = { method: "PATCH", body: JSON.stringify({ id, discovery }), headers: { token } };
  return app.request("http://service.test/api/v1/x402/payment-sources", request, env);
}

describe("the catalog", () => {
  it("shows strangers the resources whose owners opted in, with terms that settle", async () => {
    await x402.source();
    const source = await listed("forecast", { description: "Weather of tomorrow" });
    const { items, ...page } = await list();
    expect(page).toEqual({ x402Version: 2, pagination: { limit: 20, offset: 0, total: 1 } });
    const { info, schema, ...about } = ENTRY;
    expect(items).toEqual([
      {
        resource: "https://api.example.com/forecast",
        type: "http",
        x402Version: 2,
        accepts: [source.requirements],
        lastUpdated: expect.stringMatching(/^\d{4}-.*Z$/),
        description: "Weather of tomorrow",
        ...about,
        extensions: { bazaar: { info, schema } },
      },
    ]);
    const payment = await x402.payment(await x402.buyer(), {
      url: items[0]?.resource ?? "",
      requirements: source.requirements,
    });
    const { settleResponse } = await expectOk(await settle(source, payment));
    expect(settleResponse).toMatchObject({ success: true, amount: "10000" });
  });

  it("names the wallet that payers of upto must name", async () => {
    await listed("upto", { scheme: "upto" });
    const { items } = await list({ scheme: "upto" });
    const extra = { facilitatorAddress: x402.facilitator.address };
    expect(items).toMatchObject([{ accepts: [{ scheme: "upto", extra }] }]);
  });

  it("has nothing of what a payer writes, and says so", async () => {
    const payment = await x402.payment(await x402.buyer(), await x402.source());
    const extended = { ...payment, extensions: { bazaar: HOSTILE } };
    const verified = await facilitate("verify", extended);
    const settled = await facilitate("settle", extended);
    expect(verified.body).toMatchObject({ isValid: true });
    expect(settled.body).toMatchObject({ success: true });
    for (const { headers } of [verified, settled])
      expect(JSON.parse(atob(headers.get("extension-responses") ?? ""))).toEqual({
        bazaar: { status: "rejected", rejectedReason: expect.stringContaining("owners") },
      });
    expect((await list()).items).toEqual([]);
  });

  it("says nothing of the extension to a payment without it", async () => {
    const source = await x402.source();
    const { headers } = await facilitate("verify", await x402.payment(await x402.buyer(), source));
    expect(headers.get("extension-responses")).toBeNull();
  });

  it("is changed by the owner of a resource alone", async () => {
    const { id } = await x402.source({ url: "https://api.example.com/later" });
    const token = await insertKey({ canPay: true, networkLimit: [x402.caip2] });
    expect((await change(id, ENTRY, token)).status).toBe(404);
    expect((await list()).items).toEqual([]);
    expect((await change(id, ENTRY)).status).toBe(200);
    expect(namesOf((await list()).items)).toEqual(["/later"]);
    expect((await change(id, { serviceName: "Other" })).status).toBe(200);
    expect((await list()).items).toMatchObject([{ serviceName: "Other" }]);
    expect((await list({ extensions: "bazaar" })).items).toEqual([]);
    expect((await change(id, null, token)).status).toBe(404);
    expect((await change(id, null)).status).toBe(200);
    expect((await list()).items).toEqual([]);
  });

  it.each([
    ["without a URL", { url: null }, "URL"],
    ["without a price", { amount: null }, "price"],
    ["at a private address", { url: "https://10.0.0.1/data" }, "public"],
    ["at a loopback address", { url: "https://localhost/data" }, "public"],
    ["without TLS", { url: "http://api.example.com/data" }, "https"],
  ])("refuses a resource %s", async (_, over, message) => {
    const source = {
      url: "https://api.example.com/data",
      caip2Network: x402.caip2,
      amount: "10000",
      payTo: x402.contracts.token,
    };
    const body = { ...source, discovery: ENTRY, ...over };
    expect(await api("/x402/payment-sources", body)).toMatchObject({
      status: 400,
      message: expect.stringMatching(new RegExp(`^discovery: .*${message}`)),
    });
  });

  it.each([
    ["of more than 8 KiB", { ...ENTRY, schema: { title: "x".repeat(8 * 1024) } }],
    ["with a name that is not ASCII", { ...ENTRY, serviceName: "Wetter\u202e" }],
    ["with a call of another protocol", { info: { input: { type: "mcp" } } }],
  ])("refuses an entry %s", async (_, discovery) => {
    const { id } = await x402.source();
    const response = await change(id, discovery);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("discovery");
  });

  it("leaves out resources of revoked keys and of networks that settle nothing", async () => {
    const token = await insertKey({ id: "lister", canPay: true, networkLimit: [x402.caip2] });
    await listed("revoked", {}, { token });
    await listed("kept");
    expect(namesOf((await list()).items)).toEqual(["/kept", "/revoked"]);
    await env.DB.prepare("UPDATE api_key SET status = 'Revoked' WHERE id = 'lister'").run();
    expect(namesOf((await list()).items)).toEqual(["/kept"]);
    await expectOk(await api("/x402/networks", { caip2Id: x402.caip2, isEnabled: false }));
    expect(await list()).toMatchObject({ items: [], pagination: { total: 0 } });
    expect((await search("kept")).resources).toEqual([]);
    await expectOk(await api("/x402/networks", { caip2Id: x402.caip2, isEnabled: true }));
  });

  it("gives page after page, newest first, and filters", async () => {
    const sources = [];
    for (const name of ["one", "two", "three"]) sources.push(await listed(name));
    const pages = [];
    for (const offset of ["0", "2", "4"]) {
      const { items, pagination } = await list({ limit: "2", offset });
      pages.push(namesOf(items));
      expect(pagination).toEqual({ limit: 2, offset: Number(offset), total: 3 });
    }
    expect(pages).toEqual([["/three", "/two"], ["/one"], []]);
    const payTo = sources[1]?.payTo ?? "";
    expect(namesOf((await list({ payTo })).items)).toEqual(["/two"]);
    expect(namesOf((await list({ payTo, extensions: "bazaar" })).items)).toEqual(["/two"]);
    for (const filter of [
      { type: "mcp" },
      { scheme: "upto" },
      { network: "eip155:1" },
      { extensions: "sign-in-with-x" },
    ])
      expect(await list(filter)).toMatchObject({ items: [], pagination: { total: 0 } });
    expect((await list({ type: "http", scheme: "exact", network: x402.caip2 })).items).toHaveLength(
      3,
    );
  });

  it("finds resources by words: those with the most of them first", async () => {
    await listed("rain", { description: "Rain in Graz", discovery: {} });
    await listed("both", { description: "Rain in Vienna" });
    await listed("stocks", { description: "Prices", discovery: { serviceName: "Stocks" } });
    const { resources, partialResults } = await search("Where is RAIN in vienna?");
    expect(namesOf(resources)).toEqual(["/both", "/rain"]);
    expect(partialResults).toBe(false);
    expect(await search("rain", { limit: "1" })).toMatchObject({ partialResults: true });
    expect(namesOf((await search("stocks")).resources)).toEqual(["/stocks"]);
    // Words of the stored JSON are no words of the owner.
    for (const words of ["queryParams", "serviceName", "%", "_", "in"])
      expect((await search(words)).resources).toEqual([]);
  });
});
