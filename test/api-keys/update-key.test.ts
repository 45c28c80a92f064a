import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { app, emptyTables } from "../support/app.ts";
import { type Around, wrapD1 } from "../support/d1.ts";
import { insertKey } from "../support/keys.ts";

interface Asked {
  method?: string;
  path?: string;
  token?: string;
  body?: object;
  /** Variables laid over those of the tests. */
  using?: object;
}

async function ask({ method = "GET", path = "/api-key", token, body, using }: Asked) {
  const answer = await app.request(
    `/api/v1${path}`,
    {
      method,
      headers: { token: token ?? env.ADMIN_KEY ?? "" },
      ...(body && { body: JSON.stringify(body) }),
    },
    { ...env, ...using },
  );
  // biome-ignore lint/suspicious/noExplicitAny: the assertions are what checks the answer's shape
  const json = (await answer.json()) as { data?: any; error?: { message: string } };
  return { status: answer.status, data: json.data, message: json.error?.message };
}

const change = (body: object, asked: Asked = {}) => ask({ method: "PATCH", body, ...asked });
const remove = (id: string, asked: Asked = {}) => ask({ method: "DELETE", body: { id }, ...asked });

async function auditActions(): Promise<unknown[]> {
  const { results } = await env.DB.prepare("SELECT action, target, detail FROM audit").all();
  return results;
}

beforeEach(emptyTables);
afterEach(() => vi.useRealTimers());

describe("GET /api-key 200", () => {
  it("lists masked keys, newest first, the one of the environment before all", async () => {
    const tokens = [await insertKey({ id: "0a" }), await insertKey({ id: "0b", canPay: true })];
    const { data } = await ask({});
    expect(data.ApiKeys.map(({ id }: { id: string }) => id)).toEqual(["env-admin", "0b", "0a"]);
    expect(data.ApiKeys[1]).toEqual({
      id: "0b",
      name: "",
      status: "Active",
      token: `*****${tokens[1]?.slice(-4)}`,
      permission: "User",
      usageLimited: false,
      maxUsageCredits: 0,
      accumulatedUsageCredits: 0,
      canPay: true,
      networkLimit: ["Preprod", "Mainnet"],
      walletLimit: null,
      spendingLimits: null,
      Spending: [],
      returnAddresses: [],
      lastUsedAt: expect.any(String),
    });
    expect(data.ApiKeys[0]).toMatchObject({ token: "*****-key", permission: "Admin" });
    for (const token of [...tokens, env.ADMIN_KEY ?? ""])
      expect(JSON.stringify(data)).not.toContain(token);
  });

  it("pages after the last id seen, and has no key of an environment without one", async () => {
    for (const id of ["0a", "0b", "0c"]) await insertKey({ id });
    const token = await insertKey({ id: "0d", permission: "Admin" });
    const idsAt = async (query: string, using = {}) => {
      const { data } = await ask({ path: `/api-key?${query}`, token, using });
      return data.ApiKeys.map(({ id }: { id: string }) => id);
    };
    expect(await idsAt("limit=2")).toEqual(["env-admin", "0d"]);
    expect(await idsAt("limit=2&cursorId=env-admin")).toEqual(["0d", "0c"]);
    expect(await idsAt("limit=2&cursorId=0c")).toEqual(["0b", "0a"]);
    expect(await idsAt("limit=2&cursorId=0a")).toEqual([]);
    expect(await idsAt("limit=2", { ADMIN_KEY: undefined })).toEqual(["0d", "0c"]);
  });
});

