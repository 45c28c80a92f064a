import type { Currency } from "../model/currencies.ts";
import type { Language } from "../model/invoice-content.ts";

/** Formats of numbers and dates for a language. */
export type Formats = ReturnType<typeof createFormats>;

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
) {
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
    /** An amount, with the currency's sign. At most ten decimals, none dropped. */
    money: createNumberFormat({
      style: "currency",
      currency: currency.toUpperCase(),
      currencyDisplay: currency === CURRENCY_WITHOUT_SYMBOL ? "code" : "symbol",
      minimumFractionDigits: digits,
      maximumFractionDigits: 10,
    }),
    /** A whole number. */
    count: createNumberFormat({ maximumFractionDigits: 0 }),
    /** A decimal, with all its digits. */
    decimal: createNumberFormat({ maximumFractionDigits: 100 }),
    /** A fraction as a percentage. */
    percent: createNumberFormat({ style: "percent", maximumFractionDigits: 4 }),
    /** Of `YYYY-MM-DD`. */
    date: date(locale, { day: "numeric", month: "short", year: "numeric" }),
    /** Of `YYYY-MM`. */
    month: (month: string) => monthOf(`${month}-01`),
  };
}
