import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";

const app = createApp();
const get = async (path: string) => app.request(path, {}, env);

interface Operation {
  summary?: string;
  tags?: string[];
  security?: unknown[];
  requestBody?: { content: Record<string, { schema: { $ref?: string; required?: string[] } }> };
  parameters?: { name: string; in: string; required?: boolean; schema: object }[];
  responses: Record<string, { description: string; content?: object }>;
}

interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; securitySchemes: object };
}

const document = async () => (await (await get("/api/v1/openapi.json")).json()) as Document;

describe("GET /api/v1/openapi.json", () => {
  it("is an OpenAPI 3.1 document with the token header and the bearer token", async () => {
    const { openapi, components } = await document();
    expect(openapi).toBe("3.1.0");
    expect(components.securitySchemes).toEqual({
      token: { type: "apiKey", in: "header", name: "token" },
      bearer: { type: "http", scheme: "bearer", description: "An Admin API key." },
    });
  });

  it("says of every operation what it is, what it takes and what it answers", async () => {
    const { paths } = await document();
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
    expect(operations.length).toBeGreaterThan(8);
    for (const { path, method, operation } of operations) {
      const open = path === "/api/v1/health";
      expect(operation.summary, `${method} ${path}`).toMatch(/\S/);
      expect(operation.tags).toHaveLength(1);
      const scheme = path.startsWith("/v1/") ? { bearer: [] } : { token: [] };
      expect(operation.security).toEqual(open ? [] : [scheme]);
      expect(Object.keys(operation.responses)).toEqual(
        expect.arrayContaining(open ? ["200", "500", "503"] : ["200", "401", "403", "429", "503"]),
      );
      expect(Boolean(operation.requestBody)).toBe(method !== "get");
    }
  });

  it("tells the bounds that are checked", async () => {
    const { paths } = await document();
    const parameters = paths["/api/v1/purchase/diff/onchain-state-or-result"]?.get?.parameters;
    const parameter = (name: string) => parameters?.find((one) => one.name === name);
    expect(parameter("limit")).toMatchObject({
      in: "query",
      schema: { type: "integer", minimum: 1, maximum: 100, default: 10 },
    });
    expect(parameter("network")).toMatchObject({
      required: true,
      schema: { type: "string", enum: ["Preprod", "Mainnet"] },
    });
    expect(parameter("lastUpdate")).toMatchObject({
      schema: { type: "string", format: "date-time", default: "1970-01-01T00:00:00.000Z" },
    });
    expect(parameter("lastUpdate")?.required ?? false).toBe(false);
    const create = paths["/api/v1/payment-source-extended"]?.post?.requestBody;
    expect(create?.content["application/json"]?.schema.required?.sort()).toEqual([
      "AdminWallets",
      "PaymentSourceConfig",
      "feeRatePermille",
      "network",
    ]);
  });

  it("resolves every reference in it", async () => {
    const whole = await document();
    const references = JSON.stringify(whole).match(/#\/components\/schemas\/\w+/g) ?? [];
    expect(references.length).toBeGreaterThan(0);
    for (const reference of references)
      expect(Object.keys(whole.components.schemas)).toContain(reference.split("/").at(-1));
  });
});

describe("GET /docs", () => {
  it("is a page that loads nothing from elsewhere, and may not", async () => {
    const answer = await get("/docs");
    expect(answer.status).toBe(200);
    const page = await answer.text();
    expect(page).not.toMatch(/https?:\/\//);
    expect(page).toContain('spec-url="/api/v1/openapi.json"');
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toMatch(/https?:|\*/);
  });

  it("serves its renderer from this origin", async () => {
    const page = await (await get("/docs")).text();
    const [, script = ""] = /<script type="module" src="([^"]+)">/.exec(page) ?? [];
    const answer = await get(script);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/javascript/);
    expect((await answer.text()).length).toBeGreaterThan(100_000);
  });
});
