import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Env } from "../../../src/env.ts";
import worker from "../../../src/worker.ts";
import { emptyTables } from "../../support/app.ts";

const MINUTE_MS = 60_000;
const HOPELESS = 60;

beforeEach(async () => {
  await emptyTables();
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => vi.useRealTimers());

/** Attempts that were never settled; the later ones changed last. */
async function insertAttempts(claims: string[], changedAt: number): Promise<void> {
  const insert = env.DB.prepare(
    `INSERT INTO x402_payment_attempt
       (id, direction, status, caip2_id, asset, amount, pay_to, payment_payload_hash, claim,
        charged, revision, created_at, updated_at)
     VALUES (?1, 'InboundSettle', 'Verified', 'eip155:1', '0x1', '1', '0x2', ?1, ?1, 0, 0, ?2, ?2)`,
  );
  await env.DB.batch(claims.map((claim, n) => insert.bind(claim, changedAt + n)));
}

/** Lets a minute pass, after which the cron fires. Returns the claims whose objects it wakes. */
async function nextMinute(): Promise<string[]> {
  vi.setSystemTime(Date.now() + MINUTE_MS);
  const { PAYMENT_PAYLOAD } = env;
  const woken: string[] = [];
  const followed = {
    idFromName: (name: string) => {
      woken.push(name);
      return PAYMENT_PAYLOAD.idFromName(name);
    },
    get: (id: DurableObjectId) => PAYMENT_PAYLOAD.get(id),
  };
  const bindings = { ...env, PAYMENT_PAYLOAD: followed } as unknown as Env;
  await worker.scheduled(createScheduledController(), bindings);
  return woken;
}

describe("the cron", () => {
  it.each([
    ["minutes", MINUTE_MS, 3],
    ["hours", 60 * MINUTE_MS, 5],
    ["days", 24 * 60 * MINUTE_MS, 13],
  ])("wakes every payment that is overdue by %s in its turn", async (_, age, turns) => {
    const claims = Array.from({ length: HOPELESS + 1 }, (__, n) => `payment-${1000 + n}`);
    await insertAttempts(claims, Date.now() - age - MINUTE_MS);
    const woken: string[] = [];
    for (let minute = 0; minute < turns; minute++) {
      const now = await nextMinute();
      expect(now.length).toBeLessThanOrEqual(50);
      woken.push(...now);
    }
    expect(woken.sort()).toEqual(claims);
  });

  it("wakes a payment of the last minutes whatever else is overdue, and none before that", async () => {
    const now = Date.now();
    const old = Array.from({ length: HOPELESS }, (_, n) => `old-${n}`);
    await insertAttempts(old, now - 2 * 24 * 60 * MINUTE_MS);
    await insertAttempts(["new"], now - MINUTE_MS / 2);
    await insertAttempts(["newest"], now + MINUTE_MS / 2);
    const woken = await nextMinute();
    expect(woken).toContain("new");
    expect(woken).not.toContain("newest");
  });
});
