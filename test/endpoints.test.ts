import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { createToken } from "../src/api-keys/token.ts";
import { MAX_BODY_BYTES } from "../src/http/body.ts";
import { listCodes } from "../src/http/errors/codes.ts";
import worker from "../src/worker.ts";
import { app, emptyTables } from "./support/app.ts";
import { wrapD1 } from "./support/d1.ts";
import { sampled } from "./support/effort.ts";
import { ENDPOINTS, type EndpointCase } from "./support/endpoints/all.ts";
import { openApi, problemsOf } from "./support/endpoints/document.ts";
import { permissionOf } from "./support/endpoints/permissions.ts";
import { insertKey } from "./support/keys.ts";
import { growingReads } from "./support/plans.ts";
import { countWrites, rowsWritten } from "./support/written-rows.ts";

const ADMIN = env.ADMIN_KEY ?? "";
const METHODS = ["GET", "POST", "PATCH", "DELETE", "PUT"];

let tokens: Record<"user" | "payer" | "revoked", string>;

beforeAll(async () => {
  await emptyTables();
  await countWrites();
  tokens = {
    user: await insertKey({}),
    payer: await insertKey({ canPay: true }),
    revoked: await insertKey({ status: "Revoked", permission: "Admin" }),
  };
  expect(await rowsWritten()).toBeGreaterThanOrEqual(3);
});

interface Sent {
  token?: string | null;
  method?: string;
  path?: string;
  fields?: Record<string, unknown>;
  /** In place of the fields. */
  body?: BodyInit;
  headers?: Record<string, string>;
}

/** Asks, and expects the answer to be one that the OpenAPI document has. */
async function send(endpoint: EndpointCase, sent: Sent = {}): Promise<Response> {
  const { token = ADMIN, method = endpoint.method, path = endpoint.path } = sent;
  const fields = sent.fields ?? endpoint.valid;
  const query = new URLSearchParams();
  if (endpoint.method === "GET")
    for (const [name, value] of Object.entries(fields)) query.append(name, String(value));
  const body = sent.body ?? JSON.stringify(fields);
  const init = {
    method,
    headers: { ...sent.headers, ...(token !== null && { token }) },
    ...(method !== "GET" && { body }),
  };
  const answer = await app.request(`/api/v1${path}?${query}`, init, env);
  if (endpoint.isText && answer.ok) return answer;
  const shown: unknown = await answer.clone().json();
  expect(problemsOf(method, `/api/v1${endpoint.path}`, answer.status, shown)).toEqual([]);
  return answer;
}

/** Expects an error in the shape of the interface, and that nothing was written. */
async function expectRefused(answering: () => Promise<Response>, status: number): Promise<string> {
  const before = await rowsWritten();
  const answer = await answering();
  const body = (await answer.json()) as { error?: { message?: string; field?: string } };
  const message = body.error?.message ?? "";
  expect({ status: answer.status, body }).toEqual({
    status,
    body: {
      status: "error",
      error: {
        message: expect.stringMatching(/\S/),
        code: expect.toSatisfy((code: string) => listCodes(status).some((one) => one === code)),
        ...(body.error?.field !== undefined && {
          field: expect.toSatisfy((field: string) => message.startsWith(`${field}: `)),
        }),
        requestId: answer.headers.get("x-request-id"),
        docs: expect.stringMatching(/^http:\/\/localhost\/docs\/errors#[a-z_]+$/),
      },
    },
  });
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-z]{26}$/);
  expect(await rowsWritten()).toBe(before);
  return message;
}

/** The fields with one of them, at a dotted path, replaced; `undefined` leaves it out. */
function withField(
  fields: Record<string, unknown>,
  path: string,
  value: unknown,
): Record<string, unknown> {
  const [name = "", ...rest] = path.split(".");
  const inner = (fields[name] ?? VALID_INNER[name]) as Record<string, unknown>;
  return {
    ...fields,
    [name]: rest.length === 0 ? value : withField(inner, rest.join("."), value),
  };
}

/** What an optional object holds when one of its fields is put to the test. */
const VALID_INNER: Record<string, object> = {
  PaymentSourceConfig: { rpcProviderApiKey: "key", rpcProvider: "Blockfrost" },
};

const name = ({ method, path }: EndpointCase) => `${method} ${path}`;
const KEYED = ENDPOINTS.filter(({ access }) => access !== "none");
const WITH_BODY = ENDPOINTS.filter(({ method }) => method !== "GET");

describe("the table of endpoints", () => {
  it("has every operation of the OpenAPI document under /api/v1, and no other", async () => {
    const answer = await app.request("/api/v1/openapi.json", {}, env);
    const { paths } = (await answer.json()) as { paths: Record<string, object> };
    // Those under /v1 have a door and errors of their own: test/worker-bots/endpoints.test.ts.
    const served = Object.entries(paths)
      .filter(([path]) => path.startsWith("/api/v1/"))
      .flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      );
    expect(ENDPOINTS.map((one) => `${one.method} /api/v1${one.path}`).sort()).toEqual(
      served.sort(),
    );
  });
});

