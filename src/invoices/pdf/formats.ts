import type { Currency } from "../model/currencies.ts";
import type { Language } from "../model/invoice-content.ts";

/** Formats numbers and dates for a language. */
export interface Formats {
  /** An amount, with the currency's sign. At most ten decimals, none dropped. */
  money(decimal: string): string;
  /** A whole number. */
  count(decimal: string): string;
  /** A decimal, with all its digits. */
  decimal(text: string): string;
  /** A fraction as a percentage. */
  percent(fraction: string): string;
  /** `YYYY-MM-DD`. */
  date(day: string): string;
  /** `YYYY-MM`. */
  month(month: string): string;
}

const LOCALES: Record<Language, string> = { "en-us": "en-US", "en-gb": "en-GB", de: "de-DE" };

/** Its sign is in none of our fonts. */
const CURRENCY_WITHOUT_SYMBOL: Currency = "thb";

/**
 * @param digits - of the currency's minor unit
 * @param language - for the names of months
 */
export function createFormats(
  format: Language,
  language: Language,
  currency: Currency,
  digits: number,
): Formats {
  const locale = LOCALES[format];
  const createNumberFormat = (options: Intl.NumberFormatOptions) => {
    const formatter = new Intl.NumberFormat(locale, options);
    // Decimal text is formatted exactly; a JavaScript number would not be.
    return (text: string) => formatter.format(text as `${number}`);
  };
  const date = (of: string, options: Intl.DateTimeFormatOptions) => {
    const formatter = new Intl.DateTimeFormat(of, { timeZone: "UTC", ...options });
    return (day: string) => formatter.format(new Date(`${day}T00:00:00Z`));
  };
  const monthOf = date(LOCALES[language], { month: "long", year: "numeric" });
  return {
    money: createNumberFormat({
      style: "currency",
      currency: currency.toUpperCase(),
      currencyDisplay: currency === CURRENCY_WITHOUT_SYMBOL ? "code" : "symbol",
      minimumFractionDigits: digits,
      maximumFractionDigits: 10,
    }),
    count: createNumberFormat({ maximumFractionDigits: 0 }),
    decimal: createNumberFormat({ maximumFractionDigits: 100 }),
    percent: createNumberFormat({ style: "percent", maximumFractionDigits: 4 }),
    date: date(locale, { day: "numeric", month: "short", year: "numeric" }),
    month: (month) => monthOf(`${month}-01`),
  };
}
