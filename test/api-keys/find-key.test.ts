import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ENV_ADMIN_ID, findCaller } from "../../src/api-keys/find-key.ts";
import { createToken, hashToken, maskToken } from "../../src/api-keys/token.ts";
import { app, call, emptyTables } from "../support/app.ts";
import { countingD1, wrapD1 } from "../support/d1.ts";
import { insertKey } from "../support/keys.ts";

const find = (token: string, using = env) =>
  findCaller(using, token, Date.now() + 5_000, async () => {});

beforeEach(emptyTables);
afterEach(() => vi.useRealTimers());

describe("a token", () => {
  it("has 32 random characters after its prefix", () => {
    expect(createToken("User")).toMatch(/^apk_[0-9a-z]{32}$/);
    expect(createToken("Admin")).toMatch(/^apk_admin_[0-9a-z]{32}$/);
    expect(createToken("User")).not.toBe(createToken("User"));
  });

  it("is shown by its last four characters", () => {
    expect(maskToken("apk_0123456789")).toBe("*****6789");
  });

  it("is not stored", async () => {
    const token = await insertKey({});
    const rows = await env.DB.prepare("SELECT * FROM api_key").all();
    expect(JSON.stringify(rows.results)).not.toContain(token);
  });

  it("cannot be hashed under a secret that is too short", async () => {
    await expect(hashToken({ API_KEY_SECRET: "short" }, "token")).rejects.toThrow("API_KEY_SECRET");
  });
});

describe("a key's last use", () => {
  it("is noted once an hour, and no call waits for it or fails with it", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const token = await insertKey({ id: "0a", lastUsedAt: null });
    const status = async () => {
      const answer = await call("/api/v1/api-key-status", { headers: { token } });
      return ((await answer.json()) as { data: { name: string; lastUsedAt: string } }).data;
    };
    const now = () => new Date().toISOString();
    // Before any row is written, the database takes none.
    const DB = wrapD1(env.DB, ({ kind }, run) =>
      kind === "batch" ? Promise.reject(new Error("D1_ERROR: no writes")) : run(),
    );
    expect(await find(token, { ...env, DB })).not.toBeNull();
    vi.setSystemTime(Date.now() + 10_000);
    const first = now();
    expect(await status()).toMatchObject({ name: "", lastUsedAt: first });
    vi.setSystemTime(Date.now() + 59 * 60_000);
    expect(await status()).toMatchObject({ lastUsedAt: first });
    const body = JSON.stringify({ id: "0a", name: "Marketplace" });
    await call("/api/v1/api-key", { method: "PATCH", body });
    vi.setSystemTime(Date.now() + 2 * 60_000);
    expect(await status()).toMatchObject({ name: "Marketplace", lastUsedAt: now() });
  });
});

describe("findKey", () => {
  it("knows a key with its permission, networks and limit", async () => {
    const token = await insertKey({ canPay: true, networkLimit: ["Preprod"], usageLimited: true });
    expect(await find(token)).toMatchObject({
      permission: "User",
      canPay: true,
      networkLimit: ["Preprod"],
      isUsageLimited: true,
    });
  });

  it("lets an Admin pay and use every network", async () => {
    const token = await insertKey({ permission: "Admin", canPay: false, networkLimit: [] });
    expect(await find(token)).toMatchObject({ canPay: true, networkLimit: null });
  });

  it("knows no other token", async () => {
    const token = await insertKey({});
    expect(await find(`${token}x`)).toBeNull();
    expect(await find(token.slice(0, -1))).toBeNull();
  });

  it("knows a key as soon as it is created, though it was asked for before", async () => {
    const token = createToken("User");
    expect(await find(token)).toBeNull();
    await insertKey({ token });
    expect(await find(token)).not.toBeNull();
  });

  it("asks the database once in eight seconds", async () => {
    const token = await insertKey({});
    const { d1, rowsRead } = countingD1(env.DB);
    await find(token, { ...env, DB: d1 });
    const afterFirst = rowsRead();
    expect(afterFirst).toBeGreaterThan(0);
    await find(token, { ...env, DB: d1 });
    expect(rowsRead()).toBe(afterFirst);
  });

  it("stops using a cached key at most eight seconds after its revocation", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const token = await insertKey({ id: "key" });
    const status = async () =>
      (await app.request("/api/v1/api-key-status", { headers: { token } }, env)).status;
    expect(await status()).toBe(200);
    const body = JSON.stringify({ id: "key", status: "Revoked" });
    expect((await call("/api/v1/api-key", { method: "PATCH", body })).status).toBe(200);
    vi.setSystemTime(Date.now() + 8_000);
    expect(await status()).toBe(401);
  });
});

describe("ADMIN_KEY", () => {
  it("is an Admin key with a fixed id", async () => {
    expect(await find(env.ADMIN_KEY ?? "")).toMatchObject({
      id: ENV_ADMIN_ID,
      permission: "Admin",
      canPay: true,
    });
  });

  it("does not exist when it is not set", async () => {
    const { ADMIN_KEY: _, ...withoutKey } = env;
    expect(await find(env.ADMIN_KEY ?? "", withoutKey as typeof env)).toBeNull();
    expect(await find("", { ...env, ADMIN_KEY: "" })).toBeNull();
  });

  it("is an error of the operator when it is too short", async () => {
    const short = { ...env, ADMIN_KEY: "14 characters." };
    await expect(find("14 characters.", short)).rejects.toThrow("ADMIN_KEY");
  });
});