describe("PATCH /api-key 200", () => {
  it("changes what is sent and keeps the rest", async () => {
    const limits = { usageLimited: true, maxUsageCredits: 5, networkLimit: ["Preprod"] };
    await insertKey({ id: "key", canPay: true, status: "Revoked", ...limits });
    const kept = { permission: "User", status: "Revoked", canPay: true, ...limits };
    expect((await change({ id: "key" })).data).toMatchObject(kept);
    expect((await change({ id: "key", maxUsageCredits: 9 })).data).toMatchObject({
      ...kept,
      maxUsageCredits: 9,
    });
    const all = {
      status: "Active",
      usageLimited: false,
      canPay: false,
      networkLimit: ["Mainnet", "eip155:8453"],
    };
    expect((await change({ id: "key", ...all })).data).toMatchObject({
      ...all,
      permission: "User",
    });
  });

  it("makes an Admin, and a User again who has no more than was asked for", async () => {
    await insertKey({ id: "key", networkLimit: ["Preprod"] });
    const admin = await change({ id: "key", permission: "Admin" });
    expect(admin.data).toMatchObject({ canPay: true, networkLimit: ["Preprod", "Mainnet"] });
    const user = await change({ id: "key", permission: "User" });
    expect(user.data).toMatchObject({ canPay: false, networkLimit: ["Preprod"] });
  });

  it("leaves one audit row that says what was changed", async () => {
    await insertKey({ id: "key" });
    await change({ id: "key", maxUsageCredits: 9 });
    expect(await auditActions()).toEqual([
      { action: "api-key.update", target: "key", detail: '{"maxUsageCredits":9}' },
    ]);
  });

  it("revokes a key, which is refused everywhere within ten seconds", async () => {
    const token = await insertKey({ id: "key" });
    const status = async () => (await ask({ path: "/api-key-status", token })).status;
    expect(await status()).toBe(200);
    await change({ id: "key", status: "Revoked" });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10_000 });
    expect(await status()).toBe(401);
    await change({ id: "key", status: "Active" });
    expect(await status()).toBe(200);
  });
});

describe("PATCH /api-key 404 and 409", () => {
  it("for a key that does not exist, or was deleted", async () => {
    await insertKey({ id: "key" });
    await remove("key");
    const before = await auditActions();
    for (const id of ["nothing", "key"]) {
      const refused = { status: 404, message: "id: there is no such API key" };
      expect(await change({ id, status: "Active" })).toMatchObject(refused);
      expect(await remove(id)).toMatchObject(refused);
    }
    expect(await auditActions()).toEqual(before);
  });

  it("for fewer credits than are used already", async () => {
    await insertKey({ id: "key", maxUsageCredits: 9 });
    await env.DB.prepare("UPDATE api_key SET accumulated_usage_credits = 5").run();
    expect((await change({ id: "key", maxUsageCredits: 5 })).status).toBe(200);
    expect(await change({ id: "key", maxUsageCredits: 4 })).toMatchObject({
      status: 409,
      message: "maxUsageCredits: must be at least the credits already used",
    });
  });

  it("for the key of the environment", async () => {
    for (const answer of [await change({ id: "env-admin" }), await remove("env-admin")])
      expect(answer.status).toBe(409);
    const token = await insertKey({ permission: "Admin" });
    const without = { token, using: { ADMIN_KEY: undefined } };
    expect((await change({ id: "env-admin" }, without)).status).toBe(404);
  });
});

