import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { createToken } from "../../src/api-keys/token.ts";
import { createApp } from "../../src/app.ts";
import wrangler from "../../wrangler.toml?raw";
import { wrapD1 } from "../support/d1.ts";
import { insertKey } from "../support/keys.ts";
import { app } from "../support/test-app.ts";

const limited = {
  RATE_LIMIT: env.SMALL_RATE_LIMIT,
  RATE_LIMIT_BURST: env.SMALL_RATE_LIMIT_BURST,
};

/** More than two windows of both limits let through. */
const MANY = 20;

function ask(token: string, using: object, init: RequestInit = {}): Promise<Response> {
  return Promise.resolve(
    app.request("/api/v1/things", { ...init, headers: { token } }, { ...env, ...using }),
  );
}

async function askMany(token: string): Promise<Response[]> {
  const answers: Response[] = [];
  for (let call = 0; call < MANY; call++) answers.push(await ask(token, limited));
  return answers;
}

describe("a key that calls too often", () => {
  it("has the calls of its minute, then those of ten seconds, and is told to wait", async () => {
    const answers = await askMany("user");
    const [statuses, refused] = [answers.map(({ status }) => status), answers.at(-1)];
    expect(statuses.slice(0, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(refused?.status).toBe(429);
    expect(refused?.headers.get("retry-after")).toBe("10");
    expect(refused?.headers.get("ratelimit")).toBe('"burst";r=0;t=10');
    expect(await refused?.json()).toMatchObject({
      status: "error",
      error: { code: "rate_limited", message: "Too many calls with this API key" },
    });
  });

  it("leaves other keys their calls", async () => {
    await askMany("user");
    expect((await ask("admin", limited)).status).toBe(200);
  });

  it("is judged after its permission and before what it sent", async () => {
    await askMany("payer");
    const sent = (method: string) => ask("payer", limited, { method, body: "{" });
    expect((await sent("POST")).status).toBe(429);
    expect((await sent("DELETE")).status).toBe(403);
  });
});

describe("an address that nobody knows", () => {
  const service = createApp();

  /** Asks the service from an address, or from none, and counts what reaches the database. */
  function stranger(address: string | null) {
    let calls = 0;
    const DB = wrapD1(env.DB, (_, run) => {
      calls++;
      return run();
    });
    const asking = (path: string, token?: string) =>
      service.request(
        `/api/v1${path}`,
        { headers: { ...(address && { "cf-connecting-ip": address }), ...(token && { token }) } },
        { ...env, ...limited, DB },
      );
    return { asking, calls: () => calls };
  }

  async function inventTokens({ asking }: ReturnType<typeof stranger>): Promise<Response[]> {
    const answers: Response[] = [];
    for (let call = 0; call < MANY; call++)
      answers.push(await asking("/api-key-status", createToken("User")));
    return answers;
  }

  it("has as many tries as a key has calls, and then reaches the database no more", async () => {
    const one = stranger("198.51.100.1");
    const answers = await inventTokens(one);
    const refused = answers.at(-1);
    expect(answers[0]?.status).toBe(401);
    expect(refused?.status).toBe(429);
    expect(refused?.headers.get("retry-after")).toBe("10");
    expect(await refused?.json()).toMatchObject({
      status: "error",
      error: { message: "Too many calls from this address" },
    });
    expect(one.calls()).toBe(answers.filter(({ status }) => status === 401).length);
  });

  it("leaves others their tries, and the keys that are known there their calls", async () => {
    const one = stranger("198.51.100.2");
    const token = await insertKey({});
    expect((await one.asking("/api-key-status", token)).status).toBe(200);
    expect((await inventTokens(one)).at(-1)?.status).toBe(429);
    expect((await one.asking("/api-key-status", token)).status).toBe(200);
    expect((await stranger("198.51.100.3").asking("/health")).status).toBe(200);
  });

  it("is all of its /64 of IPv6, and is limited at GET /health as well", async () => {
    const statuses: number[] = [];
    for (let call = 0; call < MANY; call++) {
      const one = stranger(`2001:db8:0:7:${call}::1`);
      statuses.push((await one.asking("/health")).status);
      expect(one.calls() > 0).toBe(statuses[call] === 200);
    }
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect((await stranger("2001:db8:0:8::1").asking("/health")).status).toBe(200);
  });

  it("is not limited where the platform names none", async () => {
    const statuses = (await inventTokens(stranger(null))).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401]));
  });
});

describe("RateLimit-Policy", () => {
  it("says what wrangler.toml sets, with each answer to a key that was counted", async () => {
    const limits = [...wrangler.matchAll(/simple = \{ limit = (\d+), period = (\d+) \}/g)];
    const policy = ["minute", "burst"].map(
      (name, i) => `"${name}";q=${limits[i]?.[1]};w=${limits[i]?.[2]}`,
    );
    for (const [path, status] of [
      ["/things", 200],
      ["/things?limit=0", 400],
    ] as const) {
      const answer = await app.request(`/api/v1${path}`, { headers: { token: "user" } }, env);
      expect(answer.status).toBe(status);
      expect(answer.headers.get("ratelimit-policy")).toBe(policy.join(", "));
      expect(answer.headers.has("ratelimit")).toBe(false);
    }
  });

  it("is not said to a stranger, nor where it is not set", async () => {
    expect((await app.request("/api/v1/things", {}, env)).headers.has("ratelimit-policy")).toBe(
      false,
    );
    const answer = await ask("user", { RATE_LIMIT_POLICY: undefined });
    expect(answer.headers.has("ratelimit-policy")).toBe(false);
  });
});

describe("limits that cannot be asked", () => {
  it("stop nobody, and are reported", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const broken = { limit: () => Promise.reject(new Error("limits are down")) };
    expect((await ask("user", { RATE_LIMIT: broken })).status).toBe(200);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("rate_limit.unavailable"));
    warn.mockRestore();
  });
});