describe("who may call what is no GET", () => {
  const changing = KEYED.filter(({ method }) => method !== "GET");

  it("was decided for every route, and the route holds it", () => {
    const decided = changing.map((endpoint) => [name(endpoint), permissionOf(endpoint)]);
    expect(decided).toEqual(changing.map((endpoint) => [name(endpoint), endpoint.access]));
  });

  it("is nobody without a line", () => {
    expect(permissionOf({ method: "POST", path: "/anything" })).toBeNull();
    expect(permissionOf({ method: "PATCH", path: "/inbox-agents" })).toBeNull();
  });
});

describe.each(sampled(6, KEYED).map((endpoint) => ({ title: name(endpoint), endpoint })))(
  "$title, asked with",
  ({ endpoint }) => {
    it.each([
      ["no key", () => null],
      ["an empty key", () => ""],
      ["an unknown key", () => createToken("Admin")],
      ["a key of a thousand characters", () => "k".repeat(1000)],
      ["a revoked key", () => tokens.revoked],
    ])("%s answers 401", async (_, token) => {
      await expectRefused(() => send(endpoint, { token: token() }), 401);
    });
  },
);

describe.each(
  KEYED.filter(({ access }) => access !== "User").map((endpoint) => ({
    title: name(endpoint),
    endpoint,
  })),
)("$title, asked without the permission", ({ endpoint }) => {
  it("answers 403 before it looks at the body", async () => {
    const lacking = endpoint.access === "Admin" ? [tokens.user, tokens.payer] : [tokens.user];
    for (const token of lacking) {
      await expectRefused(() => send(endpoint, { token }), 403);
      if (endpoint.method !== "GET")
        await expectRefused(() => send(endpoint, { token, body: "{" }), 403);
    }
  });
});

describe.each(
  sampled(
    2,
    ENDPOINTS.filter(({ fields }) => fields.length > 0),
  ).map((endpoint) => ({
    title: name(endpoint),
    endpoint,
  })),
)("$title, asked wrongly, answers 400 and names", ({ endpoint }) => {
  const missing = endpoint.fields.filter(({ required }) => required);

  it.each(missing.map((field) => [field.name]))("%s when it is missing", async (path) => {
    const fields = withField(endpoint.valid, path, undefined);
    const { [path]: _, ...rest } = fields;
    const message = await expectRefused(
      () => send(endpoint, { fields: path.includes(".") ? fields : rest }),
      400,
    );
    expect(message.startsWith(`${path}: is required`), message).toBe(true);
  });

  it.each(endpoint.fields.map((field) => [field.name, field]))(
    "%s when it is mistyped or out of bounds",
    async (path, field) => {
      for (const value of field.refused) {
        const fields = withField(endpoint.valid, path, value);
        const message = await expectRefused(() => send(endpoint, { fields }), 400);
        expect(message.startsWith(path), `${JSON.stringify(value).slice(0, 60)}: ${message}`).toBe(
          true,
        );
      }
    },
  );
});

describe.each(
  ENDPOINTS.filter(({ method, finds }) => method === "GET" && finds === undefined).map(
    (endpoint) => ({ title: name(endpoint), endpoint }),
  ),
)("$title, asked rightly", ({ endpoint }) => {
  it("answers 200 with and without a trailing slash, and writes nothing", async () => {
    const before = await rowsWritten();
    for (const path of [endpoint.path, `${endpoint.path}/`]) {
      const answer = await send(endpoint, { path });
      expect(answer.status).toBe(200);
      if (endpoint.isText) continue;
      const body = (await answer.json()) as object;
      expect(endpoint.isPlain ? { status: "success", data: body } : body).toMatchObject({
        status: expect.stringMatching(/^[sS]uccess$/),
        data: expect.any(Object),
      });
    }
    expect(await rowsWritten()).toBe(before);
  });
});

describe.each(sampled(6, WITH_BODY).map((endpoint) => ({ title: name(endpoint), endpoint })))(
  "$title, sent a body that is",
  ({ endpoint }) => {
    it.each([
      ["missing", ""],
      ["malformed", '{"id": "a",}'],
      ["cut off", '{"id": "a'],
      ["a list", "[]"],
      ["null", "null"],
      ["text", '"text"'],
      ["a number", "5"],
    ])("%s answers 400", async (_, body) => {
      const message = await expectRefused(() => send(endpoint, { body }), 400);
      expect(message).toMatch(/^body: /);
    });

    it("larger than 1 MiB answers 413", async () => {
      const body = JSON.stringify({ ...endpoint.valid, pad: "x".repeat(MAX_BODY_BYTES) });
      await expectRefused(() => send(endpoint, { body }), 413);
    });
  },
);

