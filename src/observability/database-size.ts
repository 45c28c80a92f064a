import { openArchives } from "../archive/open-archives.ts";
import { type Database, DatabaseFullError, openDb, statement } from "../db/client.ts";
import { type FullDatabase, findMonitor, type SizeSample } from "../db/database-monitor.ts";
import { type Env, readDatabaseMaxBytes } from "../env.ts";
import { log } from "../log.ts";
import type { MetricFamily } from "./open-metrics.ts";

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
/** Share of its limit from which the database counts as nearly full. */
const NEARLY_FULL_SHARE = 0.8;
/** The room that the database must have before an incident ends: more than any batch needs. */
const MIN_ROOM_BYTES = 1_000_000;
const PROBE_JOB = "database.room";

type MonitorEnv = Pick<Env, "DB" | "DATABASE_MONITOR" | "DATABASE_MAX_BYTES">;

/** The size of the database, and whether the database refuses writes. */
export interface DatabaseReport {
  bytes: number;
  maxBytes: number;
  isNearlyFull: boolean;
  /** Days until it is full, at the rate of the last week. Null: it does not grow, or nobody knows. */
  daysLeft: number | null;
  /** Null: there is room. */
  full: FullDatabase | null;
}

/**
 * Reads the size of the database, and what its monitor knows.
 *
 * @param deadline - epoch milliseconds, as `now`
 * @throws DatabaseUnavailableError
 */
export async function readDatabaseReport(
  env: MonitorEnv,
  deadline: number,
  now: number,
): Promise<DatabaseReport> {
  const bytes = await readBytes(openDb(env, undefined, { deadline }));
  const maxBytes = readDatabaseMaxBytes(env);
  // A database with room can say so without the monitor.
  const { full, samples } = await findMonitor(env)
    .read()
    .catch((error: unknown) => {
      log("warn", "database.monitor_unread", { error: String(error) });
      return { full: null, samples: [] };
    });
  return {
    bytes,
    maxBytes,
    isNearlyFull: bytes >= maxBytes * NEARLY_FULL_SHARE,
    daysLeft: computeDaysLeft(samples, { at: now, bytes }, maxBytes),
    full,
  };
}

/** D1 states the size with each result. */
async function readBytes(database: Database): Promise<number> {
  const [result] = await database.batch([statement("SELECT 1")]);
  return result?.meta.size_after ?? 0;
}

/** Days until the limit at the rate since the oldest sample. Null: unknown, or no growth. */
export function computeDaysLeft(
  [oldest]: readonly SizeSample[],
  now: SizeSample,
  maxBytes: number,
): number | null {
  if (!oldest || now.at - oldest.at < HOUR_MS || now.bytes <= oldest.bytes) return null;
  const bytesPerMs = (now.bytes - oldest.bytes) / (now.at - oldest.at);
  return Math.max(0, maxBytes - now.bytes) / bytesPerMs / DAY_MS;
}

/** What people should know of the size. */
export function describeSize({ bytes, maxBytes, daysLeft }: DatabaseReport): string {
  const used = `${toGigabytes(bytes)} of ${toGigabytes(maxBytes)} GB are used.`;
  if (daysLeft === null) return used;
  return `${used} At the present rate the database is full in ${Math.floor(daysLeft)} days.`;
}

const toGigabytes = (bytes: number) => (bytes / 1e9).toFixed(2);

/** Metrics of the databases' sizes. @throws DatabaseUnavailableError */
export async function collectSizeMetrics(
  env: MonitorEnv & Pick<Env, "SEARCH_DB"> & Parameters<typeof openArchives>[0],
  deadline: number,
  now: number,
): Promise<MetricFamily[]> {
  const { bytes, maxBytes, daysLeft } = await readDatabaseReport(env, deadline, now);
  const searchBytes = await readBytes(openDb({ DB: env.SEARCH_DB }, undefined, { deadline }));
  const archiveSamples = [];
  for (const { name, open } of openArchives(env))
    archiveSamples.push({ labels: { database: name }, value: await readBytes(open({ deadline })) });
  const labels = { database: "DB" };
  return [
    {
      name: "database_bytes",
      help: "Size of a database.",
      samples: [
        { labels, value: bytes },
        { labels: { database: "SEARCH_DB" }, value: searchBytes },
        ...archiveSamples,
      ],
    },
    {
      name: "database_max_bytes",
      help: "Size that the database may have.",
      samples: [{ labels, value: maxBytes }],
    },
    {
      name: "database_days_left",
      help: "Days until the database is full at the rate of the last week. Absent: it does not grow.",
      samples: daysLeft === null ? [] : [{ labels, value: daysLeft }],
    },
  ];
}

/** Whether a database that was full takes writes again. Leaves nothing behind. */
export async function hasRoom(core: Database): Promise<boolean> {
  try {
    await core.batch([
      statement(
        `INSERT INTO job (name, subject, done_at) VALUES (?, hex(zeroblob(?)), 0)`,
        PROBE_JOB,
        MIN_ROOM_BYTES / 2,
      ),
      statement("DELETE FROM job WHERE name = ?", PROBE_JOB),
    ]);
    return true;
  } catch (error) {
    if (error instanceof DatabaseFullError) return false;
    throw error;
  }
}
