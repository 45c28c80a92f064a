import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createToken } from "../../src/api-keys/token.ts";
import { MAX_BODY_BYTES } from "../../src/http/body.ts";
import { app, emptyTables } from "../support/app.ts";
import { sampled } from "../support/effort.ts";
import { insertKey } from "../support/keys.ts";
import { type AdminAnswer, type AdminRequest, ask } from "./fleet.ts";

interface Case {
  method: "GET" | "POST" | "DELETE";
  /** Below /v1/admin/worker-bots. */
  path: string;
  valid: Record<string, unknown>;
  required: string[];
  /** By field: values that are refused. */
  refused: Record<string, unknown[]>;
}

const long = (length: number) => "x".repeat(length + 1);
const NOT_TEXT = [5, true, null, {}, ["v1"]];
const SLUGS = ["", "v", long(41), "V1", "-v1", "v_1", "v 1", "v1\n", "v1 "];
const LIST = { limit: ["0", "101", "ten", "1.5", ""], cursorId: ["", long(250)] };
const STATUS = ["", "active", "Deleted"];

const CASES: Case[] = [
  {
    method: "POST",
    path: "/versions/migrate",
    valid: { toVersionId: "v2", reason: "because" },
    required: ["toVersionId", "reason"],
    refused: {
      toVersionId: [...SLUGS, ...NOT_TEXT],
      fromVersionId: [...SLUGS, ...NOT_TEXT],
      reason: ["", "  \n", long(2000), ...NOT_TEXT],
    },
  },
  {
    method: "GET",
    path: "/moves",
    valid: { limit: "5", cursorId: "a", workerBotId: "b", outcome: "Failed" },
    required: [],
    refused: { ...LIST, workerBotId: ["", long(250)], outcome: ["", "failed"] },
  },
  {
    method: "GET",
    path: "",
    valid: { limit: "5", cursorId: "a", versionId: "v1", status: "Active" },
    required: [],
    refused: { ...LIST, versionId: SLUGS, status: STATUS },
  },
  {
    method: "POST",
    path: "",
    valid: { name: "bot", versionId: "v1" },
    required: ["name", "versionId"],
    refused: { name: ["", long(250), ...NOT_TEXT], versionId: [...SLUGS, ...NOT_TEXT] },
  },
  {
    method: "DELETE",
    path: "",
    valid: { id: "bot" },
    required: ["id"],
    refused: { id: ["", long(250), ...NOT_TEXT] },
  },
  {
    method: "GET",
    path: "/versions",
    valid: { limit: "5", cursorId: "a", status: "Archived" },
    required: [],
    refused: { ...LIST, status: STATUS },
  },
  {
    method: "POST",
    path: "/versions",
    valid: { id: "v1", name: "One", summary: "The first." },
    required: ["id", "name"],
    refused: {
      id: [...SLUGS, ...NOT_TEXT],
      name: ["", long(250), ...NOT_TEXT],
      summary: ["", long(2000), 5, true, {}, ["v1"]],
    },
  },
  {
    method: "DELETE",
    path: "/versions",
    valid: { id: "v1" },
    required: ["id"],
    refused: { id: ["", long(250), ...NOT_TEXT] },
  },
];
const EACH = CASES.map((one) => ({ title: `${one.method} /v1/admin/worker-bots${one.path}`, one }));
const WITH_BODY = EACH.filter(({ one }) => one.method !== "GET");

let tokens: Record<"user" | "payer" | "revoked", string>;

beforeAll(async () => {
  await emptyTables();
  tokens = {
    user: await insertKey({}),
    payer: await insertKey({ canPay: true }),
    revoked: await insertKey({ status: "Revoked", permission: "Admin" }),
  };
});

function send({ method, path }: Case, fields: object, request: AdminRequest = {}) {
  if (method !== "GET") return ask(path, { method, body: fields, ...request });
  return ask(`${path}?${new URLSearchParams(fields as Record<string, string>)}`, request);
}

