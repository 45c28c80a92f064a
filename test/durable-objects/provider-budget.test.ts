import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ProviderBudget } from "../../durable-objects/provider-budget.ts";
import type { Env } from "../../src/env.ts";

const MIDDAY = Date.UTC(2026, 0, 15, 12);

/** The object of a fresh key, with what the hosted service allows unless told otherwise. */
function budget(variables: Partial<Env> = {}) {
  const { PROVIDER_BUDGET } = env;
  const stub = PROVIDER_BUDGET.get(PROVIDER_BUDGET.idFromName(crypto.randomUUID()));
  const bindings = { ...env, PROVIDER_CALLS_PER_SECOND: "10", ...variables };
  const run = <T>(work: (budget: ProviderBudget) => Promise<T>) =>
    runInDurableObject(stub, (_, state) => work(new ProviderBudget(state, bindings)));
  const rpc: Pick<ProviderBudget, "lease" | "refuse"> = {
    lease: (...args) => run((one) => one.lease(...args)),
    refuse: (until) => run((one) => one.refuse(until)),
  };
  return { stub, rpc };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: MIDDAY });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("ProviderBudget.lease", () => {
  it("takes what it grants off the budget, eviction or not", async () => {
    const { stub, rpc } = budget();
    for (let i = 0; i < 9; i++) expect((await rpc.lease(50, "sync")).granted).toBe(50);
    await evictDurableObject(stub);
    expect(await rpc.lease(50, "sync")).toEqual({ granted: 10, waitMs: 0, retryAt: null });
    expect((await rpc.lease(50, "read", "key")).granted).toBe(0);
  });

  it("counts each API key by itself", async () => {
    const { rpc } = budget();
    expect((await rpc.lease(50, "read", "a")).granted).toBe(50);
    expect(await rpc.lease(50, "read", "a")).toMatchObject({ granted: 0, retryAt: MIDDAY + 500 });
    expect((await rpc.lease(50, "read", "b")).granted).toBe(50);
  });

  it("spreads the quota of PROVIDER_CALLS_PER_DAY over the day", async () => {
    const { rpc } = budget({ PROVIDER_CALLS_PER_DAY: "100" });
    // Half of what 90 calls are by midday: 0.05 and half of 0.95 of them.
    expect((await rpc.lease(50, "read", "a")).granted).toBe(23);
    const { granted, retryAt } = await rpc.lease(50, "read", "b");
    expect(granted).toBe(0);
    expect(retryAt).toBeGreaterThan(MIDDAY + 10 * 60_000);
    expect(retryAt).toBeLessThan(MIDDAY + 20 * 60_000);
  });

  it.each(["", "0", "-5", "many"])("takes variables that say %j for unset", async (text) => {
    const variables = { PROVIDER_CALLS_PER_SECOND: text, PROVIDER_CALLS_PER_DAY: text };
    const { rpc } = budget(variables);
    for (let i = 0; i < 9; i++) expect((await rpc.lease(50, "sync")).granted).toBe(50);
    expect((await rpc.lease(50, "sync")).granted).toBe(10);
  });

  it("takes an isolate of the release before, which names no class, for sync", async () => {
    const { rpc } = budget();
    for (let i = 0; i < 9; i++) expect((await rpc.lease(50)).granted).toBe(50);
  });

  it("goes on with what the release before has stored", async () => {
    const { stub, rpc } = budget();
    const until = MIDDAY + 60_000;
    const stored = { calls: 20, at: MIDDAY, stoppedUntil: until };
    await runInDurableObject(stub, (_, { storage }) => storage.put("state", stored));
    expect(await rpc.lease(1, "deadline")).toMatchObject({ granted: 0, retryAt: until });
    vi.setSystemTime(until);
    expect((await rpc.lease(50, "sync")).granted).toBe(50);
  });
});

describe("ProviderBudget.refuse", () => {
  it("lets nobody call until then, eviction or not", async () => {
    const until = MIDDAY + 3_600_000;
    const { stub, rpc } = budget();
    await rpc.refuse(until);
    await evictDurableObject(stub);
    vi.setSystemTime(until - 1);
    expect(await rpc.lease(1, "deadline")).toEqual({ granted: 0, waitMs: 0, retryAt: until });
    vi.setSystemTime(until);
    expect((await rpc.lease(1, "deadline")).granted).toBe(1);
  });
});
