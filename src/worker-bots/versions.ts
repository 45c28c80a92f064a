import { and, desc, eq, lt } from "drizzle-orm";
import type * as z from "zod";
import { type Database, onViolation, openDb, statement } from "../db/client.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { toIsoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { runIdempotently } from "../http/idempotency.ts";
import type { VersionRecord, versionBody, versionQuery } from "./schemas.ts";
import { workerBotVersion } from "./tables.ts";

type VersionRow = typeof workerBotVersion.$inferSelect;

/** The error for a version that does not exist or, where bots are to run it, is archived. */
export function toUnknownVersionError(field: string, id: string): ApiError {
  return new ApiError(422, `${field}: there is no version ${id} that bots can run`, {
    kind: "unknown_version",
  });
}

/** @returns null when there is none */
export async function findVersion(database: Database, id: string): Promise<VersionRow | null> {
  const [row] = await database.orm
    .select()
    .from(workerBotVersion)
    .where(eq(workerBotVersion.id, id));
  return row ?? null;
}

/**
 * @param now - epoch milliseconds
 * @throws ApiError 409 when the id is taken
 */
export async function createVersion(
  c: AppContext,
  body: z.output<typeof versionBody>,
  now: number,
): Promise<VersionRecord> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return runIdempotently(c, database, now, async (remember) => {
    const row: VersionRow = {
      ...body,
      status: "Active",
      createdById: c.var.caller.id,
      createdAt: now,
      updatedAt: now,
    };
    const record = toVersionRecord(row);
    const entry = { action: "worker-bot-version.create", target: row.id, now } as const;
    await commitWithAudit(c, database, entry, [
      ...(await remember(record)),
      database.orm.insert(workerBotVersion).values(row).toSQL(),
    ]).catch(
      onViolation(
        "worker_bot_version.id",
        () => new ApiError(409, `id: the version ${row.id} already exists`),
      ),
    );
    return record;
  });
}

/** One page of versions, by id descending, and one more; includes archived ones. */
export async function listVersions(
  c: AppContext,
  query: z.output<typeof versionQuery>,
): Promise<VersionRecord[]> {
  const rows = await openDb(c.env, undefined, { deadline: c.var.deadline })
    .orm.select()
    .from(workerBotVersion)
    .where(
      and(
        query.cursorId === undefined ? undefined : lt(workerBotVersion.id, query.cursorId),
        query.status === undefined ? undefined : eq(workerBotVersion.status, query.status),
      ),
    )
    .orderBy(desc(workerBotVersion.id))
    .limit(query.limit + 1);
  return rows.map(toVersionRecord);
}

/**
 * Takes a version out of use.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404; 409 when it is already archived, or bots run it
 */
export async function archiveVersion(
  c: AppContext,
  id: string,
  now: number,
): Promise<VersionRecord> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const row = await findVersion(database, id);
  if (!row) throw new ApiError(404, `id: there is no version ${id}`);
  await commitWithAudit(c, database, { action: "worker-bot-version.archive", target: id, now }, [
    statement(
      `UPDATE worker_bot_version SET updated_at = ?1, status = iif(status = 'Active' AND NOT EXISTS
         (SELECT 1 FROM worker_bot WHERE version_id = ?2 AND status = 'Active'), 'Archived', NULL)
       WHERE id = ?2`,
      now,
      id,
    ),
  ]).catch(
    onViolation(
      "worker_bot_version.status",
      () => new ApiError(409, `id: version ${id} is already archived, or worker bots run it`),
    ),
  );
  return toVersionRecord({ ...row, status: "Archived", updatedAt: now });
}

function toVersionRecord({ createdById: _, ...row }: VersionRow): VersionRecord {
  return { ...row, createdAt: toIsoTime(row.createdAt), updatedAt: toIsoTime(row.updatedAt) };
}
