import type { Currency } from "./currencies.ts";

/** Codes that have a name but are not countries of ISO 3166-1. */
const NON_COUNTRY_CODES = ["AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN"];
const UNASSIGNED_CODE_PATTERN = /^(A?A|Q[M-Z]|X[A-Z]|ZZ)$/;

/** ISO 3166-1 alpha-2 codes by name, in English and German, lower-case; made when first needed. */
let codesByName: Map<string, string> | null = null;

function buildCodesByName(): Map<string, string> {
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
  const languages = ["en", "de"].map(
    (locale) => new Intl.DisplayNames(locale, { type: "region", fallback: "none" }),
  );
  const found = new Map<string, string>();
  for (const code of letters.flatMap((first) => letters.map((second) => first + second))) {
    if (NON_COUNTRY_CODES.includes(code) || UNASSIGNED_CODE_PATTERN.test(code)) continue;
    // A former country is an alias of its successor.
    if (new Intl.Locale(`und-${code}`).region !== code) continue;
    for (const names of languages) {
      const name = names.of(code);
      if (name === undefined) continue;
      found.set(code.toLowerCase(), code);
      found.set(name.toLowerCase(), code);
    }
  }
  return found;
}

/** Codes that the European Union uses for VAT in place of the ISO code; XI is Northern Ireland. */
const COUNTRY_BY_VAT_CODE: Readonly<Record<string, string>> = { EL: "GR", XI: "GB" };
/** Other codes that a country is commonly given by. */
const CODE_ALIASES: Readonly<Record<string, string>> = { ...COUNTRY_BY_VAT_CODE, UK: "GB" };

/** The ISO 3166-1 alpha-2 code of a country, given that or its name in English or German. */
export function findCountryCode(country: string): string | null {
  codesByName ??= buildCodesByName();
  const text = country.trim();
  return codesByName.get(text.toLowerCase()) ?? CODE_ALIASES[text.toUpperCase()] ?? null;
}

/**
 * Whether a VAT id begins with the code of a country (BR-CO-09). It may be another country than the
 * address's: Monaco's ids begin with FR, Northern Ireland's with XI.
 */
export function hasVatPrefix(vatNumber: string): boolean {
  const prefix = vatNumber.trim().slice(0, 2).toUpperCase();
  return Object.hasOwn(COUNTRY_BY_VAT_CODE, prefix) || findCountryCode(prefix) === prefix;
}

const EURO_AREA = "AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MC MT NL PT SI SK".split(" ");

/**
 * The currency that VAT is owed in, where we know it.
 *
 * @param code - ISO 3166-1 alpha-2 of a country
 * @param month - of the supply, `YYYY-MM`
 */
export function findTaxCurrency(code: string, month: string): Currency | null {
  // Bulgaria has the euro since 2026.
  if (code === "BG" && month < "2026-01") return "bgn";
  if (EURO_AREA.includes(code)) return "eur";
  const others: Record<string, Currency> = {
    AE: "aed",
    AU: "aud",
    CA: "cad",
    CH: "chf",
    CZ: "czk",
    DK: "dkk",
    GB: "gbp",
    HU: "huf",
    IM: "gbp",
    IN: "inr",
    IS: "isk",
    JP: "jpy",
    KR: "krw",
    LI: "chf",
    NO: "nok",
    NZ: "nzd",
    PL: "pln",
    RO: "ron",
    RS: "rsd",
    SE: "sek",
    SG: "sgd",
    TR: "try",
    UA: "uah",
    US: "usd",
    ZA: "zar",
  };
  return others[code] ?? null;
}
