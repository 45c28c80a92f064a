import { type Database, type Statement, statement } from "../db/client.ts";
import { isoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { type Currency, plainDecimal } from "./money.ts";
import type { Month } from "./month.ts";
import { endOfMonthRate, type PriceSourceEnv } from "./price-source.ts";

/** Invoice currency per one of a unit, at the end of a month. */
export interface Rate {
  unit: string;
  currency: Currency;
  /** `YYYY-MM`. */
  month: string;
  /** Decimal text. */
  rate: string;
  /** Where it is from, as the invoice prints it. */
  source: string;
}

/** Stores a rate in place of an earlier one. */
export function storeRate({ unit, currency, month, rate, source }: Rate, now: number): Statement {
  return statement(
    `INSERT INTO invoice_rate (month, currency, unit, rate, source, updated_at)
     VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (month, currency, unit)
     DO UPDATE SET rate = excluded.rate, source = excluded.source, updated_at = excluded.updated_at`,
    month,
    currency,
    unit,
    rate,
    source,
    now,
  );
}

/** The stored rates of a month, by currency and unit. */
export async function listRates(
  core: Database,
  query: { month: string; currency?: Currency | undefined; limit: number },
): Promise<(Rate & { updatedAt: string })[]> {
  const rows = await core.all<Rate & { updatedAt: number }>(
    `SELECT unit, currency, month, rate, source, updated_at AS updatedAt FROM invoice_rate
     WHERE month = ? ${query.currency === undefined ? "" : "AND currency = ?"}
     ORDER BY currency, unit LIMIT ?`,
    query.month,
    ...(query.currency === undefined ? [] : [query.currency]),
    query.limit,
  );
  return rows.map((row) => ({ ...row, updatedAt: isoTime(row.updatedAt) }));
}

/** A rate that an invoice uses; `source` is null when it came with the request. */
export type UsedRate = Pick<Rate, "rate"> & { source: string | null };

/**
 * The rate of each unit: that of the request, else the stored one, else that of the price source,
 * which is stored. Nothing is made up: an unknown rate is the caller's to give.
 *
 * @param given - `CurrencyConversion` of the request
 * @param now - epoch milliseconds
 * @throws ApiError 400 naming the units without a rate
 */
export async function ratesFor(
  env: PriceSourceEnv,
  core: Database,
  units: readonly string[],
  given: Readonly<Record<string, number>>,
  at: { currency: Currency; month: Month },
  now: number,
): Promise<Map<string, UsedRate>> {
  const rates = new Map<string, UsedRate>();
  for (const unit of units) {
    const rate = Object.hasOwn(given, unit) ? given[unit] : undefined;
    // The shortest decimal text of the number that was sent.
    if (rate !== undefined) rates.set(unit, { rate: plainDecimal(String(rate)), source: null });
  }
  const open = () => units.filter((unit) => !rates.has(unit));
  for (const { unit, rate, source } of await storedRates(core, open(), at))
    rates.set(unit, { rate, source });

  const found: Rate[] = [];
  // The end of a month has no price before it is over.
  if (at.month.end <= now) {
    for (const unit of open()) {
      const known = await endOfMonthRate(env, unit, at);
      if (known) found.push({ unit, currency: at.currency, month: at.month.text, ...known });
    }
  }
  if (found.length > 0) await core.batch(found.map((rate) => storeRate(rate, now)));
  for (const { unit, rate, source } of found) rates.set(unit, { rate, source });

  const missing = open().map((unit) => JSON.stringify(unit));
  if (missing.length > 0)
    throw new ApiError(
      400,
      `CurrencyConversion: no rate in ${at.currency} is known at the end of ${at.month.text} for the unit ${missing.join(", ")}`,
    );
  return rates;
}

async function storedRates(
  core: Database,
  units: readonly string[],
  { currency, month }: { currency: Currency; month: Month },
): Promise<Rate[]> {
  if (units.length === 0) return [];
  return core.all<Rate>(
    `SELECT unit, currency, month, rate, source FROM invoice_rate
     WHERE month = ? AND currency = ? AND unit IN (SELECT value FROM json_each(?))`,
    month.text,
    currency,
    JSON.stringify(units),
  );
}
