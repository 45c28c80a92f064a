import { env } from "cloudflare:workers";
import { OpenAPIHono, z } from "@hono/zod-openapi";
import { beforeEach, describe, expect, it } from "vitest";
import { db, statement } from "../../src/db/client.ts";
import { commitAudited } from "../../src/http/audit.ts";
import { MAX_BODY_BYTES } from "../../src/http/body.ts";
import type { AppEnv, Caller } from "../../src/http/context.ts";
import { createRouter, serve } from "../../src/http/endpoint.ts";
import { ApiError, errorResponse } from "../../src/http/errors.ts";
import { openCors, releaseBody, requestId, securityHeaders } from "../../src/http/headers.ts";
import { idempotently } from "../../src/http/idempotency.ts";
import { notFound } from "../../src/http/not-found.ts";
import { page } from "../../src/http/parameters.ts";
import { emptyTables } from "../support/app.ts";

const CALLERS: Record<string, Caller> = {
  admin: {
    id: "admin",
    permission: "Admin",
    canPay: true,
    networkLimit: null,
    usageLimited: false,
  },
  payer: { id: "payer", permission: "User", canPay: true, networkLimit: [], usageLimited: false },
  user: { id: "user", permission: "User", canPay: false, networkLimit: [], usageLimited: false },
};

/** Effects of POST /things, kept where a second run would show. */
let effects: string[] = [];

function createTestApp() {
  const router = createRouter();
  const thing = z.object({ name: z.string().max(10) });
  const common = {
    tag: "Things",
    summary: "Things",
    data: z.object({ name: z.string() }),
  } as const;

  serve(
    router,
    { ...common, method: "get", path: "/things", access: "User", query: z.object(page) },
    async (_, { query }) => ({ name: `first ${query.limit}` }),
  );
  serve(
    router,
    { ...common, method: "post", path: "/things", access: "+PAY", body: thing, idempotent: true },
    async (c, { body }) => {
      const database = db(c.env, undefined, { writes: "idempotent" });
      const now = Date.now();
      return idempotently(c, database, now, async (remember) => {
        if (body.name === "fails") throw new ApiError(409, "name: fails");
        const answer = { name: `${body.name} ${effects.length}` };
        await commitAudited(c, database, { action: "thing.create", target: body.name, now }, [
          ...(await remember(answer)),
          statement("UPDATE clock SET t = t WHERE feed = ?", body.name),
        ]);
        effects.push(answer.name);
        return answer;
      });
    },
  );
  serve(
    router,
    {
      ...common,
      method: "delete",
      path: "/things",
      access: "Admin",
      body: thing,
      status: "Success",
    },
    async (_, { body }) => body,
  );
  serve(
    router,
    { ...common, method: "get", path: "/hang", access: "none", deadlineMs: 30 },
    () => new Promise(() => {}),
  );

  const app = new OpenAPIHono<AppEnv>({ strict: false });
  app.use(requestId, securityHeaders, openCors, releaseBody);
  app.use(async (c, next) => {
    c.set("findCaller", async (_, token) => CALLERS[token] ?? null);
    await next();
  });
  app.onError(errorResponse);
  app.notFound(notFound(() => app.routes));
  app.route("/api/v1", router);
  return app;
}

const app = createTestApp();

function send(path: string, init: RequestInit = {}, token: string | null = "admin") {
  const headers = new Headers(init.headers);
  if (token !== null) headers.set("token", token);
  return app.request(`/api/v1${path}`, { ...init, headers }, env);
}

function post(body: unknown, key?: string, token = "admin") {
  return send(
    "/things",
    {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: key === undefined ? {} : { "idempotency-key": key },
    },
    token,
  );
}

async function auditRows(): Promise<number> {
  const row = await env.DB.prepare("SELECT count(*) AS n FROM audit").first<{ n: number }>();
  return row?.n ?? 0;
}

beforeEach(async () => {
  effects = [];
  await emptyTables();
});

describe("an endpoint", () => {
  it.each(["/things", "/things/", "/things?limit=10", "/things/?limit=10"])(
    "answers at %s",
    async (path) => {
      const answer = await send(path);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toEqual({ status: "success", data: { name: "first 10" } });
    },
  );

  it("says Success where the interface does", async () => {
    const answer = await send("/things", { method: "DELETE", body: '{"name":"a"}' });
    expect(await answer.json()).toEqual({ status: "Success", data: { name: "a" } });
  });

  it.each([
    undefined,
    "application/json",
    "text/plain",
    "application/x-www-form-urlencoded",
    "nonsense",
  ])("reads a JSON body of content type %s", async (type) => {
    const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
    const body = new TextEncoder().encode('{"name":"a","unknown":1}');
    const answer = await send("/things", { method: "POST", body, headers });
    expect(answer.status).toBe(200);
  });

  it("carries its request id, CORS and security headers on every answer", async () => {
    for (const [path, expected] of [
      ["/things", 200],
      ["/nothing", 404],
      ["/things?limit=0", 400],
    ] as const) {
      const { headers, status } = await send(path);
      expect(status).toBe(expected);
      expect(headers.get("x-request-id")).toMatch(/^[0-9a-z]{26}$/);
      expect(headers.get("access-control-allow-origin")).toBe("*");
      expect(headers.get("access-control-expose-headers")).toBe(
        "x-request-id,retry-after,x-d1-bookmark",
      );
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cache-control")).toBe("no-store");
    }
  });

  it("answers a browser's preflight", async () => {
    const headers = {
      origin: "https://app.example.com",
      "access-control-request-method": "PATCH",
      "access-control-request-headers": "token",
    };
    const answer = await send("/things", { method: "OPTIONS", headers }, null);
    expect(answer.status).toBe(204);
    expect(answer.headers.get("access-control-allow-methods")).toBe(
      "GET,POST,PATCH,DELETE,OPTIONS",
    );
    expect(answer.headers.get("access-control-allow-headers")).toContain("token,authorization");
  });
});

