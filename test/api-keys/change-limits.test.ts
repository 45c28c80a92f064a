/** What `PATCH /api-key` adds to a key's limits, and the token that it chooses. */
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { chargeSpending } from "../../src/api-keys/spending-limits.ts";
import { createToken } from "../../src/api-keys/token.ts";
import { openDb } from "../../src/db/client.ts";
import { app, emptyTables } from "../support/app.ts";
import { type Around, wrapD1 } from "../support/d1.ts";
import { runs } from "../support/effort.ts";
import { insertKey } from "../support/keys.ts";

beforeEach(emptyTables);

async function change(body: object, using: object = {}) {
  const init = {
    method: "PATCH",
    headers: { token: env.ADMIN_KEY ?? "" },
    body: JSON.stringify({ id: "key", ...body }),
  };
  const answer = await app.request("/api/v1/api-key", init, { ...env, ...using });
  // biome-ignore lint/suspicious/noExplicitAny: the assertions are what checks the answer's shape
  const json = (await answer.json()) as { data?: any; error?: { message: string } };
  return { status: answer.status, data: json.data, message: json.error?.message };
}

const TOKEN = "ab".repeat(28);
const limitOf = (amount: string, unit = "") => ({ network: "Preprod", unit, amount });
const add = (...limits: object[]) => change({ spendingLimitChanges: limits });
const scope = { walletIds: null, isSpendingLimited: true, returnAddresses: [] };
const caller = {
  ...{ id: "key", permission: "User" as const, canPay: true },
  ...{ networkLimit: [], isUsageLimited: false, scope },
};
const spend = (amount: bigint, unit = "") =>
  openDb(env).batch(chargeSpending(caller, "Preprod", [{ unit, amount }]));
const limits = async () =>
  JSON.parse(
    (await env.DB.prepare("SELECT spending_limits FROM api_key").first("spending_limits")) ?? "",
  );

describe("GET /api-key", () => {
  it("shows what each key has spent", async () => {
    await insertKey({ id: "idle", spendingLimits: [limitOf("5")] });
    await insertKey({ id: "key", spendingLimits: [limitOf("5"), limitOf("7", TOKEN)] });
    await spend(3n);
    await spend(1n, TOKEN);
    await spend(1n);
    const headers = { token: env.ADMIN_KEY ?? "" };
    const answer = await app.request("/api/v1/api-key", { headers }, env);
    const { data } = await answer.json<{
      data: { ApiKeys: { id: string; Spending: object[] }[] };
    }>();
    const shown = new Map(data.ApiKeys.map(({ id, Spending }) => [id, Spending]));
    expect(shown.get("key")).toEqual([limitOf("4"), limitOf("1", TOKEN)]);
    expect(shown.get("idle")).toEqual([]);
  });
});

describe("spendingLimitChanges", () => {
  it("add to limits and take from them, and remove a limit of zero", async () => {
    await insertKey({ id: "key", spendingLimits: [limitOf("5"), limitOf("7", TOKEN)] });
    const mainnet = { network: "Mainnet", unit: "", amount: "3" };
    const { data } = await add(
      limitOf("4", "lovelace"),
      limitOf("-7", TOKEN.toUpperCase()),
      mainnet,
    );
    expect(data.spendingLimits).toEqual([limitOf("9"), mainnet]);
    expect(await limits()).toEqual(data.spendingLimits);
  });

  it("begin at what was spent of a unit that has no limit any more", async () => {
    await insertKey({ id: "key", spendingLimits: [limitOf("5")] });
    await spend(5n);
    await change({ spendingLimits: [] });
    expect((await add(limitOf("2"))).data.spendingLimits).toEqual([limitOf("7")]);
    await spend(2n);
    await expect(spend(1n)).rejects.toThrow("key_spending_limit");
  });

  it("leave no limit below what was spent, above 18 digits or without a limited key", async () => {
    await insertKey({ id: "key", spendingLimits: [limitOf("5")] });
    await spend(3n);
    const below = "amount: the limit must be at least what the key has spent";
    expect(await add(limitOf("-3"))).toMatchObject({ status: 400, message: below });
    expect(await add(limitOf("-1", TOKEN))).toMatchObject({ status: 400, message: below });
    expect((await add(limitOf("9".repeat(18)))).status).toBe(400);
    expect(await limits()).toEqual([limitOf("5")]);
    expect((await add(limitOf("-2"))).data.spendingLimits).toEqual([limitOf("3")]);
    await change({ spendingLimits: null });
    expect((await add(limitOf("1"))).status).toBe(400);
  });

  it("are refused when the key spends what they take while they are made", async () => {
    await insertKey({ id: "key", spendingLimits: [limitOf("5")] });
    let isSpent = false;
    const around: Around = async ({ kind }, run) => {
      if (kind === "batch" && !isSpent) {
        isSpent = true;
        await spend(5n);
      }
      return run();
    };
    const body = { spendingLimitChanges: [limitOf("-5")] };
    expect((await change(body, { DB: wrapD1(env.DB, around) })).status).toBe(400);
    expect(await limits()).toEqual([limitOf("5")]);
  });

  it("all count when many are made at once, and never let the key spend more", async () => {
    const amounts = fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(amounts, async (changes) => {
        await emptyTables();
        await insertKey({ id: "key", spendingLimits: [limitOf("10")] });
        await spend(4n);
        const answers = await Promise.all(changes.map((one) => add(limitOf(String(one)))));
        const made = changes.filter((_, i) => answers[i]?.status === 200);
        const sum = made.reduce((a, b) => a + b, 10);
        expect(await limits()).toEqual([limitOf(String(sum))]);
        expect(sum).toBeGreaterThanOrEqual(4);
        await spend(BigInt(sum - 4));
        await expect(spend(1n)).rejects.toThrow("key_spending_limit");
      }),
      runs(4, 40),
    );
  });
});

describe("newToken", () => {
  const status = async (token: string) =>
    (await app.request("/api/v1/api-key-status", { headers: { token } }, env)).status;

  it("replaces the token, and the audit log has only its masked form", async () => {
    const former = await insertKey({ id: "key" });
    const newToken = "a-token-of-another-service";
    expect((await change({ newToken })).data.token).toBe("*****vice");
    expect(await status(newToken)).toBe(200);
    expect(await status(former)).toBe(401);
    const { results } = await env.DB.prepare("SELECT action, target, detail FROM audit").all();
    expect(results).toEqual([
      { action: "api-key.update", target: "key", detail: '{"newToken":"*****vice"}' },
    ]);
  });

  it("is no token of another key, and none that everybody knows", async () => {
    const former = await insertKey({ id: "key" });
    const taken = await insertKey({});
    const known = "DefaultUnsecureAdminKey";
    for (const newToken of [
      taken,
      env.ADMIN_KEY,
      known,
      "x".repeat(14),
      "x".repeat(257),
      `a b${"x".repeat(15)}`,
      `*****${"x".repeat(15)}`,
    ])
      expect((await change({ newToken })).status).toBe(400);
    expect(await status(former)).toBe(200);
    expect((await change({ newToken: createToken("User") })).status).toBe(200);
  });
});
