import { type Database, openDb } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { log } from "../../log.ts";
import { wakeObjects } from "../../wake-objects.ts";
import { readNextAttempts } from "../attempts/read-next-attempts.ts";
import { getFacilitatorWalletStub, getPaymentStub } from "../model/messages.ts";
import { OPEN_SETTLEMENT_SQL } from "../model/tables.ts";
import { listFacilitators } from "../networks/settlement-network.ts";

const MINUTE_MS = 60_000;

/**
 * Overdue attempts by their age in milliseconds, and how many of each class are woken in a run. One
 * not settled in its first minute has lost its alarm, or waits for its chain. The older it is, the
 * longer it waits for its next turn; hopeless ones never hold up the others.
 */
const AGE_CLASSES = [
  { from: MINUTE_MS, to: 60 * MINUTE_MS, places: 30 },
  { from: 60 * MINUTE_MS, to: 24 * 60 * MINUTE_MS, places: 15 },
  { from: 24 * 60 * MINUTE_MS, to: Number.MAX_SAFE_INTEGER, places: 5 },
];

/**
 * Wakes the objects of payments that should be settled by now: the platform drops an alarm that
 * failed too often. Waking a busy object does no harm. Each minute takes the next of the overdue
 * ones, and starts over after the last.
 *
 * @param now - epoch milliseconds
 */
export async function wakeSettlements(env: Env, requestId: string, now: number): Promise<void> {
  const core = openDb(env);
  const overdue = (
    await Promise.all(AGE_CLASSES.map((ages) => listOverdueAttempts(core, ages, now)))
  ).flat();
  const chains = new Set(overdue.map(({ caip2Id }) => caip2Id));
  // A wallet that its network does not use any more is woken by its payments.
  const wallets = chains.size === 0 ? [] : await listFacilitators(core, null);
  const stubs = [
    ...overdue.map(({ claim }) => getPaymentStub(env, claim)),
    ...wallets
      .filter(({ caip2Id }) => chains.has(caip2Id))
      .map(({ caip2Id, address }) => getFacilitatorWalletStub(env, caip2Id, address)),
  ];
  await wakeObjects(
    stubs,
    async (stub) => stub.wake(),
    (_, error) => log("warn", "x402.wake_failed", { requestId, error: String(error) }),
  );
}

interface OverdueAttempt {
  claim: string;
  caip2Id: string;
}

function listOverdueAttempts(
  core: Database,
  { from, to, places }: (typeof AGE_CLASSES)[number],
  now: number,
): Promise<OverdueAttempt[]> {
  const condition = {
    sql: `${OPEN_SETTLEMENT_SQL} AND claim IS NOT NULL AND updated_at > ? AND updated_at <= ?`,
    params: [Math.max(now - to, -1), now - from],
  };
  return readNextAttempts(core, "claim, caip2_id AS caip2Id", condition, places, now);
}
