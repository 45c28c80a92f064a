import { and, desc, eq, gte, inArray, lt, sql } from "drizzle-orm";
import type * as z from "zod";
import { openDb } from "../../db/client.ts";
import { firstIdAt } from "../../db/id.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import type { attemptRecord } from "../model/schemas.ts";
import {
  type ATTEMPT_DIRECTIONS,
  type ATTEMPT_STATUSES,
  x402Attempt,
  x402Settlement,
} from "../model/tables.ts";
import { ATTEMPT_JSON_SQL, SETTLEMENT_JOIN_CONDITION } from "./attempt-json.ts";

export interface AttemptFilter {
  take: number;
  cursorId?: string | undefined;
  status?: (typeof ATTEMPT_STATUSES)[number] | undefined;
  direction?: (typeof ATTEMPT_DIRECTIONS)[number] | undefined;
  caip2Network?: string | undefined;
  paymentPayloadHash?: string | undefined;
  /** Epoch milliseconds, the first included and the last not. */
  createdFrom?: number | undefined;
  createdTo?: number | undefined;
}

/** Attempts as the interface shows them, newest first: the caller's own, all for an Admin. */
export async function listAttempts(c: AppContext, filter: AttemptFilter) {
  const { caller, deadline } = c.var;
  const core = openDb(c.env, undefined, { deadline });
  const rows = await core.orm
    .select({ record: sql.raw(ATTEMPT_JSON_SQL).mapWith(parseRecord) })
    .from(x402Attempt)
    .leftJoin(x402Settlement, sql.raw(SETTLEMENT_JOIN_CONDITION))
    .where(
      and(
        caller.permission === "Admin" ? undefined : eq(x402Attempt.apiKeyId, caller.id),
        caller.networkLimit === null
          ? undefined
          : inArray(x402Attempt.caip2Id, [...caller.networkLimit]),
        filter.cursorId === undefined ? undefined : lt(x402Attempt.id, filter.cursorId),
        // Ids begin with the time at which they were made.
        filter.createdFrom === undefined
          ? undefined
          : gte(x402Attempt.id, firstIdAt(filter.createdFrom)),
        filter.createdTo === undefined
          ? undefined
          : lt(x402Attempt.id, firstIdAt(filter.createdTo)),
        filter.status && eq(x402Attempt.status, filter.status),
        filter.direction && eq(x402Attempt.direction, filter.direction),
        filter.caip2Network === undefined
          ? undefined
          : eq(x402Attempt.caip2Id, filter.caip2Network),
        filter.paymentPayloadHash === undefined
          ? undefined
          : eq(x402Attempt.paymentPayloadHash, filter.paymentPayloadHash),
      ),
    )
    .orderBy(desc(x402Attempt.id))
    .limit(filter.take);
  return rows.map(({ record }) => record);
}

const parseRecord = (text: string) => JSON.parse(text) as z.infer<typeof attemptRecord>;

/**
 * Settlements that this service made for the caller, newest attempt first; all of them for an Admin.
 * Those that sellers made of outbound payments are shown with their attempts only.
 */
export async function listSettlements(
  c: AppContext,
  query: { limit: number; cursorId?: string | undefined },
) {
  const { caller, deadline } = c.var;
  const core = openDb(c.env, undefined, { deadline });
  const rows = await core.orm
    .select({
      settlement: x402Settlement,
      caip2Network: x402Attempt.caip2Id,
      paymentPayloadHash: x402Attempt.paymentPayloadHash,
    })
    .from(x402Settlement)
    .innerJoin(x402Attempt, eq(x402Attempt.id, x402Settlement.attemptId))
    .where(
      and(
        eq(x402Attempt.direction, "InboundSettle"),
        caller.permission === "Admin" ? undefined : eq(x402Settlement.apiKeyId, caller.id),
        caller.networkLimit === null
          ? undefined
          : inArray(x402Attempt.caip2Id, [...caller.networkLimit]),
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