describe.each(sampled(6, WITH_BODY, 3).map((endpoint) => ({ title: name(endpoint), endpoint })))(
  "$title, sent an Idempotency-Key that is too long",
  ({ endpoint }) => {
    const { parameters = [] } =
      openApi.paths[`/api/v1${endpoint.path}`]?.[endpoint.method.toLowerCase()] ?? {};
    const takesKey = parameters.some(({ $ref }) => $ref?.endsWith("/IdempotencyKey"));
    const sent = { headers: { "idempotency-key": "k".repeat(256) } };

    it(takesKey ? "answers 400" : "does not read it", async () => {
      if (takesKey)
        expect(await expectRefused(() => send(endpoint, sent), 400)).toMatch(/^Idempotency-Key: /);
      else expect(await (await send(endpoint, sent)).text()).not.toContain("Idempotency-Key: must");
    });
  },
);

describe.each(sampled(6, [...new Set(ENDPOINTS.map(({ path }) => path))]))("%s", (path) => {
  const served = ENDPOINTS.filter((endpoint) => endpoint.path === path);
  const allowed: string[] = served.map(({ method }) => method);

  it.each(METHODS.filter((method) => !allowed.includes(method)))(
    "asked by %s answers 405 and names the methods it has, key or no key",
    async (method) => {
      for (const token of [ADMIN, null]) {
        const init = { method, headers: token === null ? {} : { token } };
        const answer = await app.request(`/api/v1${path}`, init, env);
        const allow = answer.headers.get("allow")?.split(", ") ?? [];
        expect(METHODS.filter((one) => allow.includes(one)).sort()).toEqual([...allowed].sort());
        await expectRefused(() => Promise.resolve(app.request(`/api/v1${path}/`, init, env)), 405);
      }
    },
  );
});

describe("an unknown path", () => {
  it.each([
    "/",
    "/api/v1",
    "/api/v1/",
    "/api/v1/nothing",
    "/api/v1/purchase/nothing",
    "/api/v1//health",
    "/api/v2/health",
    "/health",
    "/api/v1/%2e%2e/health",
    "/api/v1/health%00",
  ])("%s answers 404, key or no key", async (path) => {
    for (const headers of [{ token: ADMIN }, {}] as Record<string, string>[])
      await expectRefused(() => Promise.resolve(app.request(path, { headers }, env)), 404);
  });
});

describe.each(["GET", "POST"])("%s", (method) => {
  it.each(["/api/v1/health//", "/api/v1/health///", "/api/v1/x402/networks//"])(
    "%s, with more than one slash at its end, answers 404",
    async (path) => {
      const init = { method, headers: { token: ADMIN } };
      await expectRefused(() => Promise.resolve(app.request(path, init, env)), 404);
    },
  );
});

describe("as tables grow", () => {
  it("no request and no cron reads more rows, whatever a list's filter", async () => {
    const asked = new Set<string>();
    const DB = wrapD1(env.DB, async ({ sql }, run) => {
      for (const one of sql) asked.add(one);
      return run();
    });
    for (const endpoint of ENDPOINTS) {
      const { method, path, valid, fields } = endpoint;
      if (method !== "GET") {
        const init = { method, headers: { token: ADMIN }, body: JSON.stringify(valid) };
        await app.request(`/api/v1${path}`, init, { ...env, DB });
        continue;
      }
      const needed = new Set(fields.flatMap((field) => (field.required ? [field.name] : [])));
      const all = Object.entries(valid);
      const least = all.filter(([field]) => needed.has(field) || field === "network");
      const others = all.filter((one) => !least.includes(one));
      for (const query of [all, least, ...others.map((one) => [...least, one])]) {
        const text = new URLSearchParams(query.map(([field, value]) => [field, String(value)]));
        const init = { headers: { token: ADMIN } };
        const { status } = await app.request(`/api/v1${path}?${text}`, init, { ...env, DB });
        expect([200, 404]).toContain(status);
      }
    }
    await worker.scheduled(createScheduledController(), { ...env, DB });
    expect(asked.size).toBeGreaterThan(140);
    const growing = await growingReads(asked);
    // Filters of attempts look for what fits from the newest on: an index more would cost each payment a row.
    const known = /^SCAN x402_payment_attempt: .* order by \S+"id" desc limit \S+$/s;
    // What is counted for an Admin is read, for the same reason.
    const counts =
      /^SCAN x402_(payment_attempt|settlement)\b[^:]*: select count\(\*\) (as "total" )?from/;
    const isKnown = (one: string) => known.test(one) || counts.test(one);
    expect(growing.filter((one) => !isKnown(one))).toEqual([]);
  });
});
