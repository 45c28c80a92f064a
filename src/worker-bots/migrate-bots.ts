import { and, desc, eq, lt, sql } from "drizzle-orm";
import type * as z from "zod";
import { type Database, onViolation, openDb, statement } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { toIsoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { log } from "../log.ts";
import { type FailedMove, type Migration, moveBots } from "./move-bots.ts";
import {
  MAX_LISTED_FAILURES,
  type MigrationBody,
  type MigrationResult,
  type MoveRecord,
  type moveQuery,
} from "./schemas.ts";
import { workerBotMigration, workerBotMove } from "./tables.ts";
import { findVersion, toUnknownVersionError } from "./versions.ts";

/** Bots moved per call; the rest is reported, and moved by the next call. */
const MAX_BOTS_PER_CALL = 10_000;
/** Bots per D1 batch. */
const MAX_BOTS_PER_BATCH = 500;

/**
 * Moves the fleet's unarchived bots, or those of them on `fromVersionId`, to a version. A bot that
 * cannot be moved does not stop the others. Running it again moves the rest, also after a run that
 * died: which bots those are follows from the bots alone.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 422 `unknown_version`; 409 while another migration is running
 */
export async function migrateBots(
  c: AppContext,
  body: MigrationBody,
  now: number,
): Promise<MigrationResult> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  await requireVersions(database, body);
  const { toVersionId } = body;
  const migration: Migration = { id: newId(now), toVersionId, requestId: c.var.requestId };
  await beginMigration(c, database, migration, body, now);
  try {
    return await moveFleet(database, migration, body.fromVersionId ?? null);
  } finally {
    await releaseLock(database, migration);
  }
}

async function requireVersions(database: Database, body: MigrationBody): Promise<void> {
  const to = await findVersion(database, body.toVersionId);
  if (to?.status !== "Active") throw toUnknownVersionError("toVersionId", body.toVersionId);
  const from = body.fromVersionId;
  if (from !== undefined && !(await findVersion(database, from)))
    throw toUnknownVersionError("fromVersionId", from);
}

/**
 * Takes the lock and records the request and its caller. The lease is the request's own deadline, since
 * nothing is sent to the database after it. A batch still in flight then aborts when another migration
 * has the lock.
 */
async function beginMigration(
  c: AppContext,
  database: Database,
  migration: Migration,
  body: MigrationBody,
  now: number,
): Promise<void> {
  const { toVersionId, fromVersionId = null, reason } = body;
  const detail = { migrationId: migration.id, fromVersionId, reason };
  const entry = { action: "worker-bot.migrate", target: toVersionId, detail, now } as const;
  await commitWithAudit(c, database, entry, [
    statement(
      `INSERT INTO worker_bot_lock (name, migration_id, lease_until) VALUES ('migration', ?, ?)
       ON CONFLICT (name) DO UPDATE SET lease_until = excluded.lease_until,
         migration_id = iif(worker_bot_lock.lease_until > ?, NULL, excluded.migration_id)`,
      migration.id,
      c.var.deadline,
      now,
    ),
    database.orm
      .insert(workerBotMigration)
      .values({
        ...migration,
        fromVersionId,
        reason,
        requestedById: c.var.caller.id,
        createdAt: now,
      })
      .toSQL(),
  ]).catch(onViolation("worker_bot_lock.migration_id", createMigrationRunningError));
}

function createMigrationRunningError(): ApiError {
  const message =
    "Another migration is running. Start this migration again when the other one has ended.";
  return new ApiError(409, message, { retryAfter: 5 });
}

async function moveFleet(
  database: Database,
  migration: Migration,
  fromVersionId: string | null,
): Promise<MigrationResult> {
  const { toMove, alreadyOnVersion, ids } = await readFleet(database, migration, fromVersionId);
  const failures: FailedMove[] = [];
  for (let first = 0; first < ids.length; first += MAX_BOTS_PER_BATCH)
    failures.push(
      ...(await moveBots(database, migration, ids.slice(first, first + MAX_BOTS_PER_BATCH), first)),
    );
  return {
    total: toMove + alreadyOnVersion,
    moved: ids.length - failures.length,
    alreadyOnVersion,
    failed: failures.length,
    failures: failures.slice(0, MAX_LISTED_FAILURES),
    remaining: toMove - ids.length,
  };
}

/** The matching bots, counted and listed as of one moment. */
async function readFleet(
  database: Database,
  { toVersionId }: Migration,
  fromVersionId: string | null,
): Promise<{ toMove: number; alreadyOnVersion: number; ids: string[] }> {
  const matching = "status = 'Active' AND (?1 IS NULL OR version_id = ?1)";
  const [counted, named] = await database.batch([
    statement(
      `SELECT count(*) FILTER (WHERE version_id <> ?2) AS toMove,
         count(*) FILTER (WHERE version_id = ?2) AS alreadyOnVersion
       FROM worker_bot WHERE ${matching}`,
      fromVersionId,
      toVersionId,
    ),
    statement(
      `SELECT id FROM worker_bot WHERE ${matching} AND version_id <> ?2
       ORDER BY id LIMIT ${MAX_BOTS_PER_CALL}`,
      fromVersionId,
      toVersionId,
    ),
  ]);
  const [counts] = (counted?.results ?? []) as { toMove: number; alreadyOnVersion: number }[];
  if (!counts || !named) throw new Error("a batch of two reads has answered less");
  return { ...counts, ids: (named.results as { id: string }[]).map(({ id }) => id) };
}

/** A lock that cannot be released expires with its lease. */
async function releaseLock(database: Database, migration: Migration): Promise<void> {
  try {
    await database.batch([
      statement("UPDATE worker_bot_lock SET lease_until = 0 WHERE migration_id = ?", migration.id),
    ]);
  } catch (error) {
    const { requestId } = migration;
    log("warn", "worker_bots.lock_not_released", { requestId, error: String(error) });
  }
}

/** In the statement's text and not bound, so that the index of failures can be used. */
const OUTCOME_CONDITIONS = {
  Moved: sql`${workerBotMove.outcome} = 'Moved'`,
  Failed: sql`${workerBotMove.outcome} = 'Failed'`,
};

/** One page of the migrations' audit rows, newest first, and one more. */
export async function listMoves(
  c: AppContext,
  query: z.output<typeof moveQuery>,
): Promise<MoveRecord[]> {
  const rows = await openDb(c.env, undefined, { deadline: c.var.deadline })
    .orm.select({ move: workerBotMove, migration: workerBotMigration })
    .from(workerBotMove)
    .innerJoin(workerBotMigration, eq(workerBotMigration.id, workerBotMove.migrationId))
    .where(
      and(
        query.cursorId === undefined ? undefined : lt(workerBotMove.id, query.cursorId),
        query.workerBotId === undefined
          ? undefined
          : eq(workerBotMove.workerBotId, query.workerBotId),
        query.outcome && OUTCOME_CONDITIONS[query.outcome],
      ),
    )
    .orderBy(desc(workerBotMove.id))
    .limit(query.limit + 1);
  return rows.map(({ move, migration }) => ({
    id: move.id,
    workerBotId: move.workerBotId,
    fromVersionId: move.fromVersionId,
    toVersionId: migration.toVersionId,
    reason: migration.reason,
    outcome: move.outcome,
    message: move.message,
    requestedById: migration.requestedById,
    requestId: migration.requestId,
    createdAt: toIsoTime(move.createdAt),
  }));
}
