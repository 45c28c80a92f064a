import pMap from "p-map";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import type { Currency } from "../model/currencies.ts";
import { divide, parseDecimal, roundHalfUp, toRatePerMinorUnit } from "../model/fractions.ts";
import type { Month } from "../model/month.ts";
import type { BillingRequest } from "../model/schemas.ts";
import { describeUnit } from "../model/token-names.ts";
import { fetchMonthEndRate } from "./price-source.ts";

/** Invoice currency per unit, at the end of a month. */
export interface InvoiceRate {
  unit: string;
  currency: Currency;
  /** `YYYY-MM`. */
  month: string;
  /** Decimal text. */
  rate: string;
  /** Its source, as the invoice prints it. */
  source: string;
}

/** Stores a rate in place of an earlier one. */
export function upsertRate(rate: InvoiceRate, now: number): Statement {
  return insertRate(
    rate,
    "UPDATE SET rate = excluded.rate, source = excluded.source, updated_at = excluded.updated_at",
    now,
  );
}

function insertRate(
  { unit, currency, month, rate, source }: InvoiceRate,
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
): Promise<(InvoiceRate & { updatedAt: string })[]> {
  const rows = await core.all<InvoiceRate & { updatedAt: number }>(
    `SELECT unit, currency, month, rate, source, updated_at AS updatedAt FROM invoice_rate
     WHERE month = ? ${query.currency === undefined ? "" : "AND currency = ?"}
     ORDER BY currency, unit LIMIT ${query.limit}`,
    query.month,
    ...(query.currency === undefined ? [] : [query.currency]),
  );
  return rows.map((row) => ({ ...row, updatedAt: toIsoTime(row.updatedAt) }));
}

/** A rate that an invoice uses; `source` is null when it came with the request. */
export type UsedRate = Pick<InvoiceRate, "rate"> & { source: string | null };

/** Where rates are looked up, and until when. */
export interface RateLookup {
  env: Env;
  core: Database;
  /** Epoch milliseconds. */
  now: number;
  /** Of the request, epoch milliseconds. */
  deadline: number;
}

/**
 * The rate of each unit: the rate of the request, else the stored rate, else the rate of the price
 * source, which is then stored. No rate is guessed: the caller must give an unknown one.
 *
 * @throws ApiError 400 naming the units without a rate, or a unit whose rate at the price source is far
 *   from the last rate before it. 502 or 504 when the price source fails.
 */
export async function findRates(
  lookup: RateLookup,
  units: readonly string[],
  given: Pick<BillingRequest, "CurrencyConversion" | "decimals" | "confirmRate">,
  at: { currency: Currency; month: Month },
): Promise<Map<string, UsedRate>> {
  const { core, now } = lookup;
  const rates = new Map<string, UsedRate>();
  for (const unit of units) {
    const rate = getOwnValue(given.CurrencyConversion, unit);
    if (rate === undefined) continue;
    // The shortest decimal text of the number sent.
    const perUnit = toRatePerMinorUnit(String(rate), getOwnValue(given.decimals, unit) ?? 0);
    rates.set(unit, { rate: perUnit, source: null });
  }
  const listUnitsWithoutRate = () => units.filter((unit) => !rates.has(unit));
  const addRates = (known: readonly InvoiceRate[]) => {
    for (const { unit, rate, source } of known) rates.set(unit, { rate, source });
  };
  addRates(await readRates(core, listUnitsWithoutRate(), at));
  // A month has no closing price before it is over.
  if (at.month.endAt <= now) {
    await fetchAndStoreRates(lookup, listUnitsWithoutRate(), at, given.confirmRate);
    addRates(await readRates(core, listUnitsWithoutRate(), at));
  }

  const missing = listUnitsWithoutRate().map(describeUnit);
  if (missing.length > 0)
    throw new ApiError(
      400,
      `CurrencyConversion: no rate in ${at.currency} is known at the end of ${at.month.text} for ${missing.join(", ")}`,
    );
  return rates;
}

/** A member that an object has itself: a unit may be called like one that all objects have. */
function getOwnValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/**
 * Asks the price source for the rates of units. Each is stored as it arrives, so a later request
 * finds it even if this one fails; one stored concurrently stays. After a failure no further unit
 * is requested.
 *
 * @param isConfirmed - whether a rate far from the last one before it may be stored
 * @throws ApiError 400, 502, 504
 */
export async function fetchAndStoreRates(
  { env, core, now, deadline }: RateLookup,
  units: readonly string[],
  at: { currency: Currency; month: Month },
  isConfirmed: boolean,
): Promise<void> {
  const before = isConfirmed ? [] : await readRates(core, units, at, "<");
  const fetchAndStoreRate = async (unit: string) => {
    const found = await fetchMonthEndRate(env, unit, at, deadline);
    if (found === null) return;
    const rate = { unit, currency: at.currency, month: at.month.text, ...found };
    const last = before.find((one) => one.unit === unit);
    if (last !== undefined && areRatesFarApart(rate.rate, last.rate))
      throw toImplausibleRateError("CurrencyConversion", rate, last);
    await core.batch([insertRate(rate, "NOTHING", now)]);
  };
  await pMap(units, fetchAndStoreRate, { concurrency: MAX_CONCURRENT_FETCHES });
}

/**
 * The stored rates of some units at the end of a month. With `<`: the last rate of each unit before it.
 */
export async function readRates(
  core: Database,
  units: readonly string[],
  { currency, month }: { currency: Currency; month: Month },
  comparison: "=" | "<" = "=",
): Promise<InvoiceRate[]> {
  if (units.length === 0) return [];
  // With max(), SQLite takes the other columns from the row that has it.
  return core.all<InvoiceRate>(
    `SELECT unit, currency, max(month) AS month, rate, source FROM invoice_rate
     WHERE month ${comparison} ? AND currency = ? AND unit IN (SELECT value FROM json_each(?))
     GROUP BY unit`,
    month.text,
    currency,
    JSON.stringify(units),
  );
}

/** Rates that differ by this factor or more need to be confirmed. */
const MAX_RATE_FACTOR = 100n;

/** A rate that is known, to hold another one against. */
export type ReferenceRate = UsedRate & Pick<InvoiceRate, "month">;

/** Whether one rate is `MAX_RATE_FACTOR` times another, or a fraction of it that is as small. */
export function areRatesFarApart(rate: string, other: string): boolean {
  const { numerator, denominator } = divide(parseDecimal(rate), parseDecimal(other));
  return numerator >= MAX_RATE_FACTOR * denominator || denominator >= MAX_RATE_FACTOR * numerator;
}

/** 400 that says by which factor a rate is off. */
export function toImplausibleRateError(
  field: string,
  rate: Pick<InvoiceRate, "unit" | "currency" | "rate">,
  known: ReferenceRate,
): ApiError {
  const quotient = divide(parseDecimal(rate.rate), parseDecimal(known.rate));
  const isMore = quotient.numerator >= quotient.denominator;
  const factor = isMore
    ? roundHalfUp(quotient, 0)
    : roundHalfUp({ numerator: quotient.denominator, denominator: quotient.numerator }, 0);
  const currency = rate.currency.toUpperCase();
  const by = isMore ? `${factor} times` : `a ${factor}th of`;
  const from = known.source === null ? "the previous invoice" : known.source;
  return new ApiError(
    400,
    `${field}: ${rate.rate} ${currency} per minor unit of ${describeUnit(rate.unit)} is ${by} the ${known.rate} of ${known.month} (${from}); name the coin's decimals if the rate is for a whole coin, or confirm it with confirmRate`,
  );
}