describe("the last active Admin key", () => {
  const using = { ADMIN_KEY: undefined };
  const CHANGES = {
    revoked: (id: string, asked: Asked) => change({ id, status: "Revoked" }, asked),
    "made a User": (id: string, asked: Asked) => change({ id, permission: "User" }, asked),
    deleted: remove,
  };

  it.each(Object.keys(CHANGES) as (keyof typeof CHANGES)[])("is not %s (409)", async (how) => {
    const token = await insertKey({ id: "last", permission: "Admin" });
    await insertKey({ id: "user" });
    await insertKey({ id: "revoked", permission: "Admin", status: "Revoked" });
    expect(await CHANGES[how]("last", { token, using })).toMatchObject({
      status: 409,
      message: "id: is the last active Admin key. Create another Admin key first.",
    });
    expect(await auditActions()).toEqual([]);
    expect((await CHANGES[how]("user", { token, using })).status).toBe(200);
    expect((await CHANGES[how]("last", {})).status).toBe(200);
  });

  it("is the one that is left when two are revoked at once", async () => {
    const tokens = [
      await insertKey({ id: "a", permission: "Admin" }),
      await insertKey({ id: "b", permission: "Admin" }),
    ];
    const answers = await Promise.all(
      ["a", "b"].map((id, i) =>
        change({ id, status: "Revoked" }, { using, token: tokens[i] ?? "" }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

describe("DELETE /api-key 200", () => {
  it("revokes the key and hides it", async () => {
    const token = await insertKey({ id: "key" });
    const { data } = await remove("key");
    expect(data).toMatchObject({ id: "key", status: "Revoked", token: `*****${token.slice(-4)}` });
    expect((await ask({})).data.ApiKeys).toHaveLength(1);
    expect((await ask({ path: "/api-key-status", token })).status).toBe(401);
    expect(await auditActions()).toMatchObject([{ action: "api-key.delete", target: "key" }]);
  });
});

describe("a change whose answer D1 loses", () => {
  it.each([true, false])("is made once (applied: %s)", async (applied) => {
    for (const asking of [
      (using: object) => change({ id: "key", canPay: true }, { using }),
      (using: object) => remove("key", { using }),
    ]) {
      await emptyTables();
      await insertKey({ id: "key" });
      let lost = false;
      const around: Around = async ({ kind }, run) => {
        if (kind !== "batch" || lost) return run();
        lost = true;
        if (applied) await run();
        throw new Error("D1_ERROR: Network connection lost.");
      };
      const answer = await asking({ DB: wrapD1(env.DB, around) });
      expect(answer).toMatchObject({ status: 200, data: { id: "key" } });
      expect(await auditActions()).toHaveLength(1);
    }
  });
});

describe("GET /api-key-status 200", () => {
  it("shows a key itself, with the credits it has used", async () => {
    const token = await insertKey({ id: "key", usageLimited: true, maxUsageCredits: 9 });
    await env.DB.prepare("UPDATE api_key SET accumulated_usage_credits = 5").run();
    const { data } = await ask({ path: "/api-key-status", token });
    expect(data).toMatchObject({ id: "key", maxUsageCredits: 9, accumulatedUsageCredits: 5 });
    expect(JSON.stringify(data)).not.toContain(token);
  });

  it("says what a bound key may do and spend, as marketplaces read it", async () => {
    const limit = (network: string, unit: string, amount: string) => ({ network, unit, amount });
    const spendingLimits = [
      limit("Preprod", "", "999999999999999999"),
      limit("Preprod", "ab".repeat(28), "5"),
      limit("Mainnet", "", "7"),
    ];
    const bound = { walletLimit: ["wallet"], spendingLimits, networkLimit: ["Preprod"] };
    const token = await insertKey({ id: "key", canPay: true, ...bound });
    await env.DB.prepare(
      `INSERT INTO key_spending (api_key_id, network, unit, spent, spending_limit)
       VALUES ('key', 'Preprod', '', 900000000000000001, 999999999999999999),
         ('key', 'Preprod', ?, 6, 6), ('another', 'Preprod', '', 1, 1)`,
    )
      .bind("ab".repeat(28))
      .run();
    const shown = async () => (await ask({ path: "/api-key-status", token })).data;
    expect(await shown()).toMatchObject({
      ...{ canRead: true, canPay: true, canAdmin: false, status: "Active" },
      ...{ NetworkLimit: ["Preprod"], walletScopeEnabled: true },
      WalletScopes: [{ hotWalletId: "wallet" }],
      RemainingUsageCredits: [
        { unit: "", amount: "99999999999999998" },
        // The limit was set below what had been spent.
        { unit: "ab".repeat(28), amount: "0" },
      ],
    });
    await change({ id: "key", permission: "Admin" });
    expect(await shown()).toMatchObject({
      ...{ canAdmin: true, NetworkLimit: ["Preprod", "Mainnet"], walletScopeEnabled: false },
      ...{ WalletScopes: [], RemainingUsageCredits: [] },
    });
  });

  it("shows the key of the environment", async () => {
    const { data } = await ask({ path: "/api-key-status" });
    expect(data).toMatchObject({
      ...{ id: "env-admin", permission: "Admin", canPay: true, canAdmin: true },
      ...{ walletScopeEnabled: false, WalletScopes: [], RemainingUsageCredits: [] },
    });
  });
});
