import {
  type Database,
  DatabaseUnavailableError,
  type Statement,
  statement,
  violates,
} from "../db/client.ts";
import { ApiError } from "../http/errors.ts";
import { log } from "../log.ts";
import { toUnknownVersionError } from "./versions.ts";

/** A run of the migration. */
export interface Migration {
  id: string;
  toVersionId: string;
  requestId: string;
}

export interface FailedMove {
  workerBotId: string;
  message: string;
}

const ARCHIVED_MESSAGE = "The worker bot was archived during the migration";
const REFUSED_MESSAGE = "The database refused the move";

/**
 * Moves bots in one batch with their audit rows. When the database refuses the batch, its halves
 * are tried; a single refused bot is one that cannot be moved.
 *
 * @param first - index of the first of these bots in the migration, from 0
 * @returns the bots that were not moved; an audit row says so of each
 * @throws ApiError 409 when another migration has taken the lock, 422 when the version is gone
 */
export async function moveBots(
  database: Database,
  migration: Migration,
  ids: readonly string[],
  first: number,
): Promise<FailedMove[]> {
  try {
    return await moveBatch(database, migration, ids, first);
  } catch (error) {
    if (error instanceof ApiError || error instanceof DatabaseUnavailableError) throw error;
    const [id] = ids;
    if (id !== undefined && ids.length === 1)
      return recordRefusal(database, migration, id, first, error);
    const half = Math.ceil(ids.length / 2);
    return [
      ...(await moveBots(database, migration, ids.slice(0, half), first)),
      ...(await moveBots(database, migration, ids.slice(half), first + half)),
    ];
  }
}

async function moveBatch(
  database: Database,
  migration: Migration,
  ids: readonly string[],
  first: number,
): Promise<FailedMove[]> {
  const bots = JSON.stringify(ids);
  const now = Date.now();
  return commitMoves(database, migration, { first, count: ids.length }, [
    statement(
      `INSERT INTO worker_bot_move
         (id, migration_id, worker_bot_id, from_version_id, outcome, message, created_at)
       SELECT ?1 || printf('%05d', ?2 + key), ?1, bot.id, bot.version_id,
         iif(bot.status = 'Active', 'Moved', 'Failed'), iif(bot.status = 'Active', NULL, ?3), ?4
       FROM json_each(?5) JOIN worker_bot AS bot ON bot.id = value`,
      migration.id,
      first,
      ARCHIVED_MESSAGE,
      now,
      bots,
    ),
    statement(
      `UPDATE worker_bot SET updated_at = ?1, version_id =
         (SELECT id FROM worker_bot_version WHERE id = ?2 AND status = 'Active')
       WHERE status = 'Active' AND id IN (SELECT value FROM json_each(?3))`,
      now,
      migration.toVersionId,
      bots,
    ),
  ]);
}

/** Writes the audit row of a single refused bot. */
async function recordRefusal(
  database: Database,
  migration: Migration,
  workerBotId: string,
  place: number,
  reason: unknown,
): Promise<FailedMove[]> {
  const { requestId } = migration;
  log("error", "worker_bots.move_refused", { requestId, workerBotId, error: String(reason) });
  return commitMoves(database, migration, { first: place, count: 1 }, [
    statement(
      `INSERT INTO worker_bot_move
         (id, migration_id, worker_bot_id, from_version_id, outcome, message, created_at)
       SELECT ?, ?, id, version_id, 'Failed', ?, ? FROM worker_bot WHERE id = ?`,
      toMoveId(migration, place),
      migration.id,
      REFUSED_MESSAGE,
      Date.now(),
      workerBotId,
    ),
  ]);
}

/**
 * Commits a batch that writes the audit rows of some places, whose ids are its operation key. The rows
 * belong to this migration, made by one request. If they already exist, this batch was sent twice, or a
 * copy of a larger batch arrived late. The existing rows then give the outcomes.
 *
 * @returns the bots in those places that were not moved
 * @throws ApiError 409 when another migration has taken the lock, 422 when the version is gone
 */
async function commitMoves(
  database: Database,
  migration: Migration,
  { first, count }: { first: number; count: number },
  statements: Statement[],
): Promise<FailedMove[]> {
  const failed = statement(
    `SELECT worker_bot_id AS workerBotId, message FROM worker_bot_move
     WHERE id BETWEEN ? AND ? AND outcome = 'Failed' ORDER BY id`,
    toMoveId(migration, first),
    toMoveId(migration, first + count - 1),
  );
  try {
    const results = await database.batch([requireLock(migration), ...statements, failed]);
    return results.at(-1)?.results as FailedMove[];
  } catch (error) {
    if (violates(error, "worker_bot_move.id"))
      return database.all<FailedMove>(failed.sql, ...failed.params);
    if (violates(error, "worker_bot_lock.migration_id"))
      throw new ApiError(
        409,
        "Another migration has begun. Start this migration again when the other one has ended.",
      );
    if (violates(error, "worker_bot.version_id"))
      throw toUnknownVersionError("toVersionId", migration.toVersionId);
    throw error;
  }
}

/** Aborts the batch when another migration holds the lock. */
function requireLock(migration: Migration): Statement {
  return statement(
    "UPDATE worker_bot_lock SET migration_id = iif(migration_id = ?, migration_id, NULL)",
    migration.id,
  );
}

function toMoveId(migration: Migration, place: number): string {
  return `${migration.id}${String(place).padStart(5, "0")}`;
}
