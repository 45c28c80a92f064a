import * as z from "zod";
import type { ArchiveEnv } from "../archive/open-archives.ts";
import type { Network } from "../chain/network.ts";
import { openDb } from "../db/client.ts";
import type { Env } from "../env.ts";
import { SERVICE_EVENT_KINDS, type ServiceEventKind } from "../events/event-kinds.ts";
import { readOpenIncidents } from "../events/incidents.ts";
import { readSetAsideEvents } from "../events/set-aside.ts";
import { network } from "../http/openapi/chain-fields.ts";
import { described, idField, named, nullableTextField } from "../http/openapi/fields.ts";
import { wholeNumberParameter } from "../http/openapi/parameters.ts";
import { findUnboundArchives } from "./archive-incidents.ts";
import { describeSize, readDatabaseReport } from "./database-size.ts";
import {
  computeLag,
  isSourceStuck,
  listMonitoredSources,
  SOURCE_MAX_LAG_MS,
  toPublicError,
} from "./monitored-sources.ts";

/** Events that could not be fanned out: they have no event of their own, since its fan-out may fail too. */
const EVENTS_SET_ASIDE = "EVENTS_SET_ASIDE";
const TROUBLES = [...SERVICE_EVENT_KINDS, EVENTS_SET_ASIDE] as const;

const DAY_MS = 24 * 60 * 60_000;

const sourceHealth = named(
  "SourceHealth",
  "Sync status of a payment source.",
  z.object({
    id: idField("the payment source", "01m80ydym8b5krj5k5mrnn0w9r"),
    network,
    lastSyncAgeMs: described(
      z.number().nullable(),
      "Milliseconds since the last sync. Null: none yet.",
      2155,
    ),
    error: nullableTextField(
      "Why the last sync failed. Null: it succeeded.",
      "The chain provider failed",
    ),
  }),
);

const reason = named(
  "HealthReason",
  "A problem for an operator.",
  z.object({
    kind: described(
      named("Trouble", "A kind of problem. docs/monitoring.md says what to do.", z.enum(TROUBLES)),
      "Kind of the problem.",
      "SOURCE_STUCK",
    ),
    count: described(
      z.number(),
      "Number of affected sources, wallets, webhooks, queues, databases, archives or events.",
      1,
    ),
    text: described(
      z.string().optional(),
      "Details of the problem. Omitted: `count` says it all.",
      "8.12 of 10.00 GB are used. At the present rate the database is full in 41 days.",
    ),
  }),
);

export const health = named(
  "Health",
  "Health of the service.",
  z.object({
    status: described(
      named("HealthStatus", "Whether the service has a problem.", z.enum(["ok", "degraded"])),
      "`degraded`: the service answers, but has a problem.",
      "ok",
    ),
    reasons: described(z.array(reason), "Problems. Empty while the status is `ok`."),
    sources: described(z.array(sourceHealth), "The payment sources."),
  }),
);
export type Health = z.input<typeof health>;

export const readyQuery = z.object({
  maxLagMs: described(
    wholeNumberParameter({ min: 1_000, max: DAY_MS, default: SOURCE_MAX_LAG_MS }),
    "Milliseconds without a sync after which a payment source makes the service unready.",
    SOURCE_MAX_LAG_MS,
  ),
  network: described(network.optional(), "Only payment sources of this network count.", "Preprod"),
});

/** How the service does, and the longest that a payment source was not synced, by network. */
export interface HealthReport {
  health: Health;
  /** Milliseconds, of each payment source. */
  lags: { network: Network; lag: number }[];
}

/**
 * Looks at the service. What it tells is for everyone: it has no key and no address.
 *
 * @param deadline - epoch milliseconds
 * @throws DatabaseUnavailableError
 */
export async function checkHealth(
  env: ArchiveEnv & Pick<Env, "DB" | "DATABASE_MONITOR" | "DATABASE_MAX_BYTES">,
  deadline: number,
  now: number,
): Promise<HealthReport> {
  const followed = await listMonitoredSources(env, deadline, now);
  const core = openDb(env, undefined, { deadline });
  const incidents = await readOpenIncidents(core);
  const failedEvents = await readSetAsideEvents(core);
  const database = await readDatabaseReport(env, deadline, now);
  const unbound = await findUnboundArchives(env, deadline);
  const list = (kind: ServiceEventKind) =>
    incidents
      .get(kind)
      ?.map(({ subject }) => subject)
      .join(", ") ?? "";
  // Looked at now: should the cron not run, nobody else tells of it.
  const current: Partial<Record<(typeof TROUBLES)[number], number>> = {
    SOURCE_STUCK: followed.filter((source) => isSourceStuck(source, now)).length,
    DATABASE_NEARLY_FULL: database.isNearlyFull ? 1 : 0,
    ...(database.full && { DATABASE_FULL: 1 }),
    ARCHIVE_UNBOUND: unbound.length,
    [EVENTS_SET_ASIDE]: failedEvents.count,
  };
  const payment = followed
    .filter(({ kind }) => kind === "payment")
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const reasons = TROUBLES.map((kind) => ({
    kind,
    count: current[kind] ?? incidents.get(kind as ServiceEventKind)?.length ?? 0,
    ...(kind.startsWith("DATABASE_") && { text: describeSize(database) }),
    ...(kind === "ARCHIVE_NEEDED" && { text: `All archives are full: bind ${list(kind)}.` }),
    ...(kind === "ARCHIVE_BEHIND" && { text: `Put forward again: ${list(kind)}.` }),
    ...(kind === "ARCHIVE_UNBOUND" && { text: `Bind again: ${unbound.join(", ")}.` }),
    ...(kind === "ARCHIVE_UNMIGRATED" && { text: `Run migrate:remote for ${list(kind)}.` }),
    ...(kind === EVENTS_SET_ASIDE && { text: `The newest: ${failedEvents.reason}` }),
  })).filter(({ count }) => count > 0);
  return {
    health: {
      status: reasons.length > 0 ? "degraded" : "ok",
      reasons,
      sources: payment.map((source) => ({
        id: source.id,
        network: source.network,
        lastSyncAgeMs: source.lastCheckedAt === null ? null : computeLag(source, now),
        error: toPublicError(source),
      })),
    },
    lags: payment.map((source) => ({ network: source.network, lag: computeLag(source, now) })),
  };
}