describe("the order of checks", () => {
  const badBody = { method: "POST", body: "{" };

  it.each([
    ["an unknown path before the key", "/nothing", {}, null, 404],
    ["a wrong method before the key", "/things", { method: "PATCH", body: "{" }, null, 405],
    ["the key before the body", "/things", badBody, null, 401],
    ["the permission before the body", "/things", badBody, "user", 403],
    ["the body when key and permission are right", "/things", badBody, "payer", 400],
  ])("judges %s", async (_, path, init, token, status) => {
    expect((await send(path, init, token)).status).toBe(status);
  });

  it("names the allowed methods of a known path", async () => {
    const answer = await send("/things/", { method: "PUT" });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")?.split(", ").sort()).toEqual([
      "DELETE",
      "GET",
      "HEAD",
      "OPTIONS",
      "POST",
    ]);
  });

  it("judges the rate after the permission and before the body", async () => {
    const limited = { ...env, RATE_LIMIT_PER_MINUTE: "1" };
    const headers = { token: "payer" };
    const ask = (body: string) =>
      app.request("/api/v1/things", { method: "POST", headers, body }, limited);
    let answer = await ask("{");
    for (let call = 0; call < 300 && answer.status === 400; call++) answer = await ask("{");
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    const forbidden = await app.request(
      "/api/v1/things",
      { method: "DELETE", headers, body: "{" },
      limited,
    );
    expect(forbidden.status).toBe(403);
  });
});

describe("a body", () => {
  it.each([
    ["", 400, "body: is required"],
    ["  ", 400, "body: is required"],
    ["{", 400, "body: is not valid JSON"],
    ['{"name":"secret words}', 400, "body: is not valid JSON"],
    ["[]", 400, "body: must be an object"],
    ["null", 400, "body: must be an object"],
    ["{}", 400, "name: is required"],
  ])("%j is refused", async (body, status, message) => {
    const answer = await post(body);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ status: "error", error: { message } });
  });

  it("that is not UTF-8 is refused", async () => {
    const body = new Uint8Array([0x22, 0xff, 0x22]);
    expect((await send("/things", { method: "POST", body })).status).toBe(400);
  });

  it("of one mebibyte is read, of one byte more is refused, streamed or not", async () => {
    const bytes = (size: number) => `{"name":"a","pad":"${"x".repeat(size - 21)}"}`;
    expect(bytes(100)).toHaveLength(100);
    expect((await post(bytes(MAX_BODY_BYTES))).status).toBe(200);
    expect((await post(bytes(MAX_BODY_BYTES + 1))).status).toBe(413);
    const streamed = new Blob([bytes(MAX_BODY_BYTES + 1)]).stream();
    expect((await send("/things", { method: "POST", body: streamed })).status).toBe(413);
  });
});

describe("a request that hangs", () => {
  it("is answered with 503 and Retry-After when its time is up", async () => {
    const answer = await send("/hang");
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("2");
    expect(answer.headers.get("x-request-id")).not.toBeNull();
  });
});

describe("Idempotency-Key", () => {
  it("makes the effect once and gives the same answer again, at either path", async () => {
    const first = await (await post({ name: "a" }, "key-1")).json();
    const headers = { "idempotency-key": "key-1" };
    const body = '{"name":"a"}';
    const again = await send("/things/", { method: "POST", body, headers });
    expect(await again.json()).toEqual(first);
    expect(effects).toHaveLength(1);
    expect(await auditRows()).toBe(1);
  });

  it("makes the effect once when both requests come at once", async () => {
    const answers = await Promise.all([1, 2, 3].map(() => post({ name: "a" }, "key-1")));
    const bodies = await Promise.all(answers.map((answer) => answer.json()));
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(await auditRows()).toBe(1);
  });

  it("under another body is refused with 422 and nothing is done", async () => {
    await post({ name: "a" }, "key-1");
    const answer = await post({ name: "b" }, "key-1");
    expect(answer.status).toBe(422);
    expect(effects).toHaveLength(1);
  });

  it("of another API key is another key", async () => {
    await post({ name: "a" }, "key-1");
    await post({ name: "a" }, "key-1", "payer");
    expect(effects).toHaveLength(2);
  });

  it("does not remember an error", async () => {
    expect((await post({ name: "fails" }, "key-1")).status).toBe(409);
    expect((await post({ name: "a" }, "key-1")).status).toBe(200);
  });

  it("is forgotten after 24 hours", async () => {
    await post({ name: "a" }, "key-1");
    await env.DB.prepare("UPDATE idempotency SET created_at = created_at - 86400000").run();
    expect((await post({ name: "b" }, "key-1")).status).toBe(200);
    expect(effects).toHaveLength(2);
  });

  it("is kept with its answer sealed", async () => {
    await post({ name: "topsecret" }, "key-1");
    const row = await env.DB.prepare("SELECT * FROM idempotency").first();
    expect(JSON.stringify(row)).not.toContain("topsecret");
  });

  it.each(["", "k".repeat(256)])("of a wrong length is refused (%#)", async (key) => {
    const answer = await post({ name: "a" }, key);
    expect(answer.status).toBe(400);
    expect(effects).toHaveLength(0);
  });

  it("is optional", async () => {
    await post({ name: "a" });
    await post({ name: "a" });
    expect(effects).toHaveLength(2);
  });
});
