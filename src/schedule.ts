import pMap from "p-map";
import { moveFinalRecords } from "./archive/move-records.ts";
import { NETWORKS } from "./chain/network.ts";
import { MAX_CONCURRENT_JOBS } from "./connections.ts";
import { openDb } from "./db/client.ts";
import { newId } from "./db/id.ts";
import { renderOutdatedDocuments } from "./db/render-outdated.ts";
import { resealAll } from "./db/reseal.ts";
import type { Env } from "./env.ts";
import { continueErasures } from "./erasure/continue-erasures.ts";
import { returnCharges } from "./escrow/purchases/charges.ts";
import { ESCROW_DOCUMENTS } from "./escrow/store/outdated-documents.ts";
import { expirePurchasesOfRemovedSources } from "./escrow/sync/expire-records.ts";
import { verifyDueInboxes } from "./inbox/verify-due-inboxes.ts";
import { log } from "./log.ts";
import { checkService } from "./observability/check-service.ts";
import { MOVED_KINDS } from "./observability/moved-kinds.ts";
import { applyAllWalletChanges } from "./payment-sources/apply-wallet-changes.ts";
import { destroyUnneededKeys } from "./payment-sources/destroy-unneeded-keys.ts";
import { publishNeededScripts } from "./payment-sources/reference-script/publish-needed-scripts.ts";
import { ENTRY_DOCUMENTS } from "./registry/entries/read-entries.ts";
import { wakeRegistry } from "./registry/sync/wake-registry.ts";
import { resolveChainClock } from "./sources/chain-clock.ts";
import { wakeSourceSync } from "./sources/cursor.ts";
import { listActiveSourceIds, listRemovedSources } from "./sources/find-source.ts";
import { withTimeout } from "./timeout.ts";
import { wakeObjects } from "./wake-objects.ts";
import { WALLET_FEATURES } from "./wallet-features.ts";
import { wakeDueWallets } from "./wallets/queue/wake-wallet.ts";
import { checkLowBalances } from "./wallets/rules/low-balance.ts";
import { checkTopUps } from "./wallets/top-ups/check.ts";
import { purgeDeliveries, sweepDeliveries } from "./webhooks/delivery/sweep-deliveries.ts";
import { watchPayments } from "./x402/pay/watch-payments.ts";
import { recordGasCosts } from "./x402/settle/record-gas-costs.ts";
import { wakeSettlements } from "./x402/settle/wake-settlements.ts";
import { checkBalances } from "./x402/wallets/low-balance.ts";

/** How long a run works on what the next one continues, such as the rest of a long history. */
const WORK_TIMEOUT_MS = 20_000;

const DOCUMENT_TABLES = [ESCROW_DOCUMENTS, ENTRY_DOCUMENTS];

/** How long a run waits for a job: longer than any successful one takes. */
const JOB_TIMEOUT_MS = 2 * 60_000;

interface ScheduledJob {
  name: string;
  run(): Promise<void>;
}

/**
 * The cron's jobs of each minute. The platform may skip, repeat or overlap runs. Therefore each job
 * only wakes an object that does the work once, or claims work that no other run has.
 */
export async function runSchedule(env: Env): Promise<void> {
  const requestId = newId(Date.now());
  await Promise.all([
    pMap(listConnectingJobs(env, requestId), (job) => runJob(job, requestId), { concurrency: 1 }),
    pMap(listDatabaseJobs(env, requestId), (job) => runJob(job, requestId), {
      concurrency: MAX_CONCURRENT_JOBS,
    }),
  ]);
}

const getDeadline = () => Date.now() + WORK_TIMEOUT_MS;

/** The jobs that call objects, providers and nodes. They take turns, since each may use four connections. */
function listConnectingJobs(env: Env, requestId: string): ScheduledJob[] {
  return [
    { name: "sources.wake", run: () => wakeSourceSyncs(env, requestId) },
    { name: "registry.wake", run: () => wakeRegistry(env, requestId) },
    {
      name: "wallets.wake",
      run: async () => {
        const clock = await resolveChainClock(env, Date.now() + JOB_TIMEOUT_MS);
        const features = WALLET_FEATURES.map((feature) => feature.findDueWallets(clock));
        await wakeDueWallets(env, features, requestId);
      },
    },
    { name: "x402.wake", run: () => wakeSettlements(env, requestId, Date.now()) },
    {
      name: "wallets.low_balance",
      run: () => checkLowBalances(env, requestId, Date.now(), getDeadline()),
    },
    { name: "wallets.top_up", run: () => checkTopUps(env, requestId, Date.now(), getDeadline()) },
    { name: "x402.low_balance", run: () => checkBalances(env, requestId) },
    { name: "x402.payments", run: () => watchPayments(env, requestId, Date.now(), getDeadline()) },
    { name: "x402.gas_costs", run: () => recordGasCosts(env, requestId, Date.now()) },
    {
      name: "reference_scripts.publish",
      run: () => publishNeededScripts(env, requestId, getDeadline()),
    },
    { name: "inbox.verify", run: () => verifyDueInboxes(env, requestId) },
  ];
}

/** The jobs that need little but D1, in the order of their urgency. */
function listDatabaseJobs(env: Env, requestId: string): ScheduledJob[] {
  return [
    { name: "webhooks.sweep", run: () => sweepDeliveries(env, requestId) },
    { name: "service.check", run: () => checkService(env, requestId, Date.now()) },
    { name: "purchases.return", run: () => returnAllCharges(env) },
    { name: "wallets.changed", run: () => applyAllWalletChanges(env, getDeadline()) },
    { name: "wallets.keys", run: () => destroyUnneededKeys(env, Date.now() + JOB_TIMEOUT_MS) },
    { name: "webhooks.purge", run: () => purgeDeliveries(env, Date.now()) },
    { name: "erasures.continue", run: () => continueErasures(env, Date.now(), getDeadline()) },
    { name: "secrets.reseal", run: () => resealAll(env, Date.now(), getDeadline()) },
    {
      name: "records.render",
      run: () => renderOutdatedDocuments(env, DOCUMENT_TABLES, Date.now(), getDeadline()),
    },
    {
      name: "archive.move",
      run: () => moveFinalRecords(env, MOVED_KINDS, Date.now(), getDeadline()),
    },
  ];
}

async function wakeSourceSyncs(env: Env, requestId: string): Promise<void> {
  await wakeObjects(
    await listActiveSourceIds(openDb(env)),
    (id) => wakeSourceSync(env, id, requestId),
    (source, error) => {
      log("error", "schedule.wake_failed", { source, requestId, error: String(error) });
    },
  );
}

async function returnAllCharges(env: Env): Promise<void> {
  for (const network of NETWORKS) {
    const database = openDb(env, network, { writes: "idempotent" });
    const removed = Object.keys(await listRemovedSources(openDb(env), network));
    if (removed.length > 0)
      await expirePurchasesOfRemovedSources(database, network, removed, Date.now());
    await returnCharges(database, network);
  }
}

/** A job that fails or hangs must not hold up the others. */
async function runJob({ name, run }: ScheduledJob, requestId: string): Promise<void> {
  try {
    await withTimeout(JOB_TIMEOUT_MS, run(), () => {
      throw new Error(`not done within ${JOB_TIMEOUT_MS} ms`);
    });
  } catch (error) {
    log("error", "schedule.job_failed", { job: name, requestId, error: String(error) });
  }
}
