import { and, count, desc, eq, getTableColumns, gte, inArray, lt, ne, sql } from "drizzle-orm";
import type * as z from "zod";
import { openDb } from "../../db/client.ts";
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
import { ATTEMPT_JSON_SQL, SETTLEMENT_JOIN_CONDITION } from "./attempt-json.ts";

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
  const rows = await core.orm
    .select({ record: sql.raw(ATTEMPT_JSON_SQL).mapWith(parseRecord) })
    .from(x402Attempt)
    .leftJoin(x402Settlement, sql.raw(SETTLEMENT_JOIN_CONDITION))
    .where(
      and(
        toAttemptCondition(c, filter),
        filter.cursorId === undefined ? undefined : lt(x402Attempt.id, filter.cursorId),
      ),
    )
    .orderBy(desc(x402Attempt.id))
    .limit(filter.take);
  return rows.map(({ record }) => record);
}

/** An attempt's row. */
export type StoredAttempt = typeof x402Attempt.$inferSelect;

/** One attempt, as it is stored and as the interface shows it. @throws ApiError 404 */
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
  if (!found) throw new ApiError(404, "attemptId: there is no such attempt");
  return found;
}

/** How many they are. */
export function countAttempts(c: AppContext, filter: AttemptFilter): Promise<number> {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  return core.orm.$count(x402Attempt, toAttemptCondition(c, filter));
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

const parseRecord = (text: string) => JSON.parse(text) as z.infer<typeof attemptRecord>;

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
  const rows = await core.orm
    .select({
      settlement: x402Settlement,
      caip2Network: x402Attempt.caip2Id,
      asset: x402Attempt.asset,
      paymentPayloadHash: x402Attempt.paymentPayloadHash,
    })
    .from(x402Settlement)
    .innerJoin(x402Attempt, eq(x402Attempt.id, x402Settlement.attemptId))
    .where(
      and(
        toSettlementCondition(c, query),
        query.cursorId === undefined ? undefined : lt(x402Settlement.id, query.cursorId),
      ),
    )
    .orderBy(desc(x402Settlement.id))
    .limit(query.limit);
  return rows.map(({ settlement: { apiKeyId: _, createdAt, ...settlement }, ...attempt }) => ({
    ...settlement,
    ...attempt,
    createdAt: toIsoTime(createdAt),
  }));
}

/** How many they are. */
export async function countSettlements(c: AppContext, filter: SettlementFilter): Promise<number> {
  const [row] = await openDb(c.env, undefined, { deadline: c.var.deadline })
    .orm.select({ total: count() })
    .from(x402Settlement)
    .innerJoin(x402Attempt, eq(x402Attempt.id, x402Settlement.attemptId))
    .where(toSettlementCondition(c, filter));
  return row?.total ?? 0;
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
