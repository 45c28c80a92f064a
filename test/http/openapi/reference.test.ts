import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { version } from "../../../package.json";
import { EVENT_KINDS } from "../../../src/events/event-kinds.ts";
import { ERROR_CODES } from "../../../src/http/errors/codes.ts";
import { TEST_EVENT_KIND } from "../../../src/webhooks/model/tables.ts";
import { app } from "../../support/app.ts";

const get = async (path: string) => app.request(path, {}, env);
const GUIDES = import.meta.glob("../../../docs/*.md");

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  examples?: unknown[];
  enum?: unknown[];
  const?: unknown;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
}

interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  deprecated?: boolean;
  tags?: string[];
  security?: unknown[];
  "x-scope"?: string;
  requestBody?: { content: Record<string, { schema: Schema }> };
  parameters?: {
    $ref?: string;
    name: string;
    required?: boolean;
    description?: string;
    schema: Schema;
  }[];
  responses: Record<string, { description: string; headers?: object; content?: object }>;
}

interface Document {
  openapi: string;
  info: { version: string; description: string; license: object };
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: {
    schemas: Record<string, Schema>;
    headers: object;
    parameters: Record<string, { description: string }>;
    securitySchemes: object;
  };
}

const document = (await (await get("/api/v1/openapi.json")).json()) as Document;
const { paths, webhooks, components } = document;

const OPERATIONS = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    title: `${method.toUpperCase()} ${path}`,
    method,
    path,
    operation,
  })),
);

/** The component that a schema refers to, or the schema itself. */
function resolved(schema: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (components.schemas[name] ?? {});
}

/** What a reader is not told of a schema and all that it holds: paths of properties. */
function untold(schema: Schema, path: string): string[] {
  // A partial schema that only states what is required has no type.
  if (schema.$ref !== undefined || (schema.type ?? schema.oneOf ?? schema.anyOf) === undefined)
    return [];
  const { properties = {}, items, oneOf, anyOf, additionalProperties } = schema;
  const inner = [
    ...Object.entries(properties).flatMap(([name, property]) => [
      ...lacking(property, `${path}.${name}`),
      ...untold(property, `${path}.${name}`),
    ]),
    ...[...(oneOf ?? []), ...(anyOf ?? [])].flatMap((one, i) => untold(one, `${path}(${i})`)),
  ];
  if (items) inner.push(...untold(items, `${path}[]`));
  if (typeof additionalProperties === "object")
    inner.push(...untold(additionalProperties, `${path}{}`));
  return inner;
}

