/** Rates that are wrong by orders of magnitude, most often by the decimals of a coin. */
import { ApiError } from "../../http/errors.ts";
import type { Currency } from "../currencies.ts";
import { dividedBy, parseDecimal, roundHalfUp } from "../money.ts";
import { unitInWords } from "../units.ts";

/** Rates that differ by this factor or more need to be confirmed. */
const FAR = 100n;

/** A rate, as a message names it. */
export interface NamedRate {
  unit: string;
  currency: Currency;
  /** Invoice currency per smallest unit, decimal text above zero. */
  rate: string;
}

/** A rate that is known, to hold another one against. */
export interface KnownRate {
  rate: string;
  /** `YYYY-MM`. */
  month: string;
  /** Null: a request. */
  source: string | null;
}

/** Whether one rate is `FAR` times another, or a fraction of it that is as small. */
export function isFarFrom(rate: string, other: string): boolean {
  const { numerator, denominator } = dividedBy(parseDecimal(rate), parseDecimal(other));
  return numerator >= FAR * denominator || denominator >= FAR * numerator;
}

/** 400 that says by which factor a rate is off. */
export function tooFar(field: string, rate: NamedRate, known: KnownRate): ApiError {
  const quotient = dividedBy(parseDecimal(rate.rate), parseDecimal(known.rate));
  const isMore = quotient.numerator >= quotient.denominator;
  const factor = isMore
    ? roundHalfUp(quotient, 0)
    : roundHalfUp({ numerator: quotient.denominator, denominator: quotient.numerator }, 0);
  const currency = rate.currency.toUpperCase();
  const by = isMore ? `${factor} times` : `a ${factor}th of`;
  const from = known.source === null ? "the previous invoice" : known.source;
  return new ApiError(
    400,
    `${field}: ${rate.rate} ${currency} per smallest unit of ${unitInWords(rate.unit)} is ${by} the ${known.rate} of ${known.month} (${from}); name the coin's decimals if the rate is for a whole coin, or confirm it with confirmRate`,
  );
}
