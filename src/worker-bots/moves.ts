import { and, desc, eq, lt, sql } from "drizzle-orm";
import type * as z from "zod";
import { db } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { isoTime } from "../http/envelope.ts";
import type { MoveRecord, moveQuery } from "./schemas.ts";
import { workerBotMigration, workerBotMove } from "./tables.ts";

/** In the statement's text and not bound, so that the index of failures can be used. */
const OUTCOME = {
  Moved: sql`${workerBotMove.outcome} = 'Moved'`,
  Failed: sql`${workerBotMove.outcome} = 'Failed'`,
};

/** One page of the migrations' audit rows, newest first, and one more. */
export async function listMoves(
  c: AppContext,
  query: z.output<typeof moveQuery>,
): Promise<MoveRecord[]> {
  const rows = await db(c.env, undefined, { deadline: c.var.deadline })
    .orm.select({ move: workerBotMove, migration: workerBotMigration })
    .from(workerBotMove)
    .innerJoin(workerBotMigration, eq(workerBotMigration.id, workerBotMove.migrationId))
    .where(
      and(
        query.cursorId === undefined ? undefined : lt(workerBotMove.id, query.cursorId),
        query.workerBotId === undefined
          ? undefined
          : eq(workerBotMove.workerBotId, query.workerBotId),
        query.outcome && OUTCOME[query.outcome],
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
    createdAt: isoTime(move.createdAt),
  }));
}
