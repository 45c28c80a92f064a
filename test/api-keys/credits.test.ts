import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import {
  CREDIT_COSTS,
  chargeOperation,
  type MeteredOperation,
  refundOperation,
  throwIfOutOfCredits,
} from "../../src/api-keys/credits.ts";
import { openDb, statement } from "../../src/db/client.ts";
import type { Caller } from "../../src/http/context.ts";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";

const CALLER: Caller = {
  id: "limited",
  permission: "User",
  canPay: true,
  networkLimit: null,
  isUsageLimited: true,
};
const MARK = statement("INSERT INTO clock (feed, t) VALUES ('mark', 1)");

async function used(id = CALLER.id): Promise<number | null> {
  return env.DB.prepare("SELECT accumulated_usage_credits FROM api_key WHERE id = ?")
    .bind(id)
    .first<number>("accumulated_usage_credits");
}

async function marks(): Promise<number> {
  return (await openDb(env).all("SELECT 1 FROM clock WHERE feed = 'mark'")).length;
}

beforeEach(async () => {
  await emptyTables();
  await insertKey({ id: CALLER.id, usageLimited: true, maxUsageCredits: 2 });
});

describe("charge", () => {
  it.each(Object.keys(CREDIT_COSTS) as MeteredOperation[])(
    "takes the price of %s",
    async (operation) => {
      await openDb(env).batch(chargeOperation(CALLER, operation));
      expect(await used()).toBe(CREDIT_COSTS[operation]);
    },
  );

  it("aborts the whole batch beyond the limit, which is a 402", async () => {
    const spend = () => openDb(env).batch([...chargeOperation(CALLER, "x402-settle"), MARK]);
    await openDb(env).batch(chargeOperation(CALLER, "x402-settle"));
    await openDb(env).batch(chargeOperation(CALLER, "x402-settle"));
    const refused = await spend().catch((error: unknown) => error);
    expect(() => throwIfOutOfCredits(refused)).toThrow(expect.objectContaining({ status: 402 }));
    expect(await used()).toBe(2);
    expect(await marks()).toBe(0);
  });

  it("is undone when the rest of its batch fails", async () => {
    const failing = statement("INSERT INTO clock (feed, t) VALUES ('x', NULL)");
    await expect(
      openDb(env).batch([...chargeOperation(CALLER, "x402-settle"), failing]),
    ).rejects.toThrow();
    expect(await used()).toBe(0);
  });

  it("never lets calls at once spend more than there is", async () => {
    const calls = Array.from({ length: 5 }, () =>
      openDb(env).batch(chargeOperation(CALLER, "x402-settle")),
    );
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    expect(await used()).toBe(2);
  });

  it("depends on its condition", async () => {
    const known = { sql: "EXISTS (SELECT 1 FROM clock WHERE feed = ?)", params: ["mark"] };
    await openDb(env).batch(chargeOperation(CALLER, "payment-information", known));
    expect(await used()).toBe(0);
    await openDb(env).batch([MARK, ...chargeOperation(CALLER, "payment-information", known)]);
    expect(await used()).toBe(1);
  });

  it("leaves a key without a limit alone", async () => {
    expect(chargeOperation({ ...CALLER, isUsageLimited: false }, "x402-settle")).toEqual([]);
  });
});

describe("refundOperation", () => {
  it("gives a charge back once", async () => {
    const charged = { sql: "EXISTS (SELECT 1 FROM clock WHERE feed = 'mark')", params: [] };
    const fail = [
      ...refundOperation(CALLER, "x402-settle", charged),
      statement("DELETE FROM clock WHERE feed = 'mark'"),
    ];
    await openDb(env).batch([...chargeOperation(CALLER, "x402-settle"), MARK]);
    await openDb(env).batch(fail);
    await openDb(env).batch(chargeOperation(CALLER, "x402-settle"));
    await openDb(env).batch(fail);
    expect(await used()).toBe(1);
  });
});

describe("throwIfOutOfCredits", () => {
  it("throws any other error as it is", () => {
    const other = new Error("CHECK constraint failed: something_else");
    expect(() => throwIfOutOfCredits(other)).toThrow(other);
  });
});
