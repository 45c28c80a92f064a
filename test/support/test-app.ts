import { env } from "cloudflare:workers";
import { Hono } from "hono";
import { z } from "zod";
import { openDb, statement } from "../../src/db/client.ts";
import { commitWithAudit } from "../../src/http/audit.ts";
import type { AppEnv, Caller } from "../../src/http/context.ts";
import { drainBody } from "../../src/http/drain-body.ts";
import { createRouter, serve } from "../../src/http/endpoint.ts";
import { ApiError, createErrorResponse } from "../../src/http/errors.ts";
import { allowAnyOrigin, assignRequestId, setSecurityHeaders } from "../../src/http/headers.ts";
import { runIdempotently } from "../../src/http/idempotency.ts";
import { createNotFoundHandler } from "../../src/http/not-found.ts";
import { pageParameters } from "../../src/http/openapi/parameters.ts";

const CALLERS: Record<string, Caller> = {
  admin: {
    id: "admin",
    permission: "Admin",
    canPay: true,
    networkLimit: null,
    isUsageLimited: false,
  },
  payer: { id: "payer", permission: "User", canPay: true, networkLimit: [], isUsageLimited: false },
  user: { id: "user", permission: "User", canPay: false, networkLimit: [], isUsageLimited: false },
};

/** Effects of POST /things, kept where a second run would show. */
export const effects: string[] = [];

function createTestApp() {
  const router = createRouter();
  const thing = z.object({ name: z.string().max(10), note: z.string().default("") });
  const common = {
    tag: "Health",
    summary: "Things",
    data: z.object({ name: z.string() }),
  } as const;

  serve(
    router,
    {
      ...common,
      method: "get",
      operationId: "listThings",
      path: "/things",
      access: "User",
      scope: "owner",
      query: z.object(pageParameters),
    },
    async (_, { query }) => ({ name: `first ${query.limit}` }),
  );
  serve(
    router,
    {
      ...common,
      method: "post",
      operationId: "createThing",
      path: "/things",
      access: "+PAY",
      scope: "owner",
      body: thing,
      idempotent: true,
    },
    async (c, { body }) => {
      const database = openDb(c.env, undefined, { writes: "idempotent" });
      const now = Date.now();
      return runIdempotently(c, database, now, async (remember) => {
        if (body.name === "fails") throw new ApiError(409, "name: fails");
        const answer = { name: `${body.name} ${effects.length}` };
        await commitWithAudit(c, database, { action: "unit.save", target: body.name, now }, [
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
      operationId: "deleteThing",
      path: "/things",
      access: "Admin",
      scope: "admin",
      body: thing,
      status: "Success",
    },
    async (_, { body }) => ({ name: body.name }),
  );
  serve(
    router,
    {
      ...common,
      method: "get",
      operationId: "hang",
      path: "/hang",
      access: "none",
      scope: "public",
      deadlineMs: 30,
    },
    () => new Promise(() => {}),
  );

  const app = new Hono<AppEnv>({ strict: false });
  app.use(assignRequestId, drainBody, setSecurityHeaders, allowAnyOrigin);
  app.use(async (c, next) => {
    c.set("findCaller", async (_, token) => CALLERS[token] ?? null);
    await next();
  });
  app.onError(createErrorResponse);
  app.notFound(createNotFoundHandler(() => app.routes));
  app.route("/api/v1", router);
  return app;
}

/** A few endpoints behind the door of the service. */
export const app = createTestApp();

/** Sends a request as one of the callers `admin`, `payer` and `user`. */
export function send(path: string, init: RequestInit = {}, token: string | null = "admin") {
  const headers = new Headers(init.headers);
  if (token !== null) headers.set("token", token);
  return app.request(`/api/v1${path}`, { ...init, headers }, env);
}

/** POST /things. */
export function post(body: unknown, key?: string, token = "admin") {
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
