import { and, desc, eq, inArray, lt, sql } from "drizzle-orm";
import { type Database, db } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { isoTime } from "../http/envelope.ts";
import {
  type ATTEMPT_DIRECTIONS,
  type ATTEMPT_STATUSES,
  x402Attempt,
  x402Settlement,
} from "./tables.ts";

export interface AttemptFilter {
  take: number;
  cursorId?: string | undefined;
  status?: (typeof ATTEMPT_STATUSES)[number] | undefined;
  direction?: (typeof ATTEMPT_DIRECTIONS)[number] | undefined;
  caip2Network?: string | undefined;
  paymentPayloadHash?: string | undefined;
}

/** Attempts as the interface shows them, newest first: the caller's own, all for an Admin. */
export async function listAttempts(c: AppContext, filter: AttemptFilter) {
  const { caller, deadline } = c.var;
  const core = db(c.env, undefined, { deadline });
  const rows = await core.orm
    .select()
    .from(x402Attempt)
    .where(
      and(
        caller.permission === "Admin" ? undefined : eq(x402Attempt.apiKeyId, caller.id),
        caller.networkLimit === null
          ? undefined
          : inArray(x402Attempt.caip2Id, [...caller.networkLimit]),
        filter.cursorId === undefined ? undefined : lt(x402Attempt.id, filter.cursorId),
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
  const settlements = await settlementsOf(core, rows);
  return rows.map((row) => {
    const settlement = settlements.get(row.id);
    return {
      id: row.id,
      createdAt: isoTime(row.createdAt),
      updatedAt: isoTime(row.updatedAt),
      direction: row.direction,
      status: row.status,
      apiKeyId: row.apiKeyId,
      evmWalletId: row.evmWalletId,
      registryRequestId: row.registryRequestId,
      supportedPaymentSourceId: row.supportedPaymentSourceId,
      caip2Network: row.caip2Id,
      asset: row.asset,
      amount: row.amount,
      payTo: row.payTo,
      payer: row.payer,
      resource: row.resource,
      paymentPayloadHash: row.paymentPayloadHash,
      paymentIdentifier: row.paymentIdentifier,
      errorReason: row.errorReason,
      errorMessage: row.errorMessage,
      Settlement: settlement
        ? {
            id: settlement.id,
            success: settlement.success,
            txHash: settlement.txHash,
            amount: settlement.amount,
            payer: settlement.payer,
            createdAt: isoTime(settlement.createdAt),
          }
        : null,
    };
  });
}

/** The settlement of each attempt, under the id of the attempt; replays show the one they repeat. */
async function settlementsOf(
  core: Database,
  attempts: { id: string; replayOf: string | null }[],
): Promise<Map<string, typeof x402Settlement.$inferSelect>> {
  // One parameter for all of them: D1 takes a hundred at most.
  const ids = attempts.map(({ id, replayOf }) => replayOf ?? id);
  const rows = await core.orm
    .select()
    .from(x402Settlement)
    .where(sql`attempt_id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`);
  const byAttempt = new Map(rows.map((row) => [row.attemptId, row]));
  return new Map(
    attempts.flatMap(({ id, replayOf }) => {
      const row = byAttempt.get(replayOf ?? id);
      return row ? [[id, row] as const] : [];
    }),
  );
}

/** Settlements of the caller's attempts, newest attempt first; all of them for an Admin. */
export async function listSettlements(
  c: AppContext,
  query: { limit: number; cursorId?: string | undefined },
) {
  const { caller, deadline } = c.var;
  const core = db(c.env, undefined, { deadline });
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
    createdAt: isoTime(createdAt),
  }));
}