async function written(): Promise<string> {
  const { results } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%cf_%'`,
  ).all<{ name: string }>();
  const tables = await env.DB.batch(
    results.map(({ name }) => env.DB.prepare(`SELECT * FROM "${name}"`)),
  );
  return JSON.stringify(tables.map((table) => table.results));
}

const NAMES = {
  401: ["Unauthorized", "unauthorized"],
  403: ["Forbidden", "forbidden"],
  404: ["NotFound", "not_found"],
  405: ["MethodNotAllowed", "method_not_allowed"],
  413: ["PayloadTooLarge", "too_large"],
  422: ["UnprocessableEntity", "validation_failed"],
  429: ["TooManyRequests", "rate_limited"],
} as const;

/** Expects the error shape of the interface, to the field, and that nothing was written. */
async function expectRefused(
  answering: () => Promise<AdminAnswer>,
  status: keyof typeof NAMES,
): Promise<AdminAnswer> {
  const before = await written();
  const answer = await answering();
  const [error, kind] = NAMES[status];
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: {
      error,
      kind,
      message: expect.stringMatching(/\S/),
      meta: {
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        requestId: answer.headers.get("x-request-id"),
        path: expect.stringMatching(/^\/v1(\/|$)/),
        method: expect.stringMatching(/^[A-Z]+$/),
      },
    },
  });
  expect(await written()).toBe(before);
  return answer;
}

interface Operation {
  security: object[];
  responses: Record<string, { content: Record<string, { schema: { $ref?: string } }> }>;
}

describe("the table of endpoints under /v1", () => {
  it("is that of the OpenAPI document, with the bearer scheme and every error's shape", async () => {
    const answer = await app.request("/api/v1/openapi.json", {}, env);
    const { paths, components } = (await answer.json()) as {
      paths: Record<string, Record<string, Operation>>;
      components: { schemas: Record<string, { required?: string[] }>; securitySchemes: object };
    };
    const served = Object.entries(paths)
      .filter(([path]) => path.startsWith("/v1/"))
      .flatMap(([path, operations]) =>
        Object.entries(operations).map(([method, operation]) => {
          expect(operation.security).toEqual([{ bearer: [] }]);
          for (const status of ["401", "403", "422"])
            expect(operation.responses[status]?.content["application/json"]?.schema.$ref).toBe(
              "#/components/schemas/AdminError",
            );
          return `${method.toUpperCase()} ${path}`;
        }),
      );
    expect(served.sort()).toEqual(EACH.map(({ title }) => title).sort());
    expect(components.schemas.AdminError?.required).toEqual(["error", "message", "kind", "meta"]);
    expect(components.securitySchemes).toHaveProperty("bearer.scheme", "bearer");
    expect(paths["/v1/admin/worker-bots/versions/migrate"]?.post?.responses).toHaveProperty("409");
  });
});

describe.each(sampled(3, EACH))("$title 401", ({ one }) => {
  it.each([
    ["no Authorization", {}],
    ["another scheme", { authorization: `Basic ${env.ADMIN_KEY}` }],
    ["an empty token", { authorization: "Bearer " }],
    ["two tokens", { authorization: `Bearer ${env.ADMIN_KEY} ${env.ADMIN_KEY}` }],
    ["an unknown token", { authorization: `Bearer ${createToken("Admin")}` }],
    ["a very long token", { authorization: `Bearer ${long(5000)}` }],
    ["the key in the header token", { token: env.ADMIN_KEY ?? "" }],
  ])("for %s", async (_, headers) => {
    const answer = await expectRefused(() => send(one, one.valid, { token: null, headers }), 401);
    expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer realm="[^"]+"/);
  });

  it("for a revoked key", async () => {
    await expectRefused(() => send(one, one.valid, { token: tokens.revoked }), 401);
  });
});

describe.each(sampled(3, EACH, 1))("$title 403", ({ one }) => {
  it("for any key that is not an Admin's, before what was sent is looked at", async () => {
    for (const token of [tokens.user, tokens.payer])
      for (const fields of [one.valid, { unknown: "1" }])
        await expectRefused(() => send(one, fields, { token }), 403);
  });
});

