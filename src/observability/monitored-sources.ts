import { NETWORKS, type Network } from "../chain/network.ts";
import { type Database, openDb } from "../db/client.ts";
import type { Env } from "../env.ts";

/**
 * After so long without a complete pass a source that fails is stuck. Each pass is a minute after the last, as
 * near as the cron comes to that: so the first that fails is enough.
 */
const FAILING_SOURCE_MAX_LAG_MS = 45_000;
/** After so long one is stuck whatever it says, unless a pass is under way. */
export const SOURCE_MAX_LAG_MS = 15 * 60_000;

/** A payment source or a registry source, and how well it is followed. Times are epoch milliseconds. */
export interface MonitoredSource {
  kind: "payment" | "registry";
  id: string;
  network: Network;
  createdAt: number;
  /** When a pass last completed; null before the first. */
  lastCheckedAt: number | null;
  /** Why the last pass did not complete; null when it did. */
  error: string | null;
  /** Whether a pass holds the source, which may take long where there is much to read. */
  isReading: boolean;
}

type Source = Pick<MonitoredSource, "kind" | "id" | "network" | "createdAt">;
type Cursor = Pick<MonitoredSource, "id" | "lastCheckedAt" | "error" | "isReading">;

/** What differs between the two kinds. `lease`: SQL of the time until which a pass holds the source. */
const SOURCE_TABLES = {
  payment: { sources: "payment_source", cursors: "source_cursor", lease: "lease_until" },
  registry: { sources: "registry_source", cursors: "registry_cursor", lease: "NULL" },
} as const;

/**
 * Every source that is followed, with its cursor.
 *
 * @param deadline - epoch milliseconds
 * @throws DatabaseUnavailableError
 */
export async function listMonitoredSources(
  env: Pick<Env, "DB">,
  deadline: number,
  now: number,
): Promise<MonitoredSource[]> {
  const kinds = ["payment", "registry"] as const;
  const core = openDb(env, undefined, { deadline });
  const sources = (await Promise.all(kinds.map((kind) => readSources(core, kind)))).flat();
  const groups = kinds.flatMap((kind) => NETWORKS.map((network) => ({ kind, network })));
  const found = await Promise.all(
    groups.map(async ({ kind, network }) => {
      const ofGroup = sources.filter((one) => one.kind === kind && one.network === network);
      if (ofGroup.length === 0) return [];
      const ids = ofGroup.map(({ id }) => id);
      const cursors = await readCursors(openDb(env, network, { deadline }), kind, ids, now);
      return ofGroup.map((source) => ({
        lastCheckedAt: null,
        error: null,
        ...source,
        ...cursors.get(source.id),
        isReading: cursors.get(source.id)?.isReading ?? false,
      }));
    }),
  );
  return found.flat();
}

async function readSources(core: Database, kind: MonitoredSource["kind"]): Promise<Source[]> {
  const rows = await core.all<Omit<Source, "kind">>(
    `SELECT id, network, created_at AS createdAt FROM ${SOURCE_TABLES[kind].sources}
     WHERE deleted_at IS NULL ORDER BY id`,
  );
  return rows.map((row) => ({ kind, ...row }));
}

async function readCursors(
  database: Database,
  kind: MonitoredSource["kind"],
  ids: string[],
  now: number,
): Promise<Map<string, Cursor>> {
  const { cursors, lease } = SOURCE_TABLES[kind];
  const rows = await database.all<Omit<Cursor, "isReading"> & { leaseUntil: number | null }>(
    `SELECT source_id AS id, last_checked_at AS lastCheckedAt, error, ${lease} AS leaseUntil
     FROM ${cursors} WHERE source_id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids),
  );
  return new Map(
    rows.map(({ leaseUntil, ...row }) => [row.id, { ...row, isReading: (leaseUntil ?? 0) > now }]),
  );
}

/** Milliseconds since a source was last known to be read up to the tip: at the latest, when it was made. */
export function computeLag(source: MonitoredSource, now: number): number {
  return Math.max(0, now - (source.lastCheckedAt ?? source.createdAt));
}

/** Whether somebody has to look at a source. */
export function isSourceStuck(source: MonitoredSource, now: number): boolean {
  const lag = computeLag(source, now);
  if (source.error !== null) return lag >= FAILING_SOURCE_MAX_LAG_MS;
  // The first pass of a registry may take longer, and holds no lease.
  const isBusy = source.isReading || (source.kind === "registry" && source.lastCheckedAt === null);
  return lag >= SOURCE_MAX_LAG_MS && !isBusy;
}

/** Why a source's last pass did not complete, without any address; null when it did. */
export function toPublicError({ error }: MonitoredSource): string | null {
  return error?.replace(/\b(addr|stake)(_test)?1[0-9a-z]+/g, "<address>") ?? null;
}

/** How well all sources are followed. */
export interface SyncProgress {
  /** Whether no source is stuck. */
  isSyncing: boolean;
  sourceCount: number;
  /** When the source that was read longest ago was read, epoch milliseconds; null: one never was, or there is none. */
  oldestSyncAt: number | null;
}

/** @throws DatabaseUnavailableError */
export async function readSyncProgress(
  env: Pick<Env, "DB">,
  deadline: number,
  now: number,
): Promise<SyncProgress> {
  const sources = await listMonitoredSources(env, deadline, now);
  const oldest = Math.min(...sources.map(({ lastCheckedAt }) => lastCheckedAt ?? 0));
  return {
    isSyncing: sources.every((source) => !isSourceStuck(source, now)),
    sourceCount: sources.length,
    oldestSyncAt: oldest > 0 && sources.length > 0 ? oldest : null,
  };
}
