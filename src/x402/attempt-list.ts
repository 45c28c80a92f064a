import { and, desc, eq, inArray, lt } from "drizzle-orm";
import { db } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { isoTime } from "../http/envelope.ts";
import { settlementsOf } from "./attempts.ts";
import { type ATTEMPT_DIRECTIONS, type ATTEMPT_STATUSES, x402Attempt } from "./tables.ts";

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

/** Settlements of the caller's attempts, newest attempt first; all of them for an Admin. */
export async function listSettlements(
  c: AppContext,
  query: { limit: number; cursorId?: string | undefined },
) {
  const { caller, deadline } = c.var;
  const core = db(c.env, undefined, { deadline });
  const rows = await core.all<{
    id: string;
    attemptId: string;
    success: number;
    txHash: string;
    amount: string;
    payer: string;
    createdAt: number;
    caip2Network: string;
    paymentPayloadHash: string;
  }>(
    `SELECT settlement.id, attempt_id AS attemptId, success, tx_hash AS txHash,
       settlement.amount, settlement.payer, settlement.created_at AS createdAt,
       caip2_id AS caip2Network, payment_payload_hash AS paymentPayloadHash
     FROM x402_settlement AS settlement
       JOIN x402_payment_attempt AS attempt ON attempt.id = attempt_id
     WHERE settlement.id < ?1 AND (?2 IS NULL OR api_key_id = ?2)
     ORDER BY settlement.id DESC LIMIT ?3`,
    query.cursorId ?? "~",
    caller.permission === "Admin" ? null : caller.id,
    query.limit,
  );
  return rows.map((row) => ({
    ...row,
    success: row.success === 1,
    createdAt: isoTime(row.createdAt),
  }));
}