describe.each(sampled(3, EACH, 2))("$title 422", ({ one }) => {
  it("for a field that it does not have, naming it", async () => {
    const { body } = await expectRefused(() => send(one, { ...one.valid, notifyMe: "1" }), 422);
    expect(body.message).toBe("notifyMe: this field is not known");
  });

  it("for a required field that is missing, naming it", async () => {
    for (const field of one.required) {
      const { [field]: _, ...rest } = one.valid;
      const { body } = await expectRefused(() => send(one, rest), 422);
      expect(body.message).toBe(`${field}: is required`);
    }
  });

  it("for a field that is mistyped or out of bounds, naming it", async () => {
    for (const [field, values] of Object.entries(one.refused))
      for (const value of values) {
        const { body } = await expectRefused(
          () => send(one, { ...one.valid, [field]: value }),
          422,
        );
        expect(body.message, JSON.stringify(value).slice(0, 60)).toMatch(new RegExp(`^${field}: `));
      }
  });
});

describe.each(sampled(3, WITH_BODY))("$title", ({ one }) => {
  it.each(["", " ", "{", '{"reason": "a secret', "[]", "null", '"text"', "5"])(
    "422 for the body %j, without quoting it",
    async (body) => {
      const answer = await expectRefused(() => ask(one.path, { method: one.method, body }), 422);
      expect(answer.body.message).toMatch(/^body: (is|must)/);
      expect(answer.body.message).not.toContain("secret");
    },
  );

  it("413 for a body larger than 1 MiB", async () => {
    const body = JSON.stringify({ ...one.valid, pad: "x".repeat(MAX_BODY_BYTES) });
    await expectRefused(() => ask(one.path, { method: one.method, body }), 413);
  });
});

describe.each(EACH.filter(({ one }) => one.method === "GET"))("$title 200", ({ one }) => {
  beforeEach(async () => {
    await env.DB.prepare("DELETE FROM worker_bot").run();
  });

  it("is an empty list with its page, at either path", async () => {
    for (const path of [one.path, `${one.path}/`]) {
      const { status, body, headers } = await ask(path);
      expect(status).toBe(200);
      expect(body).toEqual({
        data: { [Object.keys(body.data)[0] ?? ""]: [] },
        meta: {
          timestamp: expect.any(String),
          requestId: headers.get("x-request-id"),
          pagination: { cursor: null, limit: 10, total: null, nextCursor: null },
        },
      });
    }
  });
});

describe("under /v1", () => {
  it.each(["PATCH", "PUT"])("405 for %s, with the methods there are", async (method) => {
    const answer = await expectRefused(() => ask("", { method, token: null }), 405);
    expect(answer.headers.get("allow")?.split(", ").sort()).toEqual(
      ["DELETE", "GET", "HEAD", "OPTIONS", "POST"].sort(),
    );
  });

  it.each(["/nothing", "/versions/nothing", "/../nothing"])(
    "404 for %s, key or no key",
    async (path) => {
      await expectRefused(() => ask(path), 404);
      await expectRefused(() => ask(path, { token: null }), 404);
    },
  );

  it("429 with Retry-After for a key that calls too often, before the body", async () => {
    const token = await insertKey({ permission: "Admin" });
    const limited = {
      RATE_LIMIT: env.SMALL_RATE_LIMIT,
      RATE_LIMIT_BURST: env.SMALL_RATE_LIMIT_BURST,
    };
    const call = () => ask("", { token, body: "{", env: limited });
    // More than two windows of both limits let through.
    for (let calls = 0; calls < 20; calls++) await call();
    const refused = await expectRefused(call, 429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  });

  it("takes the bearer scheme in any case", async () => {
    const headers = { authorization: `bearer  ${env.ADMIN_KEY}` };
    expect((await ask("", { token: null, headers })).status).toBe(200);
  });
});
