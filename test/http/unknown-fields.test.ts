import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { findIgnoredFields } from "../../src/http/endpoint.ts";
import { app, emptyTables } from "../support/app.ts";
import { sampled } from "../support/effort.ts";
import { ENDPOINTS, type EndpointCase } from "../support/endpoints/all.ts";
import { type JsonSchema, openApi } from "../support/endpoints/document.ts";
import { post, send } from "../support/test-app.ts";

const WITH_BODY = ENDPOINTS.filter(({ method }) => method !== "GET");

/** Bodies that limit a key, a wallet or a webhook: an ignored field would widen what it may do. */
const STRICT = [
  "POST /api-key",
  "PATCH /api-key",
  "DELETE /api-key",
  "POST /erasure",
  "POST /x402/budgets",
  "POST /x402/low-balance",
  "PATCH /x402/low-balance",
  "DELETE /x402/low-balance",
  "POST /wallet/low-balance",
  "PATCH /wallet/low-balance",
  "DELETE /wallet/low-balance",
  "POST /wallet/top-up",
  "PATCH /wallet/top-up",
  "DELETE /wallet/top-up",
  "POST /wallet",
  "PATCH /wallet",
  "DELETE /wallet",
  "POST /webhooks",
  "PATCH /webhooks",
];
const WORDS = `${"abandon ".repeat(11)}about`;
const titleOf = ({ method, path }: EndpointCase) => `${method} ${path}`;

async function ask({ method, path }: EndpointCase, fields: Record<string, unknown>, query = "") {
  const isGet = method === "GET";
  const parameters = isGet ? new URLSearchParams(fields as Record<string, string>) : "";
  const init = {
    method,
    headers: { token: env.ADMIN_KEY ?? "" },
    ...(!isGet && { body: JSON.stringify(fields) }),
  };
  return app.request(`/api/v1${path}?${parameters}${query}`, init, env);
}

async function errorOf(answer: Response): Promise<{ message: string; field?: string } | undefined> {
  return ((await answer.json()) as { error?: { message: string; field?: string } }).error;
}

/** Every schema of an object that a schema of the document has in it, at any depth. */
function objectsIn(schema: JsonSchema): JsonSchema[] {
  const name = typeof schema.$ref === "string" && schema.$ref.split("/").at(-1);
  if (name) return objectsIn(openApi.components.schemas[name] ?? {});
  const { properties, items, oneOf, anyOf, additionalProperties } = schema as {
    [keyword: string]: JsonSchema & JsonSchema[];
  };
  const parts = [
    ...Object.values((properties ?? {}) as Record<string, JsonSchema>),
    ...(items ? [items] : []),
    ...(oneOf ?? []),
    ...(anyOf ?? []),
    ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
  ];
  return [...(properties ? [schema] : []), ...parts.flatMap(objectsIn)];
}

beforeEach(emptyTables);

