import { listUnboundArchives, openArchives } from "../archive/open-archives.ts";
import { type Database, openDb, type Statement, statement } from "../db/client.ts";
import { openRecordDatabases } from "../db/record-databases.ts";
import type { Env } from "../env.ts";
import { buildErasure, ERASURES } from "./erasures.ts";

const ARCHIVE_ERASURES = ERASURES.filter(({ isInArchives }) => isInArchives);
const JOB_PREFIX = "erasure:";
/** Longer than a revoked key is cached and its last request takes. */
const LAST_WRITES_MS = 5 * 60_000;

/**
 * Stores that a key is to be erased, for the batch that begins it.
 *
 * @param now - epoch milliseconds
 */
export function storeErasureJob(keyId: string, now: number): Statement {
  return statement(
    `INSERT INTO job (name, subject, done_at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET done_at = excluded.done_at`,
    `${JOB_PREFIX}${keyId}`,
    keyId,
    now,
  );
}

/**
 * Removes what is left of erased keys in all databases: the rest of long histories, and what late
 * requests of the key wrote. Runs each minute; skipped and overlapping runs do no harm.
 *
 * @param now - epoch milliseconds, as `deadline`
 */
export async function continueErasures(
  env: Pick<Env, "DB"> & Parameters<typeof openArchives>[0],
  now: number,
  deadline: number,
): Promise<void> {
  const options = { writes: "idempotent", deadline } as const;
  const core = openDb(env, undefined, options);
  const jobs = await core.all<{ keyId: string; begunAt: number }>(
    "SELECT subject AS keyId, done_at AS begunAt FROM job WHERE name GLOB ? ORDER BY done_at",
    `${JOB_PREFIX}*`,
  );
  for (const { keyId, begunAt } of jobs) {
    let isComplete = true;
    for (const database of openRecordDatabases(env, options)) {
      isComplete = (await eraseRest(database, ERASURES, keyId, now, deadline)) && isComplete;
      // It goes on once they are bound.
      if ((await listUnboundArchives(env, database)).length > 0) isComplete = false;
    }
    // After the database: what moves from there from now on has nothing of the key.
    for (const archive of openArchives(env)) {
      const database = archive.open(options);
      const isErased = await eraseRest(database, ARCHIVE_ERASURES, keyId, now, deadline);
      isComplete = isErased && isComplete;
    }
    if (isComplete && begunAt <= now - LAST_WRITES_MS)
      await core.batch([
        statement(
          "DELETE FROM job WHERE name = ? AND done_at = ?",
          `${JOB_PREFIX}${keyId}`,
          begunAt,
        ),
      ]);
  }
}

/** @returns whether nothing is left */
async function eraseRest(
  database: Database,
  erasures: typeof ERASURES,
  keyId: string,
  now: number,
  deadline: number,
): Promise<boolean> {
  while (Date.now() < deadline) {
    const portion = buildErasure(keyId, now, erasures);
    if (portion.count(await database.batch(portion.statements)).isComplete) return true;
  }
  return false;
}
