import { and, count, desc, eq, getTableColumns, gte, lt, ne, type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import { openArchives } from "../../archive/open-archives.ts";
import { overlapsIds, readSnapshotPage } from "../../archive/read-snapshot.ts";
import { type Database, openDb, type Statement, statement } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";
import { firstIdAt } from "../../db/id.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { toAccessCondition } from "../model/access-condition.ts";
import type { attemptRecord } from "../model/schemas.ts";
import { OPEN_SETTLEMENT_SQL, x402Attempt, x402Settlement } from "../model/tables.ts";
import {
  ATTEMPT_JSON_SQL,
  LISTED_SETTLEMENT_JSON_SQL,
  SETTLEMENT_JOIN_CONDITION,
  SETTLEMENT_JSON_SQL,
} from "./attempt-json.ts";
import { readAttempts } from "./read-attempts.ts";
import type { AttemptFilter, SettlementFilter, settlement } from "./schemas.ts";

/** No payment may take longer (`timeoutSeconds`), so the chain decides an authorization before. */
const STUCK_AFTER_MS = 24 * 60 * 60_000;

/** Attempts as the interface shows them, newest first: the caller's own, all for an Admin. */
export async function listAttempts(
  c: AppContext,
  filter: AttemptFilter & { take: number; cursorId?: string | undefined },
) {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const rows = await readSnapshotPage<{ id: string; replayOf: string | null; record: string }>(
    core,
    openArchives(c.env),
    {
      kind: "x402",
      overlap: overlapsIds({ before: filter.cursorId, from: filter.createdFrom }),
      limit: filter.take,
      select: (condition) =>
        core.orm
          .select({
            id: x402Attempt.id,
            replayOf: sql`${x402Attempt.replayOf}`.as("replayOf"),
            record: sql.raw(ATTEMPT_JSON_SQL).as("record"),
          })
          .from(x402Attempt)
          .leftJoin(x402Settlement, sql.raw(SETTLEMENT_JOIN_CONDITION))
          .where(
            and(
              sql.raw(condition),
              toAttemptCondition(c, filter),
              filter.cursorId === undefined ? undefined : lt(x402Attempt.id, filter.cursorId),
            ),
          )
          .orderBy(desc(x402Attempt.id))
          .limit(filter.take)
          .toSQL(),
    },
  );
  const records = rows.map(({ record, replayOf }) => ({ replayOf, ...parseRecord(record) }));
  return addReplayedSettlements(c, core, records);
}

type AttemptRecord = z.infer<typeof attemptRecord>;

/** A replay and its original may be in different databases. */
async function addReplayedSettlements(
  c: AppContext,
  core: Database,
  attempts: readonly (AttemptRecord & { replayOf: string | null })[],
): Promise<AttemptRecord[]> {
  const originals = attempts.flatMap(({ replayOf, Settlement }) =>
    replayOf !== null && Settlement === null ? replayOf : [],
  );
  const settlements =
    originals.length === 0
      ? []
      : await readAttempts<{ id: string; settlement: string }>(c.env, core, {
          select: (condition) =>
            statement(
              `SELECT attempt_id AS id, ${SETTLEMENT_JSON_SQL} AS settlement FROM x402_settlement
                 JOIN x402_payment_attempt AS attempt ON attempt.id = attempt_id
               WHERE ${condition} AND attempt_id IN (SELECT value FROM json_each(?))`,
              JSON.stringify(originals),
            ),
        });
  const found = new Map(settlements.map(({ id, settlement }) => [id, JSON.parse(settlement)]));
  return attempts.map(({ replayOf, ...attempt }) => ({
    ...attempt,
    Settlement: attempt.Settlement ?? found.get(replayOf ?? "") ?? null,
  }));
}

/** An attempt's row. */
export type StoredAttempt = typeof x402Attempt.$inferSelect;

/**
 * One attempt, as it is stored and as the interface shows it. An archive has none that is open.
 *
 * @throws ApiError 404
 */
export async function findAttempt(c: AppContext, id: string) {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const [found] = await core.orm
    .select({
      stored: getTableColumns(x402Attempt),
      record: sql.raw(ATTEMPT_JSON_SQL).mapWith(parseRecord),
    })
    .from(x402Attempt)
    .leftJoin(x402Settlement, sql.raw(SETTLEMENT_JOIN_CONDITION))
    .where(and(eq(x402Attempt.id, id), toAttemptCondition(c, {})));
  if (found) return found;
  const [archived] = await readAttempts<{ record: string }>(c.env, core, {
    overlap: { sql: "? BETWEEN least_id AND greatest_id", params: [id] },
    select: (condition) =>
      core.orm
        .select({ record: sql.raw(ATTEMPT_JSON_SQL).as("record") })
        .from(x402Attempt)
        .leftJoin(x402Settlement, sql.raw(SETTLEMENT_JOIN_CONDITION))
        .where(and(sql.raw(condition), eq(x402Attempt.id, id), toAttemptCondition(c, {})))
        .toSQL(),
  });
  if (!archived) throw new ApiError(404, "attemptId: there is no such attempt");
  return { stored: null, record: parseRecord(archived.record) };
}

/** How many they are. */
export function countAttempts(c: AppContext, filter: AttemptFilter): Promise<number> {
  return countRows(c, overlapsIds({ from: filter.createdFrom }), (core, condition) =>
    core.orm
      .select({ total: count().as("total") })
      .from(x402Attempt)
      .where(and(condition, toAttemptCondition(c, filter)))
      .toSQL(),
  );
}

async function countRows(
  c: AppContext,
  overlap: SqlExpression,
  select: (core: Database, condition: SQL) => Statement,
): Promise<number> {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const totals = await readAttempts<{ total: number }>(c.env, core, {
    overlap,
    select: (condition) => select(core, sql.raw(condition)),
  });
  return totals.reduce((all, { total }) => all + total, 0);
}

function toAttemptCondition({ var: { caller } }: AppContext, filter: AttemptFilter) {
  const { direction, status, updatedAt } = x402Attempt;
  return and(
    toAccessCondition(caller, x402Attempt.apiKeyId, x402Attempt.caip2Id),
    // Ids begin with the time at which they were made.
    filter.createdFrom === undefined
      ? undefined
      : gte(x402Attempt.id, firstIdAt(filter.createdFrom)),
    filter.createdTo === undefined ? undefined : lt(x402Attempt.id, firstIdAt(filter.createdTo)),
    filter.isStuck
      ? and(sql.raw(OPEN_SETTLEMENT_SQL), lt(updatedAt, Date.now() - STUCK_AFTER_MS))
      : filter.status && eq(status, filter.status),
    filter.direction && eq(direction, filter.direction),
    filter.direction || !filter.side
      ? undefined
      : filter.side === "buy"
        ? eq(direction, "OutboundPayment")
        : ne(direction, "OutboundPayment"),
    filter.caip2Network === undefined ? undefined : eq(x402Attempt.caip2Id, filter.caip2Network),
    filter.paymentPayloadHash === undefined
      ? undefined
      : eq(x402Attempt.paymentPayloadHash, filter.paymentPayloadHash),
  );
}

const parseRecord = (text: string) => JSON.parse(text) as AttemptRecord;

/**
 * Settlements that this service made for the caller, newest attempt first; all of them for an Admin.
 * Those that sellers made of outbound payments are shown with their attempts only.
 */
export async function listSettlements(
  c: AppContext,
  query: SettlementFilter & { limit: number; cursorId?: string | undefined },
) {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const rows = await readSnapshotPage<{ id: string; record: string }>(
    core,
    openArchives(c.env),
    {
      kind: "x402",
      limit: query.limit,
      select: (condition) =>
        core.orm
          .select({
            id: x402Settlement.id,
            record: sql.raw(LISTED_SETTLEMENT_JSON_SQL).as("record"),
          })
          .from(x402Settlement)
          .innerJoin(x402Attempt, eq(x402Attempt.id, x402Settlement.attemptId))
          .where(
            and(
              sql.raw(condition),
              toSettlementCondition(c, query),
              query.cursorId === undefined ? undefined : lt(x402Settlement.id, query.cursorId),
            ),
          )
          .orderBy(desc(x402Settlement.id))
          .limit(query.limit)
          .toSQL(),
    },
    // A settlement is no newer than the last change of its attempt.
    ({ greatestChangedAt }) => firstIdAt((greatestChangedAt ?? 0) + 1),
  );
  return rows.map(({ record }) => JSON.parse(record) as z.infer<typeof settlement>);
}

/** How many they are. */
export function countSettlements(c: AppContext, filter: SettlementFilter): Promise<number> {
  return countRows(c, overlapsIds({}), (core, condition) =>
    core.orm
      .select({ total: count().as("total") })
      .from(x402Settlement)
      .innerJoin(x402Attempt, eq(x402Attempt.id, x402Settlement.attemptId))
      .where(and(condition, toSettlementCondition(c, filter)))
      .toSQL(),
  );
}

function toSettlementCondition(
  { var: { caller } }: AppContext,
  { caip2Network, success }: SettlementFilter,
) {
  return and(
    eq(x402Attempt.direction, "InboundSettle"),
    toAccessCondition(caller, x402Settlement.apiKeyId, x402Attempt.caip2Id),
    caip2Network === undefined ? undefined : eq(x402Attempt.caip2Id, caip2Network),
    success === undefined ? undefined : eq(x402Settlement.success, success),
  );
}
