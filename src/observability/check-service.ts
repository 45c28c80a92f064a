import { type Database, DatabaseFullError, openDb, type Statement } from "../db/client.ts";
import { type FullDatabase, findMonitor } from "../db/database-monitor.ts";
import type { Env } from "../env.ts";
import { SERVICE_EVENT_KINDS, type ServiceEventKind } from "../events/event-kinds.ts";
import {
  beginIncidents,
  endIncidents,
  type NewIncident,
  readOpenIncidents,
} from "../events/incidents.ts";
import { wakeDispatcher } from "../events/outbox.ts";
import { toIsoTime, toIsoTimeOrNull } from "../http/envelope.ts";
import { log } from "../log.ts";
import { sendDirectly } from "../webhooks/delivery/send-directly.ts";
import { checkArchives, findUnboundArchives, toArchiveIncidents } from "./archive-incidents.ts";
import { type DatabaseReport, hasRoom, readDatabaseReport } from "./database-size.ts";
import { isSourceStuck, listMonitoredSources, toPublicError } from "./monitored-sources.ts";
import { findProviderOutages } from "./provider-outages.ts";
import { listStuckWallets } from "./stuck-wallets.ts";

/** How long a check waits for the database. */
const CHECK_TIMEOUT_MS = 20_000;
/** How long a disabled webhook counts: its owner may never come back. */
const DISABLED_ENDPOINT_MAX_AGE_MS = 24 * 60 * 60_000;
/** The binding of the database. */
const DATABASE_SUBJECT = "DB";
/** How long the last message that died counts. */
const DEAD_MESSAGE_MAX_AGE_MS = 60 * 60_000;

/**
 * Compares what is wrong with the service now with what was known, and tells Admins' webhooks what is new.
 * For the cron: a run that is skipped, repeated or overlaps another tells nothing twice.
 *
 * @param now - epoch milliseconds
 */
export async function checkService(env: Env, requestId: string, now: number): Promise<void> {
  const deadline = Date.now() + CHECK_TIMEOUT_MS;
  const core = openDb(env, undefined, { deadline });
  const known = await readOpenIncidents(core);
  const database = await readDatabaseReport(env, deadline, now);
  const monitor = findMonitor(env);
  await monitor.addSample({ at: now, bytes: database.bytes });
  const { full } = database;
  const isFull = full !== null && !(await hasRoom(core));
  const archives = await checkArchives(env, known, deadline);
  const found: Record<ServiceEventKind, NewIncident[]> = {
    SOURCE_STUCK: await findStuckSources(env, deadline, now),
    PROVIDER_OUT: await findProviderOutages(env, core, now),
    WALLET_STUCK: await findStuckWallets(env, core, deadline, now),
    ENDPOINT_DISABLED: await findDisabledEndpoints(core, now),
    QUEUE_DEAD: findDeadQueues(known, now),
    DATABASE_NEARLY_FULL: database.isNearlyFull ? [toSizeIncident(database)] : [],
    // With room again, what was begun meanwhile is stored once, and is over at the next check.
    DATABASE_FULL: full ? [{ ...toSizeIncident(database), eventId: full.eventId }] : [],
    ARCHIVE_NEEDED: toArchiveIncidents(archives.needed),
    ARCHIVE_BEHIND: toArchiveIncidents(archives.behind),
    ARCHIVE_UNBOUND: toArchiveIncidents(await findUnboundArchives(env, deadline)),
    ARCHIVE_UNMIGRATED: toArchiveIncidents(archives.unmigrated),
  };
  const statements: Statement[] = [];
  let hasBegun = false;
  for (const kind of SERVICE_EVENT_KINDS) {
    const open = known.get(kind) ?? [];
    const begun = found[kind].filter((one) => !open.some(({ subject }) => subject === one.subject));
    const over = open.filter((one) => !found[kind].some(({ subject }) => subject === one.subject));
    statements.push(...beginIncidents(kind, begun, now));
    if (over.length > 0) statements.push(endIncidents(kind, over, now));
    for (const { subject } of begun) log("warn", "incident.begun", { kind, subject, requestId });
    for (const { subject } of over) log("info", "incident.over", { kind, subject, requestId });
    hasBegun ||= begun.length > 0;
  }
  if (statements.length > 0)
    await core.batch(statements).catch((error: unknown) => {
      // The monitor remembers the database; all else is found again when there is room.
      if (!isFull || !(error instanceof DatabaseFullError)) throw error;
    });
  if (hasBegun) await wakeDispatcher(env, requestId);
  if (isFull) await monitor.addReceivers(await sendFullEvent(env, core, database, full));
  else if (full) await monitor.endFull();
}

