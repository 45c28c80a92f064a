import {
  ArchiveUnboundError,
  type Database,
  type DatabaseOptions,
  openDb,
  type Statement,
  statement,
} from "../db/client.ts";
import { type Env, readDatabaseMaxBytes } from "../env.ts";
import type { ArchivedKind, ArchivedScope } from "./archive-tables.ts";

/** Share of its limit up to which an archive is filled. The rest is for what is written there later. */
const FILLED_SHARE = 0.9;

/** A database of final records. */
export interface Archive {
  /** 1 of `ARCHIVE_1`, as the database's rows name it. */
  number: number;
  /** Of its binding. */
  name: string;
  /**
   * Opens it for some calls: reads go to its primary unless the options say otherwise, the first call at
   * least. Its bookmarks are its own, and never those that a caller is answered with.
   */
  open(options?: DatabaseOptions): Database;
}

/** The bindings of the archives. */
export type ArchiveEnv = {
  [Name in keyof Env as Name extends `ARCHIVE_${number}` ? Name : never]: Env[Name];
};

/**
 * The archives of a deployment, the first one first; none: nothing is moved. One that has records may be missing:
 * what needs it asks `findArchive`.
 */
export function openArchives(env: ArchiveEnv): Archive[] {
  const archives: Archive[] = [];
  for (let number = 1; ; number++) {
    const name = nameArchive(number);
    const DB = env[name];
    if (DB === undefined) return archives;
    archives.push({
      number,
      name,
      // The session's bookmark: that of a primary counts as the database's own.
      open: ({ reads = "primary", ...options } = {}) =>
        openDb({ DB }, undefined, {
          ...options,
          reads: reads === "primary" ? { bookmark: "first-primary" } : reads,
        }),
    });
  }
}

/** The binding of an archive. */
export const nameArchive = (number: number) => `ARCHIVE_${number}` as const;

/** The archive of a number. @throws ArchiveUnboundError if a person has to bind it */
export function findArchive(archives: readonly Archive[], number: number): Archive {
  const archive = archives.find((one) => one.number === number);
  // Bindings have no gap: the first one that is missing hides those after it.
  if (!archive) throw new ArchiveUnboundError(nameArchive(archives.length + 1));
  return archive;
}

/** The bindings of the archives that have, or had, records. @param db - of the records */
export async function listUsedArchives(
  db: Pick<Database, "all">,
): Promise<ReturnType<typeof nameArchive>[]> {
  const rows = await db.all<{ archive: number }>(
    "SELECT DISTINCT archive FROM archive_range ORDER BY archive",
  );
  return rows.map(({ archive }) => nameArchive(archive));
}

/** The bindings that the database's records need and the deployment lacks. @param db - of the records */
export async function listUnboundArchives(
  env: ArchiveEnv,
  db: Pick<Database, "all">,
): Promise<string[]> {
  return (await listUsedArchives(db)).filter((name) => env[name] === undefined);
}

/**
 * The database's rows, if no archive has records of the network; null: one may have some, bound or not. Both
 * are read at one moment, so that no record moves in between, and with one call.
 */
export async function readIfNoneArchived<Row>(
  db: Pick<Database, "batch">,
  { kind, network, hot }: { kind: ArchivedKind; network: ArchivedScope; hot: Statement },
): Promise<Row[] | null> {
  const [ranges, own] = (await db.batch([
    statement("SELECT 1 FROM archive_range WHERE kind = ? AND network = ? LIMIT 1", kind, network),
    hot,
  ])) as [D1Result, D1Result<Row>];
  return ranges.results.length === 0 ? own.results : null;
}

/** Whether records may move to an archive of so many bytes. */
export function isBelowFilledShare(env: Pick<Env, "DATABASE_MAX_BYTES">, bytes: number): boolean {
  return bytes < readDatabaseMaxBytes(env) * FILLED_SHARE;
}

/** Selects the `operation` of an archive's last copy. */
export function selectOperation(kind: ArchivedKind, network: ArchivedScope): Statement {
  return statement(
    "SELECT operation FROM archive_operation WHERE kind = ? AND network = ?",
    kind,
    network,
  );
}
