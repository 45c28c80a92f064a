import { env } from "cloudflare:workers";
import { beforeAll, expect, it } from "vitest";
import { app, emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { ENDPOINTS } from "../support/endpoints/all.ts";
import { insertKey } from "../support/keys.ts";
import { objectsLike } from "../support/objects.ts";

const PARALLEL = 250;
const REQUEST_DEADLINE_MS = "500";

const ADMIN = env.ADMIN_KEY ?? "";
let userToken: string;

beforeAll(async () => {
  await emptyTables();
  userToken = await insertKey({});
});

const never = () => new Promise<never>(() => {});
const silentD1 = wrapD1(env.DB, never);
/** Finds keys and nothing else. */
const keysOnly = wrapD1(env.DB, ({ sql }, run) =>
  sql.every((text) => text.includes("api_key")) ? run() : never(),
);
const silentLimit: RateLimit = { limit: never };
/** An object that takes calls and answers none. */
const silentObjects = objectsLike("PROVIDER_BUDGET", () => ({ lease: never, refuse: never }));
const silentBody = () => new ReadableStream({ pull: never });

const newSource = JSON.stringify(
  ENDPOINTS.find(({ method, path }) => method === "POST" && path === "/payment-source-extended")
    ?.valid,
);

interface Silent {
  path: string;
  token?: () => string;
  init?: () => RequestInit;
  env?: Partial<typeof env>;
}

const DIFF = "/api/v1/purchase/diff?network=Preprod";
const SILENT: [what: string, request: Silent][] = [
  ["the look-up of the key", { path: DIFF, env: { DB: silentD1 } }],
  ["the look-up of the key under /v1", { path: "/v1/admin/worker-bots", env: { DB: silentD1 } }],
  ["the rate limit", { path: DIFF, token: () => ADMIN, env: { RATE_LIMIT: silentLimit } }],
  ["the database", { path: DIFF, token: () => userToken, env: { DB: keysOnly } }],
  ["the database of /health", { path: "/api/v1/health", env: { DB: silentD1 } }],
  [
    "the body",
    { path: "/api/v1/api-key", token: () => ADMIN, init: () => ({ body: silentBody() }) },
  ],
  [
    "the body under /v1",
    { path: "/v1/admin/worker-bots", token: () => ADMIN, init: () => ({ body: silentBody() }) },
  ],
  [
    "a Durable Object",
    {
      path: "/api/v1/payment-source-extended",
      token: () => ADMIN,
      init: () => ({ body: newSource }),
      env: { PROVIDER_BUDGET: silentObjects },
    },
  ],
];

it.each(SILENT)(
  `${PARALLEL} parallel requests that wait for %s, which never comes, end by their deadline`,
  async (_, { path, token = () => "apk_unknown", init, env: overrides }) => {
    const ask = async () => {
      const headers = { token: token(), authorization: `Bearer ${token()}` };
      const request = init ? { method: "POST", headers, ...init() } : { headers };
      const bindings = { ...env, ...overrides, REQUEST_DEADLINE_MS };
      const answer = await app.request(path, request, bindings);
      return `${answer.status}, Retry-After ${answer.headers.get("retry-after")}`;
    };
    const answers = await Promise.all(Array.from({ length: PARALLEL }, ask));
    expect(new Set(answers)).toEqual(new Set(["503, Retry-After 2"]));
  },
);

it("an endless body that no endpoint reads does not delay the answer", async () => {
  const ask = async () => {
    const init = { method: "POST", body: silentBody() };
    const answer = await app.request("/api/v1/api-key", init, { ...env, REQUEST_DEADLINE_MS });
    return answer.status;
  };
  const answers = await Promise.all(Array.from({ length: PARALLEL }, ask));
  expect(new Set(answers)).toEqual(new Set([401]));
});
