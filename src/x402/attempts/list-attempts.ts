import {
  and,
  count,
  desc,
  eq,
  getTableColumns,
  gte,
  inArray,
  lt,
  ne,
  type SQL,
  sql,
} from "drizzle-orm";
import type * as z from "zod";
import { openArchives } from "../../archive/open-archives.ts";
import { overlapsIds, readSnapshot, readSnapshotPage } from "../../archive/read-snapshot.ts";
import { type Database, openDb, type Statement, statement } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";
import { firstIdAt } from "../../db/id.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import type { attemptRecord } from "../model/schemas.ts";
import {
  type ATTEMPT_DIRECTIONS,
  type ATTEMPT_STATUSES,
  x402Attempt,
  x402Settlement,
} from "../model/tables.ts";
import {
  ATTEMPT_JSON_SQL,
  SETTLEMENT_JOIN_CONDITION,
  SETTLEMENT_JSON_SQL,
} from "./attempt-json.ts";

export interface AttemptFilter {
  status?: (typeof ATTEMPT_STATUSES)[number] | undefined;
  direction?: (typeof ATTEMPT_DIRECTIONS)[number] | undefined;
  /** `buy`: outbound payments. `sell`: the others. A direction overrides it. */
  side?: "buy" | "sell" | undefined;
  /** Whether the attempts are settlements that should have an outcome by now. Overrides the status. */
  isStuck?: boolean | undefined;
  caip2Network?: string | undefined;
  paymentPayloadHash?: string | undefined;
  /** Epoch milliseconds, the first included and the last not. */
  createdFrom?: number | undefined;
  createdTo?: number | undefined;
}

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
  const parts =
    originals.length === 0
      ? []
      : await readSnapshot<{ id: string; settlement: string }>(core, openArchives(c.env), {
          kind: "x402",
          select: (condition) =>
            statement(
              `SELECT attempt_id AS id, ${SETTLEMENT_JSON_SQL} AS settlement FROM x402_settlement
                 JOIN x402_payment_attempt AS attempt ON attempt.id = attempt_id
               WHERE ${condition} AND attempt_id IN (SELECT value FROM json_each(?))`,
              JSON.stringify(originals),
            ),
        });
  const found = new Map(parts.flat().map(({ id, settlement }) => [id, JSON.parse(settlement)]));
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
  const parts = await readSnapshot<{ record: string }>(core, openArchives(c.env), {
    kind: "x402",
    overlap: { sql: "? BETWEEN least_id AND greatest_id", params: [id] },
    select: (condition) =>
      core.orm
        .select({ record: sql.raw(ATTEMPT_JSON_SQL).as("record") })
        .from(x402Attempt)
        .leftJoin(x402Settlement, sql.raw(SETTLEMENT_JOIN_CONDITION))
        .where(and(sql.raw(condition), eq(x402Attempt.id, id), toAttemptCondition(c, {})))
        .toSQL(),
  });
  const [archived] = parts.flat();
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
  const parts = await readSnapshot<{ total: number }>(core, openArchives(c.env), {
    kind: "x402",
    overlap,
    select: (condition) => select(core, sql.raw(condition)),
  });
  return parts.flat().reduce((all, { total }) => all + total, 0);
}

function toAttemptCondition({ var: { caller } }: AppContext, filter: AttemptFilter) {
  const { direction, status, updatedAt } = x402Attempt;
  const isSettlement = sql`${direction} = 'InboundSettle' AND ${status} = 'Verified'`;
  return and(
    caller.permission === "Admin" ? undefined : eq(x402Attempt.apiKeyId, caller.id),
    caller.networkLimit === null
      ? undefined
      : inArray(x402Attempt.caip2Id, [...caller.networkLimit]),
    // Ids begin with the time at which they were made.
    filter.createdFrom === undefined
      ? undefined
      : gte(x402Attempt.id, firstIdAt(filter.createdFrom)),
    filter.createdTo === undefined ? undefined : lt(x402Attempt.id, firstIdAt(filter.createdTo)),
    filter.isStuck
      ? and(isSettlement, lt(updatedAt, Date.now() - STUCK_AFTER_MS))
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

export interface SettlementFilter {
  caip2Network?: string | undefined;
  success?: boolean | undefined;
}

/**
 * Settlements that this service made for the caller, newest attempt first; all of them for an Admin.
 * Those that sellers made of outbound payments are shown with their attempts only.
 */
export async function listSettlements(
  c: AppContext,
  query: SettlementFilter & { limit: number; cursorId?: string | undefined },
) {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const rows = await readSnapshotPage<SettlementRow>(
    core,
    openArchives(c.env),
    {
      kind: "x402",
      limit: query.limit,
      select: (condition) =>
        core.orm
          .select({
            id: x402Settlement.id,
            attemptId: sql`${x402Settlement.attemptId}`.as("attemptId"),
            success: x402Settlement.success,
            txHash: sql`${x402Settlement.txHash}`.as("txHash"),
            amount: x402Settlement.amount,
            payer: x402Settlement.payer,
            createdAt: sql`${x402Settlement.createdAt}`.as("createdAt"),
            caip2Network: sql`${x402Attempt.caip2Id}`.as("caip2Network"),
            asset: x402Attempt.asset,
            paymentPayloadHash: sql`${x402Attempt.paymentPayloadHash}`.as("paymentPayloadHash"),
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
  return rows.map(({ success, createdAt, ...row }) => ({
    ...row,
    success: success === 1,
    createdAt: toIsoTime(createdAt),
  }));
}

interface SettlementRow extends Omit<typeof x402Settlement.$inferSelect, "apiKeyId" | "success"> {
  success: number;
  caip2Network: string;
  asset: string;
  paymentPayloadHash: string;
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
    caller.permission === "Admin" ? undefined : eq(x402Settlement.apiKeyId, caller.id),
    caller.networkLimit === null
      ? undefined
      : inArray(x402Attempt.caip2Id, [...caller.networkLimit]),
    caip2Network === undefined ? undefined : eq(x402Attempt.caip2Id, caip2Network),
    success === undefined ? undefined : eq(x402Settlement.success, success),
  );
}
