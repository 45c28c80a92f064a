import type { Funds, Network } from "../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../db/client.ts";
import type { Caller } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";

/** SQL of the amount of a unit that `api_key` may spend on a network; 0: none. */
const SPENDING_LIMIT_SQL = `coalesce((SELECT CAST(value->>'amount' AS INTEGER) FROM json_each(spending_limits)
  WHERE value->>'network' = ?2 AND value->>'unit' = ?3), 0)`;

/**
 * Charges a price to a key's `spendingLimits`, for the batch (on the primary) of what it pays for. Beyond
 * a limit the whole batch aborts; see `isSpendingExceeded`.
 *
 * @param price - each unit once
 * @returns no statement for an Admin; for a key without such limits, statements that take nothing
 */
export function chargeSpending(
  caller: Caller,
  network: Network,
  price: readonly Funds[],
): Statement[] {
  // Reads the limit from the table, since the cached key may be outdated.
  if (!caller.scope) return [];
  return price.map(({ unit, amount }) =>
    statement(
      `INSERT INTO key_spending (api_key_id, network, unit, spent, spending_limit)
       SELECT id, ?2, ?3, CAST(?4 AS INTEGER), ${SPENDING_LIMIT_SQL} FROM api_key
       WHERE id = ?1 AND spending_limits IS NOT NULL
       ON CONFLICT (api_key_id, network, unit) DO UPDATE SET
         spent = key_spending.spent + excluded.spent, spending_limit = excluded.spending_limit`,
      caller.id,
      network,
      unit,
      String(amount),
    ),
  );
}

/** Refunds a price, for the batch that records once that nothing was paid. */
export function refundSpending(
  keyId: string,
  network: Network,
  price: readonly Funds[],
): Statement[] {
  return price.map(({ unit, amount }) =>
    statement(
      `UPDATE key_spending SET spent = max(spent - CAST(? AS INTEGER), 0)
       WHERE api_key_id = ? AND network = ? AND unit = ?`,
      String(amount),
      keyId,
      network,
      unit,
    ),
  );
}

/**
 * Checks that a key's limits cover a price. Charges nothing: concurrent calls may all pass, and `chargeSpending`
 * decides.
 *
 * @throws ApiError 402
 */
export async function requireSpending(
  core: Database,
  caller: Caller,
  network: Network,
  price: readonly Funds[],
): Promise<void> {
  if (!caller.scope?.isSpendingLimited) return;
  for (const { unit, amount } of price) {
    const short = await core.all(
      `SELECT 1 FROM api_key WHERE id = ?1 AND spending_limits IS NOT NULL
         AND CAST(?4 AS INTEGER) > ${SPENDING_LIMIT_SQL} - coalesce((SELECT spent FROM key_spending
           WHERE api_key_id = ?1 AND network = ?2 AND unit = ?3), 0)`,
      caller.id,
      network,
      unit,
      String(amount),
    );
    if (short.length > 0)
      throw new ApiError(
        "spending_limit_exceeded",
        `The API key's spending limits do not cover ${amount} of ${unit === "" ? "the native coin" : unit}`,
      );
  }
}

/** Reads the amounts that a key has spent, in minor units. */
export async function readSpending(
  core: Database,
  keyId: string,
): Promise<{ network: string; unit: string; spent: bigint }[]> {
  // As text, since a JavaScript number cannot represent every integer of the database.
  const rows = await core.all<{ network: string; unit: string; spent: string }>(
    `SELECT network, unit, CAST(spent AS TEXT) AS spent FROM key_spending WHERE api_key_id = ?`,
    keyId,
  );
  return rows.map((row) => ({ ...row, spent: BigInt(row.spent) }));
}

/** Whether a price is beyond a key's limits: `requireSpending` says so, or `chargeSpending` aborted its batch. */
export function isSpendingLimitExceeded(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === "spending_limit_exceeded";
  const text = error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : "";
  return violates(error, "CHECK") && text.includes("key_spending_limit");
}
