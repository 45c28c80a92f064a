/**
 * Exact arithmetic of invoices: fractions of bigints, rounded once, where a number is printed. Only
 * digit counts are JavaScript numbers.
 */

/** A fraction; the denominator is positive. */
export interface Fraction {
  numerator: bigint;
  denominator: bigint;
}

/** Decimals of a rounded net unit price: quantity × price then gives the line. */
export const PRICE_DIGITS = 10;

const DECIMAL_PATTERN = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i;

/**
 * Reads a non-negative decimal: `0.19`, `4.5e-7` (the shortest text of a JSON number).
 *
 * @throws RangeError when the text is anything else
 */
export function parseDecimal(text: string): Fraction {
  const match = DECIMAL_PATTERN.exec(text);
  if (!match) throw new RangeError(`not a decimal: ${text}`);
  const [, whole = "", fraction = "", exponent = "0"] = match;
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale >= 0
    ? { numerator: digits, denominator: 10n ** BigInt(scale) }
    : { numerator: digits * 10n ** BigInt(-scale), denominator: 1n };
}

/** Decimal text of a number of units of 10^-digits: `12345` with 2 digits is `123.45`. */
export function formatDecimal(units: bigint, digits: number): string {
  const sign = units < 0n ? "-" : "";
  const text = (units < 0n ? -units : units).toString().padStart(digits + 1, "0");
  if (digits === 0) return sign + text;
  return `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** Decimal text without trailing zeros, keeping at least `least` decimals. */
export function trimDecimal(text: string, least: number): string {
  const [whole = "", fraction = ""] = text.split(".");
  const digits = fraction.replace(/0+$/, "").padEnd(least, "0");
  return digits === "" ? whole : `${whole}.${digits}`;
}

/**
 * Decimal text without an exponent: `4.5e-7` is `0.00000045`.
 *
 * @throws RangeError when the text is not a decimal
 */
export function toPlainDecimal(text: string): string {
  return toRatePerMinorUnit(text, 0);
}

/**
 * The exact rate of the minor unit, given that of a whole coin: decimal text without an
 * exponent.
 *
 * @param decimals - of the coin
 * @throws RangeError when the rate is not a decimal
 */
export function toRatePerMinorUnit(rate: string, decimals: number): string {
  const { numerator, denominator } = parseDecimal(rate);
  const digits = denominator.toString().length - 1 + decimals;
  return trimDecimal(formatDecimal(numerator, digits), 0);
}

/** The rate of a whole coin, given that of the minor unit: see `toRatePerMinorUnit`. */
export function toRatePerCoin(rate: string, decimals: number): string {
  const { numerator, denominator } = parseDecimal(rate);
  const digits = denominator.toString().length - 1;
  return trimDecimal(formatDecimal(numerator * 10n ** BigInt(decimals), digits), 0);
}

/** Whether decimal text is zero, with any number of digits. */
export function isZeroDecimal(decimal: string): boolean {
  return !/[1-9]/.test(decimal);
}

/** Decimal text with the other sign; zero has none. */
export function negateDecimal(decimal: string): string {
  if (isZeroDecimal(decimal)) return decimal;
  return decimal.startsWith("-") ? decimal.slice(1) : `-${decimal}`;
}

/** `a + b`. Denominators that are powers of ten do not grow. */
export function add(a: Fraction, b: Fraction): Fraction {
  const [coarse, fine] = a.denominator <= b.denominator ? [a, b] : [b, a];
  if (fine.denominator % coarse.denominator !== 0n)
    return {
      numerator: a.numerator * b.denominator + b.numerator * a.denominator,
      denominator: a.denominator * b.denominator,
    };
  const factor = fine.denominator / coarse.denominator;
  return { numerator: fine.numerator + coarse.numerator * factor, denominator: fine.denominator };
}

/** `a × b`. */
export function multiply(a: Fraction, b: Fraction): Fraction {
  return { numerator: a.numerator * b.numerator, denominator: a.denominator * b.denominator };
}

/** `a ÷ b`; `b` is not zero. */
export function divide(a: Fraction, b: Fraction): Fraction {
  return { numerator: a.numerator * b.denominator, denominator: a.denominator * b.numerator };
}

/** `1 + a`. */
export function addOne(a: Fraction): Fraction {
  return { numerator: a.denominator + a.numerator, denominator: a.denominator };
}

/** A whole number as a fraction. */
export function toFraction(value: bigint): Fraction {
  return { numerator: value, denominator: 1n };
}

/** A non-negative fraction in units of 10^-digits, rounded half-up. */
export function roundHalfUp({ numerator, denominator }: Fraction, digits: number): bigint {
  const scaled = numerator * 10n ** BigInt(digits);
  return (scaled * 2n + denominator) / (denominator * 2n);
}