function toSizeIncident({ bytes, maxBytes, daysLeft }: DatabaseReport): NewIncident {
  return {
    subject: DATABASE_SUBJECT,
    sourceId: null,
    data: { database: DATABASE_SUBJECT, bytes, maxBytes, daysLeft },
  };
}

/** Sends Admins what the outbox cannot store. @returns ids of the webhooks that received it */
async function sendFullEvent(
  env: Env,
  core: Database,
  database: DatabaseReport,
  { since, eventId, receivers }: FullDatabase,
): Promise<string[]> {
  const [last] = await core.all<{ sequence: number }>(
    `SELECT sequence + (over_at IS NOT NULL) AS sequence FROM incident
     WHERE kind = 'DATABASE_FULL' AND subject = ?`,
    DATABASE_SUBJECT,
  );
  const event = {
    id: eventId,
    kind: "DATABASE_FULL",
    sequence: last?.sequence ?? 1,
    createdAt: since,
    data: JSON.stringify(toSizeIncident(database).data),
  } as const;
  return sendDirectly(env, event, receivers);
}

async function findStuckSources(env: Env, deadline: number, now: number): Promise<NewIncident[]> {
  const sources = await listMonitoredSources(env, deadline, now);
  return sources
    .filter((source) => isSourceStuck(source, now))
    .map((source) => ({
      subject: source.id,
      sourceId: source.kind === "payment" ? source.id : null,
      data: {
        sourceId: source.id,
        kind: source.kind,
        network: source.network,
        lastSyncAt: toIsoTimeOrNull(source.lastCheckedAt),
        error: toPublicError(source),
      },
    }));
}

async function findStuckWallets(
  env: Env,
  core: Database,
  deadline: number,
  now: number,
): Promise<NewIncident[]> {
  const wallets = await listStuckWallets(env, deadline, now);
  if (wallets.length === 0) return [];
  const rows = await core.all<{ network: string; vkey: string; note: string }>(
    `SELECT network, vkey, note FROM managed_wallet
     WHERE vkey IN (SELECT value FROM json_each(?)) AND deleted_at IS NULL`,
    JSON.stringify(wallets.map(({ vkey }) => vkey)),
  );
  const notes = new Map(rows.map(({ network, vkey, note }) => [`${network}:${vkey}`, note]));
  return wallets.map(({ network, vkey, sourceId, waiting, reason }) => ({
    subject: `${network}:${vkey ?? sourceId ?? ""}`,
    sourceId,
    data: {
      network,
      walletVkey: vkey,
      walletNote: notes.get(`${network}:${vkey}`) ?? null,
      paymentSourceId: sourceId,
      waiting,
      reason,
    },
  }));
}

/** Those whose messages died lately. They were told of then; here only time passes. */
function findDeadQueues(
  known: Awaited<ReturnType<typeof readOpenIncidents>>,
  now: number,
): NewIncident[] {
  return (known.get("QUEUE_DEAD") ?? [])
    .filter(({ since }) => since > now - DEAD_MESSAGE_MAX_AGE_MS)
    .map(({ subject }) => ({ subject, sourceId: null, data: {} }));
}

/** Those that were disabled for their failures lately, not by their owners. */
async function findDisabledEndpoints(core: Database, now: number): Promise<NewIncident[]> {
  const rows = await core.all<{ webhookId: string; disabledAt: number }>(
    `SELECT id AS webhookId, name, created_by_id AS apiKeyId, disabled_at AS disabledAt,
       ifnull(disabled_reason, '') AS disabledReason
     FROM webhook_endpoint
     WHERE disabled_at > ? AND NOT is_active AND deleted_at IS NULL ORDER BY id`,
    now - DISABLED_ENDPOINT_MAX_AGE_MS,
  );
  return rows.map((row) => ({
    subject: row.webhookId,
    sourceId: null,
    data: { ...row, disabledAt: toIsoTime(row.disabledAt) },
  }));
}
