import type { Database } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import { MINOR_UNIT_DIGITS } from "../model/currencies.ts";
import {
  formatDecimal,
  isZeroDecimal,
  multiply,
  parseDecimal,
  roundHalfUp,
  toFraction,
} from "../model/fractions.ts";
import type { Conversion, InvoiceContent } from "../model/invoice-content.ts";
import { type Month, parseMonth } from "../model/month.ts";
import { describeUnit } from "../model/token-names.ts";
import {
  areRatesFarApart,
  fetchAndStoreRates,
  type InvoiceRate,
  type RateLookup,
  type ReferenceRate,
  readRates,
  toImplausibleRateError,
} from "./rates.ts";

/**
 * Refuses an invoice whose rates are wrong by orders of magnitude. Either the payments in a unit come
 * to nothing, or a rate of the request is far from a known rate. Known rates are the stored rate of the
 * month, the last rate before it, and the rate on the previous invoice. When none is stored, the rate
 * of the price source is the known one. Stored rates were compared with each other when they were
 * stored.
 *
 * @param previous - the invoice that this one replaces
 * @throws ApiError 400 naming `CurrencyConversion`; 502 or 504 when the price source fails
 */
export async function requirePlausibleRates(
  lookup: RateLookup,
  content: InvoiceContent,
  month: Month,
  previous: InvoiceContent | null,
): Promise<void> {
  for (const one of content.conversions) requireNonzeroAmount(one, content);
  const { gross } = content.totals;
  if (isZeroDecimal(gross)) throw toZeroAmountError("what was paid", content, gross);

  const { currency } = content;
  const requestRates = content.conversions.filter(({ source }) => source === null);
  const units = requestRates.map(({ unit }) => unit);
  const at = { currency, month };
  const { core, now } = lookup;
  const stored = await readKnownRates(core, units, at);
  const unknown = units.filter((unit) => !stored.some((one) => one.unit === unit));
  if (unknown.length > 0 && month.endAt <= now) {
    await fetchAndStoreRates(lookup, unknown, at, false);
    stored.push(...(await readRates(core, unknown, at)));
  }
  const before = previous?.currency === currency ? previous : null;
  for (const rate of requestRates) {
    const last = before?.conversions.find(({ unit }) => unit === rate.unit);
    const known: ReferenceRate[] = stored.filter(({ unit }) => unit === rate.unit);
    if (last !== undefined) known.push({ ...last, month: month.text });
    const far = known.find((one) => areRatesFarApart(rate.rate, one.rate));
    if (far !== undefined)
      throw toImplausibleRateError("CurrencyConversion", { ...rate, currency }, far);
  }
}

/**
 * Refuses to store a rate that is far from the one it replaces, or from the last one before it.
 *
 * @throws ApiError 400 naming `rate`
 */
export async function requirePlausibleRate(core: Database, rate: InvoiceRate): Promise<void> {
  const at = { currency: rate.currency, month: parseMonth(rate.month) };
  const known = await readKnownRates(core, [rate.unit], at);
  const far = known.find((one) => areRatesFarApart(rate.rate, one.rate));
  if (far !== undefined) throw toImplausibleRateError("rate", rate, far);
}

/** The stored rates of a month, and the last ones before it. */
async function readKnownRates(
  core: Database,
  units: readonly string[],
  at: Parameters<typeof readRates>[2],
): Promise<InvoiceRate[]> {
  return [...(await readRates(core, units, at)), ...(await readRates(core, units, at, "<"))];
}

/** @throws ApiError 400 when what was paid in a unit rounds to zero */
function requireNonzeroAmount({ unit, amount, rate }: Conversion, content: InvoiceContent): void {
  const digits = MINOR_UNIT_DIGITS[content.currency];
  const worth = roundHalfUp(multiply(toFraction(BigInt(amount)), parseDecimal(rate)), digits);
  if (worth === 0n)
    throw toZeroAmountError(
      `${amount} of the minor unit of ${describeUnit(unit)} at ${rate}`,
      content,
      formatDecimal(0n, digits),
    );
}

function toZeroAmountError(what: string, { currency }: InvoiceContent, zero: string): ApiError {
  return new ApiError(
    400,
    `CurrencyConversion: ${what} comes to ${zero} ${currency.toUpperCase()}; give the right rate, or confirm it with confirmRate`,
  );
}
