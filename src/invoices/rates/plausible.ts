import type { Database } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import type { Conversion, InvoiceContent } from "../content.ts";
import { CURRENCIES } from "../currencies.ts";
import { formatDecimal, isZero, parseDecimal, roundHalfUp, times, whole } from "../money.ts";
import { type Month, parseMonth } from "../month.ts";
import { unitInWords } from "../units.ts";
import { isFarFrom, type KnownRate, tooFar } from "./far.ts";
import type { PriceSourceEnv } from "./price-source.ts";
import { askSource, type Rate, ratesBefore, storedRates } from "./rates.ts";

/** Where rates are looked up, and until when. */
interface LookUp {
  env: PriceSourceEnv;
  core: Database;
  /** Epoch milliseconds. */
  now: number;
  /** Of the request, epoch milliseconds. */
  deadline: number;
}

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
  { env, core, now, deadline }: LookUp,
  content: InvoiceContent,
  month: Month,
  previous: InvoiceContent | null,
): Promise<void> {
  for (const one of content.conversions) requireWorth(one, content);
  const { gross } = content.totals;
  if (isZero(gross)) throw worthless("what was paid", content, gross);

  const { currency } = content;
  const given = content.conversions.filter(({ source }) => source === null);
  const units = given.map(({ unit }) => unit);
  const at = { currency, month };
  const stored = [...(await storedRates(core, units, at)), ...(await ratesBefore(core, units, at))];
  const unknown = units.filter((unit) => !stored.some((one) => one.unit === unit));
  if (unknown.length > 0 && month.end <= now) {
    await askSource(env, core, unknown, at, false, now, deadline);
    stored.push(...(await storedRates(core, unknown, at)));
  }
  const before = previous?.currency === currency ? previous : null;
  for (const rate of given) {
    const last = before?.conversions.find(({ unit }) => unit === rate.unit);
    const known: KnownRate[] = stored.filter(({ unit }) => unit === rate.unit);
    if (last !== undefined) known.push({ ...last, month: month.text });
    const far = known.find((one) => isFarFrom(rate.rate, one.rate));
    if (far !== undefined) throw tooFar("CurrencyConversion", { ...rate, currency }, far);
  }
}

/**
 * Refuses to store a rate that is far from the one it replaces, or from the last one before it.
 *
 * @throws ApiError 400 naming `rate`
 */
export async function requireNearOthers(core: Database, rate: Rate): Promise<void> {
  const month = parseMonth(rate.month);
  if (month === null) throw new ApiError(400, "month: must be a month, YYYY-MM");
  const at = { currency: rate.currency, month };
  const known = [
    ...(await storedRates(core, [rate.unit], at)),
    ...(await ratesBefore(core, [rate.unit], at)),
  ];
  const far = known.find((one) => isFarFrom(rate.rate, one.rate));
  if (far !== undefined) throw tooFar("rate", rate, far);
}

/** @throws ApiError 400 when what was paid in a unit rounds to zero */
function requireWorth({ unit, amount, rate }: Conversion, content: InvoiceContent): void {
  const digits = CURRENCIES[content.currency];
  const worth = roundHalfUp(times(whole(BigInt(amount)), parseDecimal(rate)), digits);
  if (worth === 0n)
    throw worthless(
      `${amount} of the smallest unit of ${unitInWords(unit)} at ${rate}`,
      content,
      formatDecimal(0n, digits),
    );
}

function worthless(what: string, { currency }: InvoiceContent, zero: string): ApiError {
  return new ApiError(
    400,
    `CurrencyConversion: ${what} comes to ${zero} ${currency.toUpperCase()}; give the right rate, or confirm it with confirmRate`,
  );
}
