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

/** Questions to the price source under way at once: an invocation has six connections. */
const PARALLEL = 6;

/** Stores a rate in place of an earlier one. */
export function storeRate(rate: Rate, now: number): Statement {
  return insertRate(
    rate,
    "UPDATE SET rate = excluded.rate, source = excluded.source, updated_at = excluded.updated_at",
    now,
  );
}

function insertRate(
  { unit, currency, month, rate, source }: Rate,
  whenStored: string,
  now: number,
): Statement {
  return statement(
    `INSERT INTO invoice_rate (month, currency, unit, rate, source, updated_at)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (month, currency, unit) DO ${whenStored}`,
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
 * @param deadline - of the request, epoch milliseconds
 * @throws ApiError 400 naming the units without a rate; 502 or 504 when the price source fails
 */
export async function ratesFor(
  env: PriceSourceEnv,
  core: Database,
  units: readonly string[],
  given: Readonly<Record<string, number>>,
  at: { currency: Currency; month: Month },
  now: number,
  deadline: number,
): Promise<Map<string, UsedRate>> {
  const rates = new Map<string, UsedRate>();
  for (const unit of units) {
    const rate = Object.hasOwn(given, unit) ? given[unit] : undefined;
    // The shortest decimal text of the number that was sent.
    if (rate !== undefined) rates.set(unit, { rate: plainDecimal(String(rate)), source: null });
  }
  const open = () => units.filter((unit) => !rates.has(unit));
  const use = (known: readonly Rate[]) => {
    for (const { unit, rate, source } of known) rates.set(unit, { rate, source });
  };
  use(await storedRates(core, open(), at));
  // The end of a month has no price before it is over.
  if (at.month.end <= now) {
    await askSource(env, core, open(), at, now, deadline);
    use(await storedRates(core, open(), at));
  }

  const missing = open().map((unit) => JSON.stringify(unit));
  if (missing.length > 0)
    throw new ApiError(
      400,
      `CurrencyConversion: no rate in ${at.currency} is known at the end of ${at.month.text} for the unit ${missing.join(", ")}`,
    );
  return rates;
}

/**
 * Asks the price source for the rates of units. Each is stored as it comes, so a later request finds
 * it also when this one fails; one that was stored meanwhile stays. After a failure no other unit is
 * asked for.
 */
async function askSource(
  env: PriceSourceEnv,
  core: Database,
  units: readonly string[],
  at: { currency: Currency; month: Month },
  now: number,
  deadline: number,
): Promise<void> {
  const queue = units.values();
  const failures: unknown[] = [];
  const work = async () => {
    for (const unit of queue) {
      if (failures.length > 0) return;
      try {
        const found = await endOfMonthRate(env, unit, at, deadline);
        if (found === null) continue;
        const rate = { unit, currency: at.currency, month: at.month.text, ...found };
        await core.batch([insertRate(rate, "NOTHING", now)]);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  if (failures.length > 0) throw failures[0];
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
