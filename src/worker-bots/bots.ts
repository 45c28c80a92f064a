import { and, desc, eq, lt, sql } from "drizzle-orm";
import type * as z from "zod";
import { type Database, onViolation, openDb, statement } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { toIsoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { runIdempotently } from "../http/idempotency.ts";
import type { BotRecord, botBody, botQuery } from "./schemas.ts";
import { workerBot } from "./tables.ts";
import { toUnknownVersionError } from "./versions.ts";

type BotRow = typeof workerBot.$inferSelect;

/**
 * @param now - epoch milliseconds
 * @throws ApiError 422 `unknown_version`
 */
export async function createBot(
  c: AppContext,
  body: z.output<typeof botBody>,
  now: number,
): Promise<BotRecord> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return runIdempotently(c, database, now, async (remember) => {
    const row: BotRow = {
      id: newId(now),
      ...body,
      status: "Active",
      createdById: c.var.caller.id,
      createdAt: now,
      updatedAt: now,
    };
    const record = toBotRecord(row);
    const entry = { action: "worker-bot.create", target: row.id, now } as const;
    const detail = { versionId: row.versionId };
    // A version that is archived, even concurrently, is NULL and aborts the batch.
    const versionId = sql<string>`(SELECT id FROM worker_bot_version
      WHERE id = ${row.versionId} AND status = 'Active')`;
    await commitWithAudit(c, database, { ...entry, detail }, [
      ...(await remember(record)),
      database.orm
        .insert(workerBot)
        .values({ ...row, versionId })
        .toSQL(),
    ]).catch(
      onViolation("worker_bot.version_id", () => toUnknownVersionError("versionId", row.versionId)),
    );
    return record;
  });
}

/** One page of bots, newest first, and one more; includes archived ones. */
export async function listBots(
  c: AppContext,
  query: z.output<typeof botQuery>,
): Promise<BotRecord[]> {
  const rows = await openDb(c.env, undefined, { deadline: c.var.deadline })
    .orm.select()
    .from(workerBot)
    .where(
      and(
        query.cursorId === undefined ? undefined : lt(workerBot.id, query.cursorId),
        query.versionId === undefined ? undefined : eq(workerBot.versionId, query.versionId),
        query.status === undefined ? undefined : eq(workerBot.status, query.status),
      ),
    )
    .orderBy(desc(workerBot.id))
    .limit(query.limit + 1);
  return rows.map(toBotRecord);
}

/**
 * Takes a bot out of the fleet: migrations no longer move it.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404; 409 when it is already archived
 */
export async function archiveBot(c: AppContext, id: string, now: number): Promise<BotRecord> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  await requireBot(database, id);
  await commitWithAudit(c, database, { action: "worker-bot.archive", target: id, now }, [
    statement(
      `UPDATE worker_bot SET status = iif(status = 'Active', 'Archived', NULL), updated_at = ?
       WHERE id = ?`,
      now,
      id,
    ),
  ]).catch(
    onViolation(
      "worker_bot.status",
      () => new ApiError(409, `id: worker bot ${id} is already archived`),
    ),
  );
  // Read again: a migration may have moved it between the first look and the archiving.
  return toBotRecord(await requireBot(database, id));
}

async function requireBot(database: Database, id: string): Promise<BotRow> {
  const [row] = await database.orm.select().from(workerBot).where(eq(workerBot.id, id));
  if (!row) throw new ApiError(404, `id: there is no worker bot ${id}`);
  return row;
}

function toBotRecord({ createdById: _, ...row }: BotRow): BotRecord {
  return { ...row, createdAt: toIsoTime(row.createdAt), updatedAt: toIsoTime(row.updatedAt) };
}
