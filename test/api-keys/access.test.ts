import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { createToken } from "../../src/api-keys/token.ts";
import { app, emptyTables } from "../support/app.ts";
import { ENDPOINTS, type EndpointCase } from "../support/endpoints/all.ts";
import { insertKey } from "../support/keys.ts";

/** Who asks, and with which answer they are turned away; 0: they are let in. */
const CALLERS = ["no key", "unknown", "revoked", "User", "User+PAY", "Admin"] as const;
type CallerName = (typeof CALLERS)[number];

let tokens: Record<CallerName, string | null>;

beforeAll(async () => {
  await emptyTables();
  tokens = {
    "no key": null,
    unknown: createToken("Admin"),
    revoked: await insertKey({ status: "Revoked", permission: "Admin" }),
    User: await insertKey({}),
    "User+PAY": await insertKey({ canPay: true }),
    Admin: await insertKey({ permission: "Admin" }),
  };
});

/** Asks without a body that could do anything: who is let in is told that it is malformed. */
async function askHarmlessly(endpoint: EndpointCase, token: string | null): Promise<number> {
  const query = endpoint.method === "GET" ? `?${queryOf(endpoint)}` : "";
  const answer = await app.request(
    `/api/v1${endpoint.path}${query}`,
    {
      method: endpoint.method,
      headers: token === null ? {} : { token },
      ...(endpoint.method !== "GET" && { body: "{" }),
    },
    env,
  );
  await answer.body?.cancel();
  return [401, 403].includes(answer.status) ? answer.status : 0;
}

function queryOf({ valid }: EndpointCase): URLSearchParams {
  return new URLSearchParams(Object.entries(valid).map(([name, value]) => [name, String(value)]));
}

function expected(access: EndpointCase["access"], caller: CallerName): number {
  if (access === "none") return 0;
  if (["no key", "unknown", "revoked"].includes(caller)) return 401;
  const allowed = {
    User: ["User", "User+PAY", "Admin"],
    "+PAY": ["User+PAY", "Admin"],
    Admin: ["Admin"],
  };
  return allowed[access].includes(caller) ? 0 : 403;
}

const KEYED = ENDPOINTS.filter(({ access }) => access !== "none");

it.each(KEYED.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const))(
  "%s names the scheme of the key in every 401 (RFC 9110 §15.5.2)",
  async (_, { method, path }) => {
    for (const [token, error] of [
      [null, ""],
      [tokens.unknown, ', error="invalid_token"'],
      [tokens.revoked, ', error="invalid_token"'],
    ] as const) {
      const headers = token === null ? {} : { token };
      const answer = await app.request(`/api/v1${path}`, { method, headers }, env);
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toBe(
        `Bearer realm="agent-payment-service"${error}`,
      );
    }
  },
);

describe.each(
  ENDPOINTS.map((endpoint) => ({ title: `${endpoint.method} ${endpoint.path}`, endpoint })),
)("$title", ({ endpoint }) => {
  it(`lets in who has the access "${endpoint.access}", and nobody else`, async () => {
    const answers: Partial<Record<CallerName, number>> = {};
    const wanted: typeof answers = {};
    for (const caller of CALLERS) {
      answers[caller] = await askHarmlessly(endpoint, tokens[caller]);
      wanted[caller] = expected(endpoint.access, caller);
    }
    expect(answers).toEqual(wanted);
  });
});