function lacking(property: Schema, path: string): string[] {
  const whole = { ...resolved(property), ...property };
  const { description, examples, properties, items, oneOf, anyOf } = whole;
  const holds = properties ?? items ?? oneOf ?? anyOf;
  return [
    ...(/^[A-Z0-9`].*[.…]$/s.test(description ?? "") ? [] : [`${path}: description`]),
    ...(holds || whole.enum || (examples && examples.length > 0) ? [] : [`${path}: example`]),
  ];
}

describe("GET /api/v1/openapi.json", () => {
  it("is an OpenAPI 3.1 document of this version with the token header and the bearer token", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(document.info).toMatchObject({ version, license: { identifier: "MIT" } });
    expect(components.securitySchemes).toMatchObject({
      token: { type: "apiKey", in: "header", name: "token" },
      bearer: { type: "http", scheme: "bearer" },
    });
  });

  it("is at /api-docs too", async () => {
    expect(await (await get("/api-docs")).json()).toEqual(document);
  });

  it.each(OPERATIONS)(
    "says of $title what it is, takes and answers",
    ({ path, method, operation }) => {
      const open = /^\/api\/v1\/(health|x402\/facilitator\/discovery\/)/.test(path);
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z0-9]+$/);
      expect(operation.summary).toMatch(/\S/);
      expect(document.tags.map(({ name }) => name)).toEqual(
        expect.arrayContaining(operation.tags ?? []),
      );
      expect(operation.tags).toHaveLength(1);
      const [, scope] = /Scope: (\w+)\. /.exec(operation.description ?? "") ?? [];
      expect(operation["x-scope"]).toBe(open ? "public" : scope);
      const schemes = path.startsWith("/v1/") ? ["bearer"] : ["token", "bearer"];
      expect(operation.security).toEqual(open ? [] : schemes.map((scheme) => ({ [scheme]: [] })));
      expect(Object.keys(operation.responses)).toEqual(
        expect.arrayContaining(open ? ["200", "500", "503"] : ["200", "401", "403", "429", "503"]),
      );
      expect(Boolean(operation.requestBody)).toBe(method !== "get");
      for (const { headers } of Object.values(operation.responses))
        expect(headers).toHaveProperty("X-Request-Id");
      expect(operation.responses[429]?.headers).toHaveProperty("Retry-After");
      if (!open) expect(operation.responses[401]?.headers).toHaveProperty("WWW-Authenticate");
      for (const { $ref, name, description, schema } of operation.parameters ?? [])
        if ($ref === undefined)
          expect(lacking({ ...schema, description: description ?? "" }, name)).toEqual([]);
    },
  );

  it("has an operation's name once", () => {
    const names = OPERATIONS.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
  });

  it("marks what is another name of something else", () => {
    const deprecated = OPERATIONS.filter(({ operation }) => operation.deprecated === true);
    expect(deprecated.map(({ title }) => title).sort()).toEqual([
      "DELETE /api/v1/registry-inbox",
      "GET /api/v1/registry-inbox",
      "GET /api/v1/registry-inbox/agent-identifier",
      "GET /api/v1/registry-inbox/count",
      "GET /api/v1/registry-inbox/diff",
      "GET /api/v1/registry-inbox/wallet",
      "POST /api/v1/registry-inbox",
      "POST /api/v1/registry-inbox/deregister",
      "POST /api/v1/registry/deregister",
    ]);
  });

  it("describes every property of every schema, with an example", () => {
    const missing = Object.entries(components.schemas).flatMap(([name, schema]) =>
      untold(schema, name),
    );
    expect(missing).toEqual([]);
    expect(JSON.stringify(document)).not.toContain('"description":""');
  });

  it("has no description in which a noun is missing", () => {
    const descriptions = JSON.stringify(document).match(/"description":"(?:[^"\\]|\\.)*"/g) ?? [];
    expect(descriptions.length).toBeGreaterThan(1000);
    expect(descriptions.filter((one) => / ,|\b(?:of|to|by|from|for|in) [.,]/.test(one))).toEqual(
      [],
    );
  });

  it("has null at properties only, never in a component that others refer to", () => {
    const nullable = Object.entries(components.schemas).filter(
      ([, { type, anyOf }]) =>
        type === "null" || type?.includes("null") || anyOf?.some((one) => one.type === "null"),
    );
    expect(nullable.map(([name]) => name)).toEqual([]);
  });

  it("names each enumeration, but for yes and no", () => {
    const unnamed = (value: unknown): string[] => {
      if (typeof value !== "object" || value === null) return [];
      const { enum: values } = value as Schema;
      const own = values && values.length > 1 && `${values}` !== "true,false" ? [`${values}`] : [];
      return [...own, ...Object.values(value).flatMap(unnamed)];
    };
    const inComponents = Object.values(components.schemas).map(({ enum: _, ...rest }) => rest);
    expect(unnamed([paths, webhooks, inComponents])).toEqual([]);
  });

  it("tells how the six diffs of escrows page", () => {
    const diffs = OPERATIONS.filter(({ path }) => /(payment|purchase)\/diff/.test(path));
    expect(diffs).toHaveLength(6);
    for (const { path, operation } of diffs) {
      const sign = path.includes("purchase") ? ">=" : ">";
      expect(operation.description).toContain(`whose stamp is \`${sign}\` \`lastUpdate\``);
      expect(operation.description).toMatch(/repeats the cursor item.*two items/s);
      expect(operation.responses).toHaveProperty("304");
    }
  });

  it("has the webhooks that are sent", () => {
    expect(Object.keys(webhooks).sort()).toEqual([...EVENT_KINDS, TEST_EVENT_KIND].sort());
    for (const { post } of Object.values(webhooks))
      expect(post.requestBody?.content["application/json"]?.schema.$ref).toMatch(/Event$/);
  });

  it("tells the bounds that are checked", () => {
    const parameters = paths["/api/v1/purchase/diff/onchain-state-or-result"]?.get?.parameters;
    const parameter = (name: string) => parameters?.find((one) => one.name === name);
    expect(parameter("limit")).toMatchObject({
      in: "query",
      schema: { type: "integer", minimum: 1, maximum: 100, default: 10 },
    });
    expect(parameter("network")?.required).toBe(true);
    expect(resolved(parameter("network")?.schema ?? {})).toMatchObject({
      type: "string",
      enum: ["Preprod", "Mainnet"],
    });
    expect(parameter("lastUpdate")).toMatchObject({
      required: false,
      schema: { type: "string", format: "date-time", default: "1970-01-01T00:00:00.000Z" },
    });
    expect(components.schemas.CreatePaymentSourceRequest?.oneOf).toHaveLength(3);
    expect(components.schemas.DeregisterAgentRequest?.oneOf).toHaveLength(2);
  });

  it("explains each format of its own", () => {
    const formats = new Set(JSON.stringify(document).match(/(?<="format":")[^"]+/g));
    const standard = ["date", "date-time", "email", "uri"];
    expect([...formats].filter((one) => !standard.includes(one)).sort()).toEqual(
      [...document.info.description.matchAll(/^\* `(.+)`: /gm)].map(([, name]) => name),
    );
  });

  it("tells what is required, and which types are taken, where checks of the whole decide it", () => {
    const { schemas } = components;
    const wallet = paths["/api/v1/registry/wallet"]?.get?.parameters ?? [];
    const required = wallet.filter((one) => one.required).map(({ name }) => name);
    expect(required).toEqual(["walletVKey", "network"]);
    expect(schemas.X402PaymentRequirements?.properties?.maxTimeoutSeconds).toMatchObject({
      type: "integer",
      minimum: 1,
    });
    expect(schemas.SaveX402NetworkRequest?.properties?.defaultAsset?.anyOf).toEqual([
      expect.objectContaining({ type: "string" }),
      { type: "null" },
    ]);
    expect(schemas.StoreInvoiceRateRequest?.properties?.rate?.anyOf).toEqual([
      expect.objectContaining({ type: "number" }),
      expect.objectContaining({ type: "string" }),
    ]);
    expect(schemas.DeregisterAgentRequest?.oneOf?.map((one) => one.required)).toEqual([
      ["network", "agentIdentifier"],
      ["id"],
    ]);
    expect(schemas.X402FacilitatorRequest?.required).toEqual([
      "paymentPayload",
      "paymentRequirements",
    ]);
  });

  it("resolves every reference in it, and has no component that nothing refers to", () => {
    const references = JSON.stringify(document).match(/#\/components\/\w+\/[\w-]+/g) ?? [];
    for (const kind of ["schemas", "headers", "parameters"] as const)
      expect(Object.keys(components[kind]).sort()).toEqual(
        [...new Set(references)]
          .filter((one) => one.startsWith(`#/components/${kind}/`))
          .map((one) => one.split("/").at(-1))
          .sort(),
      );
  });
});

describe("GET /docs/errors", () => {
  it("has every code with its status", async () => {
    const page = await (await get("/docs/errors")).text();
    for (const [code, { status }] of Object.entries(ERROR_CODES))
      expect(page).toContain(`<h2 id="${code}">${code}</h2>
<p><b>${status}</b>`);
  });
});

describe("GET /docs without a built site", () => {
  it("links each guide, the index for models and the document, and loads nothing", async () => {
    const answer = await get("/docs");
    expect(answer.status).toBe(200);
    const page = await answer.text();
    const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, link]) => link);
    const guides = Object.keys(GUIDES).map((path) => `/docs/${path.split("/").at(-1)}`);
    expect(links.sort()).toEqual(
      [...guides, "/api/v1/openapi.json", "/docs/errors", "/llms.txt"].sort(),
    );
    for (const link of links) expect([link, (await get(link ?? "")).status]).toEqual([link, 200]);
    expect(page).not.toMatch(/<script|src=|https?:/);
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
  });
});