describe("a body that limits", () => {
  it("belongs to an endpoint that is there", () => {
    expect(WITH_BODY.map(titleOf)).toEqual(expect.arrayContaining(STRICT));
  });

  const strict = WITH_BODY.filter((endpoint) => STRICT.includes(titleOf(endpoint)));

  it.each(sampled(2, strict).map((endpoint) => ({ title: titleOf(endpoint), endpoint })))(
    "refuses and names a field that is not known: $title",
    async ({ endpoint }) => {
      const answer = await ask(endpoint, { ...endpoint.valid, walletLimits: [] });
      expect(answer.status).toBe(400);
      expect(await errorOf(answer)).toMatchObject({
        message: expect.stringMatching(/^walletLimits: this field is not known( \(did you mean|$)/),
        field: "walletLimits",
      });
    },
  );

  it.each(sampled(2, strict, 1).map((endpoint) => ({ title: titleOf(endpoint), endpoint })))(
    "is closed in the document, with all that is in it: $title",
    ({ endpoint: { method, path } }) => {
      const { requestBody } = openApi.paths[`/api/v1${path}`]?.[method.toLowerCase()] ?? {};
      const objects = objectsIn(requestBody?.content["application/json"].schema ?? {});
      expect(objects.length).toBeGreaterThan(0);
      expect(objects.filter((one) => one.additionalProperties !== false)).toEqual([]);
    },
  );

  it.each([
    [
      "POST /api-key",
      { NetworkLimit: [], WalletScopeHotWalletIds: [], walletScopeEnabled: true, canRead: true },
      ["NetworkLimit", "WalletScopeHotWalletIds", "walletScopeEnabled", "canRead"],
    ],
    ["POST /api-key", { canAdmin: false }, ["canAdmin"]],
    [
      "POST /wallet/low-balance",
      { assetUnit: "ab".repeat(28), topupEnabled: true, topupAmount: "5" },
      ["assetUnit", "topupEnabled", "topupAmount"],
    ],
    ["PATCH /wallet/low-balance", { ruleId: "rule" }, ["ruleId"]],
    ["DELETE /wallet/low-balance", { ruleId: "rule" }, ["ruleId"]],
  ])(
    "refuses fields of other services, so that none is lost: %s %j",
    async (title, more, names) => {
      const endpoint = strict.find((one) => titleOf(one) === title) as EndpointCase;
      const answer = await ask(endpoint, { ...endpoint.valid, ...more });
      expect(answer.status).toBe(400);
      const message = (await errorOf(answer))?.message ?? "";
      expect(message.replaceAll(/ \(did you mean `\w+`\?\)/g, "")).toBe(
        names.map((name) => `${name}: this field is not known`).join("; "),
      );
    },
  );

  it("names the unknown field before the one that it was meant for", async () => {
    const endpoint = strict.find((one) => titleOf(one) === "POST /x402/low-balance");
    const fields = { evmWalletId: "wallet", thresholdAmount: "5" };
    const error = await errorOf(await ask(endpoint as EndpointCase, fields));
    expect(error).toMatchObject({
      message:
        "thresholdAmount: this field is not known (did you mean `threshold`?); threshold: is required",
      field: "thresholdAmount",
    });
  });

  const WALLETS = ["PurchasingWallets", "SellingWallets", "FundingWallets"];
  const wallet = { walletMnemonic: WORDS, drive: "nothing" };
  const limit = { network: "Preprod", unit: "", amount: "1", perDay: "1" };

  it.each([
    { title: "POST /api-key", name: "spendingLimits", entry: limit, unknown: "perDay" },
    { title: "PATCH /api-key", name: "spendingLimits", entry: limit, unknown: "perDay" },
    { title: "PATCH /api-key", name: "spendingLimitChanges", entry: limit, unknown: "perDay" },
    ...WALLETS.flatMap((name) => [
      { title: "POST /payment-source-extended", name, entry: wallet, unknown: "drive" },
      {
        title: "PATCH /payment-source-extended",
        name: `Add${name}`,
        entry: wallet,
        unknown: "drive",
      },
    ]),
  ])("refuses it in an entry of $name: $title", async ({ title, name, entry, unknown }) => {
    const field = `${name}[0].${unknown}`;
    const endpoint = WITH_BODY.find((one) => titleOf(one) === title) as EndpointCase;
    const answer = await ask(endpoint, { ...endpoint.valid, [name]: [entry] });
    expect(answer.status).toBe(400);
    const error = await errorOf(answer);
    const nearest = unknown === "drive" ? " (did you mean `drives`?)" : "";
    expect(error).toMatchObject({ message: `${field}: this field is not known${nearest}`, field });
  });

  it.each([
    ["POST /api-key", { permision: "Read" }, "permission"],
    ["POST /api-key", { PERMISSION: "Read" }, "permission"],
    ["POST /api-key", { spendingLimit: [] }, "spendingLimits"],
    ["POST /api-key", { limitSpending: [] }, null],
    ["PATCH /api-key", { usageCredits: "1" }, "maxUsageCredits"],
    ["PATCH /wallet/low-balance", { threshold: "1" }, "thresholdAmount"],
    ["POST /webhooks", { ulr: "https://example.com" }, "url"],
    ["POST /webhooks", { zzz: 1 }, null],
  ])("proposes the nearest name that was not sent: %s %j", async (title, body, nearest) => {
    const endpoint = WITH_BODY.find((one) => titleOf(one) === title) as EndpointCase;
    const { message = "" } = (await errorOf(await ask(endpoint, body))) ?? {};
    const [first] = message.split("; ");
    const [name = ""] = Object.keys(body);
    const proposal = nearest === null ? "" : ` (did you mean \`${nearest}\`?)`;
    expect(first).toBe(`${name}: this field is not known${proposal}`);
  });

  it.each([
    ["limit: must be at most 50; x", '["limit: must be at most 50; x"]'],
    ["a.b", '["a.b"]'],
    ["", '[""]'],
    ["__proto__", "__proto__"],
    ["x".repeat(1000), `${"x".repeat(60)}…`],
    ["é\n".repeat(50), `["${"é\\n".repeat(30)}…"]`],
  ])("quotes what is no plain name: %j", async (name, field) => {
    const endpoint = WITH_BODY.find((one) => titleOf(one) === "POST /api-key") as EndpointCase;
    const body = `{${JSON.stringify(name)}:1}`;
    const init = { method: "POST", headers: { token: env.ADMIN_KEY ?? "" }, body };
    const answer = await app.request(`/api/v1${endpoint.path}`, init, env);
    expect(answer.status).toBe(400);
    const error = await errorOf(answer);
    expect(error).toMatchObject({ message: `${field}: this field is not known`, field });
  });
});

describe("any other body", () => {
  const lenient = WITH_BODY.filter((endpoint) => !STRICT.includes(titleOf(endpoint)));

  it.each(sampled(4, lenient).map((endpoint) => ({ title: titleOf(endpoint), endpoint })))(
    "is taken, and the answer names what was ignored: $title",
    async ({ endpoint }) => {
      const plain = await ask(endpoint, endpoint.valid);
      expect(plain.headers.get("x-ignored-fields")).toBeNull();
      await emptyTables();
      const more = await ask(endpoint, { ...endpoint.valid, "a name": 1, "b,c.d": {} });
      expect(more.status).toBe(plain.status);
      expect(more.headers.get("x-ignored-fields")).toBe("a%20name,b%2Cc%2Ed");
      expect(more.headers.get("access-control-expose-headers")).toContain("x-ignored-fields");
    },
  );

  it("names them in a refusal as well, with parameters of the URL", async () => {
    const endpoint = WITH_BODY.find(({ path }) => path === "/registry-diff") as EndpointCase;
    const answer = await ask(endpoint, { statusUpdateAfter: "2026-11-22" }, "network=Preprod");
    expect(answer.status).toBe(400);
    expect(answer.headers.get("x-ignored-fields")).toBe("network,statusUpdateAfter");
  });
});

describe("a parameter of the URL that is not known", () => {
  const reading = ENDPOINTS.filter(({ method }) => method === "GET");

  it.each(sampled(4, reading).map((endpoint) => ({ title: titleOf(endpoint), endpoint })))(
    "is ignored, and the answer names it: $title",
    async ({ endpoint }) => {
      const plain = await ask(endpoint, endpoint.valid);
      expect(plain.headers.get("x-ignored-fields")).toBeNull();
      const more = await ask(endpoint, endpoint.valid, "&nextPage=2");
      expect(more.status).toBe(plain.status);
      expect(more.headers.get("x-ignored-fields")).toBe("nextPage");
    },
  );
});

describe("x-ignored-fields", () => {
  const schema = z.object({
    known: z.string().optional(),
    sendFundingMinorUnit: z.string().optional(),
    list: z.array(z.object({ a: z.object({ b: z.number() }).optional() })).default([]),
    one: z
      .discriminatedUnion("is", [
        z.object({ is: z.literal("A"), a: z.number() }),
        z.object({ is: z.literal("B"), b: z.number() }),
      ])
      .nullish(),
    piped: z.object({ in: z.string() }).transform(Object.keys).optional(),
    byUnit: z.record(z.string(), z.object({ rate: z.number() })).optional(),
    open: z.looseObject({ url: z.string() }).optional(),
    free: z.record(z.string(), z.unknown()).optional(),
    anything: z.unknown(),
    paymentPayload: z.object({ x402Version: z.number() }).optional(),
    metadata: z.object({}).optional(),
  });

  it.each([
    [{ known: "a" }, []],
    [{ unknown: 1, known: "a", toString: 1 }, ["unknown", "toString"]],
    [
      { list: [{ a: { b: 1, c: 1 } }, { a: { b: 1, c: 1, d: 1 }, e: 1 }] },
      ["list.a.c", "list.a.d", "list.e"],
    ],
    [{ one: { is: "B", a: 1, b: 2 } }, ["one.a"]],
    [{ piped: { in: "a", out: "b" } }, ["piped.out"]],
    [{ byUnit: { "a.b": { rate: 1, source: 2 } } }, ["byUnit.a%2Eb.source"]],
    [{ open: { url: "a", more: { b: 1 } }, free: { a: { b: 1 } }, anything: { c: 1 } }, []],
    [{ paymentPayload: { x402Version: 2, more: 1 }, metadata: { a: 1 } }, []],
    [{ sendFundingLovelace: "1" }, []],
    [{ sendFundingLovelace: "1", sendFundingMinorUnit: "1" }, ["sendFundingLovelace"]],
    [{ "": 1, "é\r\n": 1, "\ud800": 1 }, ["%22%22", "%C3%A9%0D%0A", "%EF%BF%BD"]],
    [[{ unknown: 1 }], []],
    [null, []],
  ])("of %j has %j", (value, names) => {
    expect(findIgnoredFields([{ schema, value }])).toEqual(names);
  });

  it("has twenty names at most, and stays below what clients take as headers", async () => {
    const names = Array.from({ length: 50 }, (_, i) => `${i}${"\u20ac".repeat(5_000)}`);
    const body = { name: "a", ...Object.fromEntries(names.map((name) => [name, 1])) };
    const header = (await post(body)).headers.get("x-ignored-fields") ?? "";
    expect(header.split(",")).toHaveLength(20);
    expect(header.length).toBeLessThan(12 * 1024);
    expect(header).toMatch(/^[\x21-\x7e]+$/);
  });

  it("is left out where nothing was ignored", async () => {
    expect((await post({ name: "a" })).headers.has("x-ignored-fields")).toBe(false);
    expect((await send("/things?limit=5")).headers.has("x-ignored-fields")).toBe(false);
  });

  it("is a header of every operation in the document", () => {
    for (const operations of Object.values(openApi.paths))
      for (const { responses } of Object.values(operations))
        expect(responses[200]).toHaveProperty("headers.X-Ignored-Fields");
  });
});
