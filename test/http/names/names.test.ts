import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { createApp } from "../../../src/app.ts";
import { openDb, statement } from "../../../src/db/client.ts";
import type { Side } from "../../../src/escrow/model/escrow-record.ts";
import { emptyTables } from "../../support/app.ts";
import { sampled } from "../../support/effort.ts";
import { ENDPOINTS, type EndpointCase } from "../../support/endpoints/all.ts";
import {
  checkerOf,
  type Document,
  openApi,
  problemsOf as problemsOfOwn,
} from "../../support/endpoints/document.ts";
import { publicUrl } from "../../support/names.ts";
import { EntryWriter, registered } from "../../support/registry/entries.ts";
import { makeRecord, Writer } from "../../support/sources/records.ts";
import { insertSource } from "../../support/sources/sources.ts";

/** The names of the interface, and what clients of other services call them. */
const NAMES = [
  ["totalBuyerChainFees", "totalBuyerCardanoFees"],
  ["totalSellerChainFees", "totalSellerCardanoFees"],
  ["collateralReturnMinorUnit", "collateralReturnLovelace"],
  ["sendFundingMinorUnit", "sendFundingLovelace"],
  ["Web3ChainV1", "Web3CardanoV1"],
  ["Web3ChainV2", "Web3CardanoV2"],
  ["ChainV2", "CardanoV2"],
  ["CHAT", "SLACK"],
] as const;
const OWN_NAME = new RegExp(`"(?:${NAMES.map(([own]) => own).join("|")}|chain\\.\\w+)"`);
const OTHER_NAME = /Cardano|Lovelace|SLACK/;

/** JSON in the other spelling. */
function respelled<Json>(value: Json): Json {
  const text = NAMES.reduce(
    (all, [own, other]) => all.replaceAll(`"${own}"`, `"${other}"`),
    JSON.stringify(value),
  );
  return JSON.parse(text);
}

type App = ReturnType<typeof createApp>;
let own: App;
let other: App;
/** The document of the other spelling, and what is wrong with an answer by it. */
let document: Document;
let problemsOf: ReturnType<typeof checkerOf>;

beforeAll(async () => {
  own = (await import("../../../src/app.ts")).createApp();
  // The spelling is the deployment's: a service that begins anew says the other names.
  vi.stubEnv("WIRE_NAMES", "cardano");
  vi.resetModules();
  other = (await import("../../../src/app.ts")).createApp();
  document = (await (await other.request("/api/v1/openapi.json", {}, env)).json()) as Document;
  problemsOf = checkerOf(document);
});
beforeEach(emptyTables);

async function ask(app: App, { method, path }: EndpointCase, fields: Record<string, unknown>) {
  const query = new URLSearchParams();
  if (method === "GET")
    for (const [name, value] of Object.entries(fields)) query.append(name, String(value));
  const init = {
    method,
    headers: { token: env.ADMIN_KEY ?? "", "idempotency-key": crypto.randomUUID() },
    ...(method !== "GET" && { body: JSON.stringify(fields) }),
  };
  const answer = await app.request(`/api/v1${path}?${query}`, init, env);
  const text = await answer.text();
  const isJson = answer.headers.get("content-type")?.includes("json");
  return { status: answer.status, text, body: isJson ? JSON.parse(text) : null };
}

const get = (app: App, path: string) => {
  const [name = "", query] = path.split("?");
  const endpoint = ENDPOINTS.find((one) => one.path === name && one.method === "GET");
  if (!endpoint) throw new Error(`nothing is at ${name}`);
  return ask(app, endpoint, Object.fromEntries(new URLSearchParams(query)));
};

/** Their bodies are others with the other spelling: test/compatibility has them. */
const REPLACED = [
  "PATCH /x402/low-balance",
  "DELETE /x402/low-balance",
  "POST /x402/payments/reconcile",
];
const isReplaced = ({ method, path }: EndpointCase) => REPLACED.includes(`${method} ${path}`);

describe.each(
  sampled(
    4,
    ENDPOINTS.filter((endpoint) => !isReplaced(endpoint)),
  ).map((endpoint) => ({
    title: `${endpoint.method} ${endpoint.path}`,
    endpoint,
  })),
)("$title", ({ endpoint }) => {
  it("takes both spellings, and answers in that of the deployment", async () => {
    const spellings = [endpoint.valid, respelled(endpoint.valid)];
    const answers = new Set<string>();
    for (const fields of spellings) {
      for (const app of [own, other]) {
        await emptyTables();
        const { status, text, body } = await ask(app, endpoint, fields);
        answers.add(`${status} ${body?.error?.field ?? ""}`);
        expect(text).not.toMatch(app === own ? OTHER_NAME : OWN_NAME);
        if (app === other && body !== null)
          expect(problemsOf(endpoint.method, `/api/v1${endpoint.path}`, status, body)).toEqual([]);
      }
    }
    expect(answers.size).toBe(1);
  });
});

