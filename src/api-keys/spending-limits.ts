import type { Funds, Network } from "../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../db/client.ts";
import type { Caller } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import type { SpendingLimit } from "./schemas.ts";

/** SQL of the amount of a unit that `api_key` may spend on a network; 0: none. */
const SPENDING_LIMIT_SQL = `coalesce((SELECT CAST(value->>'amount' AS INTEGER) FROM json_each(spending_limits)
  WHERE value->>'network' = ?2 AND value->>'unit' = ?3), 0)`;

/**
 * Charges a price to a key's `spendingLimits`, for the batch (on the primary) of what it pays for. Beyond
 * a limit the whole batch aborts; see `isSpendingLimitExceeded`.
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

/** The amount that a key has spent of a unit, in minor units. */
export interface Spending {
  network: Network;
  unit: string;
  spent: bigint;
}

/** Reads the amounts that a key has spent. */
export async function readSpending(core: Database, keyId: string): Promise<Spending[]> {
  return (await readSpendingByKey(core, [keyId])).get(keyId) ?? [];
}

/** Reads the amounts that keys have spent, by the key's id. */
export async function readSpendingByKey(
  core: Database,
  keyIds: readonly string[],
): Promise<Map<string, Spending[]>> {
  // As text, since a JavaScript number cannot represent every integer of the database.
  const rows = await core.all<{ id: string; network: Network; unit: string; spent: string }>(
    `SELECT api_key_id AS id, network, unit, CAST(spent AS TEXT) AS spent FROM key_spending
     WHERE api_key_id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(keyIds),
  );
  const byKey = new Map<string, Spending[]>();
  for (const { id, spent, ...row } of rows)
    byKey.set(id, [...(byKey.get(id) ?? []), { ...row, spent: BigInt(spent) }]);
  return byKey;
}

const MAX_LIMIT = 10n ** 18n - 1n;

/**
 * Adds amounts to limits. A limit of zero is removed.
 *
 * @param limits - the first of duplicates counts
 * @param changes - signed amounts. A unit without a limit begins at the spent amount.
 * @returns all limits, and those of the changes for `requireLimitsAboveSpending`, zero too
 * @throws ApiError 400 for a limit that is below the spent amount, or too large
 */
export function addToSpendingLimits(
  limits: readonly SpendingLimit[],
  changes: readonly SpendingLimit[],
  spending: readonly Spending[],
): { limits: SpendingLimit[]; changed: SpendingLimit[] } {
  const nameOf = ({ network, unit }: { network: string; unit: string }) => `${network} ${unit}`;
  const spent = new Map(spending.map((one) => [nameOf(one), one.spent]));
  const amounts = new Map(limits.toReversed().map((one) => [nameOf(one), BigInt(one.amount)]));
  for (const change of changes) {
    const name = nameOf(change);
    const before = amounts.get(name) ?? spent.get(name) ?? 0n;
    amounts.set(name, before + BigInt(change.amount));
  }
  const byName = new Map([...limits, ...changes].map((one) => [nameOf(one), one]));
  const summed = [...byName].map(([name, one]) => ({
    ...one,
    amount: String(amounts.get(name) ?? 0n),
  }));
  const changedNames = new Set(changes.map(nameOf));
  const changed = summed.filter((one) => changedNames.has(nameOf(one)));
  for (const one of changed) {
    const amount = BigInt(one.amount);
    if (amount < (spent.get(nameOf(one)) ?? 0n)) throw createOverspentError();
    if (amount > MAX_LIMIT) throw new ApiError(400, "amount: the limit must stay below 10^18");
  }
  return { limits: summed.filter(({ amount }) => amount !== "0"), changed };
}

/** Aborts a batch with limits below what the key has spent; see `isSpendingLimitExceeded`. */
export function requireLimitsAboveSpending(
  keyId: string,
  limits: readonly SpendingLimit[],
): Statement[] {
  return limits.map(({ network, unit, amount }) =>
    statement(
      `UPDATE key_spending SET spending_limit = CAST(? AS INTEGER)
       WHERE api_key_id = ? AND network = ? AND unit = ?`,
      amount,
      keyId,
      network,
      unit,
    ),
  );
}

export function createOverspentError(): ApiError {
  return new ApiError(400, "amount: the limit must be at least what the key has spent");
}

/** Whether a price is beyond a key's limits: `requireSpending` says so, or `chargeSpending` aborted its batch. */
export function isSpendingLimitExceeded(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === "spending_limit_exceeded";
  const text = error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : "";
  return violates(error, "CHECK") && text.includes("key_spending_limit");
}
