import { type Database, type Statement, statement, violates } from "../db/client.ts";
import type { SqlExpression } from "../db/clock.ts";
import type { Caller } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";

/** The cost of each metered operation for a key with `usageLimited`, in credits. */
export const CREDIT_COSTS = {
  payment: 1,
  purchase: 1,
  "purchase-verify": 1,
  "registry-diff": 1,
  "payment-information": 1,
  "registry-wallet": 1,
  "inbox-registration-refresh": 1,
  "x402-settle": 1,
  "invoice-monthly": 1,
} as const;

export type MeteredOperation = keyof typeof CREDIT_COSTS;

/**
 * Charges a metered call, for the batch (on the primary) of its query or of the row it creates.
 * Beyond the key's limit the batch aborts: see `throwIfOutOfCredits`.
 *
 * @param onlyIf - an SQL condition, such as that a record exists; otherwise nothing is charged
 * @returns no statement for a key without a limit
 */
export function chargeOperation(
  caller: Caller,
  operation: MeteredOperation,
  onlyIf: SqlExpression = { sql: "TRUE", params: [] },
): Statement[] {
  if (!caller.isUsageLimited) return [];
  return [
    statement(
      `UPDATE api_key SET accumulated_usage_credits = accumulated_usage_credits + ?
       WHERE id = ? AND usage_limited = 1 AND (${onlyIf.sql})`,
      CREDIT_COSTS[operation],
      caller.id,
      ...onlyIf.params,
    ),
  ];
}

/**
 * Refunds a charge, for the batch that records the failure. Put the refund before the statement
 * that clears the charge flag.
 *
 * @param onlyIf - an SQL condition that is true once, such as the row's charge flag
 */
export function refundOperation(
  caller: Caller,
  operation: MeteredOperation,
  onlyIf: SqlExpression,
): Statement[] {
  return caller.isUsageLimited ? [refundCredits(caller.id, CREDIT_COSTS[operation], onlyIf)] : [];
}

/** Refunds credits to a key that was charged earlier. */
export function refundCredits(keyId: string, credits: number, onlyIf: SqlExpression): Statement {
  return statement(
    `UPDATE api_key SET accumulated_usage_credits = max(accumulated_usage_credits - ?, 0)
     WHERE id = ? AND (${onlyIf.sql})`,
    credits,
    keyId,
    ...onlyIf.params,
  );
}

/**
 * Checks that a key can pay for a metered call, before anything is done for it. Charges nothing:
 * concurrent calls may all pass, and `chargeOperation` decides.
 *
 * @throws ApiError 402
 */
export async function requireCredits(
  core: Database,
  caller: Caller,
  operation: MeteredOperation,
): Promise<void> {
  if (!caller.isUsageLimited) return;
  const short = await core.all(
    `SELECT 1 FROM api_key
     WHERE id = ? AND usage_limited = 1 AND accumulated_usage_credits + ? > max_usage_credits`,
    caller.id,
    CREDIT_COSTS[operation],
  );
  if (short.length > 0) throw createOutOfCreditsError();
}

/** @throws ApiError 402 when its charge aborted a batch, else the error itself */
export function throwIfOutOfCredits(error: unknown): never {
  throw isOutOfCredits(error) ? createOutOfCreditsError() : error;
}

/** Whether a key has too few credits: `requireCredits` says so, or a charge aborted its batch. */
export function isOutOfCredits(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === "out_of_credits";
  const text = error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : "";
  return violates(error, "CHECK") && text.includes("api_key_credits");
}

function createOutOfCreditsError(): ApiError {
  return new ApiError("out_of_credits", "The API key has no usage credits left");
}