describe("the OpenAPI document of the other spelling", () => {
  it("is the same but for the names", () => {
    const text = JSON.stringify(document);
    expect(text).not.toMatch(OWN_NAME);
    expect(text).toMatch(OTHER_NAME);
    expect(JSON.stringify(openApi)).not.toMatch(OTHER_NAME);
    expect(document).not.toEqual(openApi);
    const paths = Object.keys(document.paths);
    expect(paths).toEqual(expect.arrayContaining(Object.keys(openApi.paths)));
  });
});

/** The body as other services have it: their payments have a history, which is null here. */
function withHistories({ data, ...body }: { data: { Payments?: object[] } }) {
  const Payments = data.Payments?.map((payment) => ({ ...payment, ActionHistory: null }));
  return { ...body, data: Payments ? { ...data, Payments } : data };
}

describe("records", () => {
  const LISTS = {
    payment: ["/payment", "/payment/diff", "/payment/diff/next-action"],
    purchase: ["/purchase", "/purchase/diff", "/purchase/diff/onchain-state-or-result"],
  };

  it.each(["payment", "purchase"] as Side[])(
    "of a %s have the names of the deployment, whichever wrote them",
    async (side) => {
      const writer = await Writer.create(env.DB);
      await writer.change([makeRecord(side, { sourceType: "Web3ChainV2" })]);
      for (const path of LISTS[side]) {
        const ours = await get(own, `${path}?network=Preprod`);
        expect(ours.text).toContain('"totalBuyerChainFees":0');
        const type = "filterPaymentSourceType=Web3CardanoV2";
        const theirs = await get(other, `${path}?network=Preprod&${type}`);
        expect(theirs.body).toEqual(withHistories(respelled(ours.body)));
        expect(theirs.text).toContain('"paymentSourceType":"Web3CardanoV2"');
        expect(theirs.text).toContain('"collateralReturnLovelace":"0"');
        // The writer makes up values that no chain has.
        expect(problemsOf("GET", `/api/v1${path}`, 200, theirs.body)).toEqual(
          problemsOfOwn("GET", `/api/v1${path}`, 200, ours.body),
        );
      }
    },
  );

  it("of agents have them too, and free text is left as it is", async () => {
    const writer = await EntryWriter.create();
    await writer.write({ a: registered("a", { description: ["about ", "Web3ChainV1"] }) });
    const list = ENDPOINTS.find(({ path }) => path === "/registry-entry") as EndpointCase;
    const fields = { network: "Preprod", filter: { status: ["Online"] } };
    await openDb(env).batch([statement("UPDATE registry_entry SET status = 'Online'")]);
    const [ours, theirs] = [await ask(own, list, fields), await ask(other, list, fields)];
    const [entry] = theirs.body.data.entries;
    expect(entry).toEqual({
      ...ours.body.data.entries[0],
      paymentType: "Web3CardanoV1",
      RegistrySource: { ...entry.RegistrySource, type: "Web3CardanoV1" },
    });
    expect(entry.description).toBe("about Web3ChainV1");
    expect(problemsOf("POST", "/api/v1/registry-entry", 200, theirs.body)).toEqual([]);
  });

  it("of payment sources and webhooks have them too", async () => {
    await insertSource("source-a", "Preprod");
    const source = await get(other, "/payment-source?network=Preprod");
    expect(source.body.data.PaymentSources).toMatchObject([
      { paymentType: "Web3CardanoV1", paymentSourceType: "Web3CardanoV1" },
    ]);
    const webhooks = ENDPOINTS.find(
      ({ method, path }) => method === "POST" && path === "/webhooks",
    ) as EndpointCase;
    const webhook = { url: await publicUrl(), name: "CHAT", format: "SLACK" };
    const made = await ask(other, webhooks, { ...webhook, Events: ["PAYMENT_ON_ERROR"] });
    expect(made.body.data).toMatchObject({ name: "CHAT", format: "SLACK" });
    expect((await get(own, "/webhooks")).body.data.Webhooks).toMatchObject([
      { name: "CHAT", format: "CHAT" },
    ]);
    const { body } = await get(other, "/webhooks");
    expect(body.data.Webhooks).toMatchObject([{ name: "CHAT", format: "SLACK" }]);
  });
});

describe("countRecordErrors", () => {
  it("name fields and values as the deployment does", async () => {
    const query = "network=Preprod&filterPaymentSourceType=V3";
    const messages = [own, other].map(async (app) => {
      const { body } = await get(app, `/payment?${query}`);
      return body.error.message;
    });
    expect(await Promise.all(messages)).toEqual([
      "filterPaymentSourceType: must be one of Web3ChainV1, Web3ChainV2",
      "filterPaymentSourceType: must be one of Web3CardanoV1, Web3CardanoV2",
    ]);
  });
});
