import { db } from "./db/client.ts";
import { newId } from "./db/id.ts";
import { resealAll } from "./db/reseal.ts";
import type { Env } from "./env.ts";
import { verifyDueInboxes } from "./inbox/jobs.ts";
import { log } from "./log.ts";
import { wakeRegistry } from "./registry/jobs.ts";
import { wakeDueWallets } from "./registry/wallet-object.ts";
import { activeSourceIds } from "./sources/active.ts";
import { wakeCursor } from "./sources/cursor.ts";
import { checkLowBalances } from "./sources/low-balance-check.ts";
import { purge, sweep } from "./webhooks/sweep.ts";
import { wakeSettlements } from "./x402/heal.ts";
import { checkBalances } from "./x402/low-balance-check.ts";

/** How long a run of the cron waits for the providers that tell the wallets' balances. */
const BALANCES_MS = 20_000;
/** How long a run of the cron seals secrets again after a rotation of keys. */
const RESEAL_MS = 20_000;

/**
 * What the cron does each minute. The platform may skip a slot, fire it twice or overlap two: each
 * job only asks an object for work that the object does once.
 */
export async function runSchedule(env: Env): Promise<void> {
  const requestId = newId(Date.now());
  await runJob("sources.wake", requestId, () => wakeCursors(env, requestId));
  await runJob("registry.wake", requestId, () => wakeRegistry(env, requestId));
  await runJob("wallets.wake", requestId, () => wakeDueWallets(env, requestId));
  await runJob("webhooks.sweep", requestId, () => sweep(env, requestId));
  await runJob("webhooks.purge", requestId, () => purge(env, Date.now()));
  await runJob("wallets.low_balance", requestId, () =>
    checkLowBalances(env, requestId, Date.now(), Date.now() + BALANCES_MS),
  );
  await runJob("x402.wake", requestId, () => wakeSettlements(env, requestId, Date.now()));
  await runJob("x402.low_balance", requestId, () => checkBalances(env, requestId));
  await runJob("secrets.reseal", requestId, () =>
    resealAll(env, Date.now(), Date.now() + RESEAL_MS),
  );
  await runJob("inbox.verify", requestId, () => verifyDueInboxes(env, requestId));
}

async function wakeCursors(env: Env, requestId: string): Promise<void> {
  const sources = await activeSourceIds(db(env));
  await Promise.all(
    sources.map((id) =>
      wakeCursor(env, id, requestId).catch((error: unknown) => {
        log("error", "schedule.wake_failed", { source: id, requestId, error: String(error) });
      }),
    ),
  );
}

/** One job that fails must not keep the others from their turn. */
async function runJob(name: string, requestId: string, job: () => Promise<void>): Promise<void> {
  try {
    await job();
  } catch (error) {
    log("error", "schedule.job_failed", { job: name, requestId, error: String(error) });
  }
}
