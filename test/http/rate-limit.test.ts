import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { app } from "../support/things.ts";

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
    expect(await refused?.json()).toEqual({
      status: "error",
      error: { message: "Too many calls with this API key" },
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

describe("limits that cannot be asked", () => {
  it("stop nobody, and are reported", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const broken = { limit: () => Promise.reject(new Error("limits are down")) };
    expect((await ask("user", { RATE_LIMIT: broken })).status).toBe(200);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("rate_limit.unavailable"));
    warn.mockRestore();
  });
});
