/**
 * The currencies of ISO 4217, lower-case, by the digits of their minor unit. Left out are funds codes,
 * metals and test codes; `bgn`, which ended with 2025, is there for the months before.
 */

// biome-ignore format: a table
const ZERO_DECIMAL_CURRENCIES = [
  "bif", "clp", "djf", "gnf", "isk", "jpy", "kmf", "krw", "pyg", "rwf", "ugx", "vnd", "vuv",
  "xaf", "xof", "xpf",
] as const;

// biome-ignore format: a table
const TWO_DECIMAL_CURRENCIES = [
  "aed", "afn", "all", "amd", "aoa", "ars", "aud", "awg", "azn", "bam", "bbd", "bdt", "bgn",
  "bmd", "bnd", "bob", "brl", "bsd", "btn", "bwp", "byn", "bzd", "cad", "cdf", "chf", "cny",
  "cop", "crc", "cup", "cve", "czk", "dkk", "dop", "dzd", "egp", "ern", "etb", "eur", "fjd",
  "fkp", "gbp", "gel", "ghs", "gip", "gmd", "gtq", "gyd", "hkd", "hnl", "htg", "huf", "idr",
  "ils", "inr", "irr", "jmd", "kes", "kgs", "khr", "kpw", "kyd", "kzt", "lak", "lbp", "lkr",
  "lrd", "lsl", "mad", "mdl", "mga", "mkd", "mmk", "mnt", "mop", "mru", "mur", "mvr", "mwk",
  "mxn", "myr", "mzn", "nad", "ngn", "nio", "nok", "npr", "nzd", "pab", "pen", "pgk", "php",
  "pkr", "pln", "qar", "ron", "rsd", "rub", "sar", "sbd", "scr", "sdg", "sek", "sgd", "shp",
  "sle", "sos", "srd", "ssp", "stn", "svc", "syp", "szl", "thb", "tjs", "tmt", "top", "try",
  "ttd", "twd", "tzs", "uah", "usd", "uyu", "uzs", "ved", "ves", "wst", "xcd", "xcg", "yer",
  "zar", "zmw", "zwg",
] as const;

const THREE_DECIMAL_CURRENCIES = ["bhd", "iqd", "jod", "kwd", "lyd", "omr", "tnd"] as const;

export type Currency =
  | (typeof ZERO_DECIMAL_CURRENCIES)[number]
  | (typeof TWO_DECIMAL_CURRENCIES)[number]
  | (typeof THREE_DECIMAL_CURRENCIES)[number];

const pairWithDigits = (codes: readonly Currency[], digits: number) =>
  codes.map((code): [Currency, number] => [code, digits]);

/** Currencies an invoice can be made out in, with the digits of their minor unit. */
export const MINOR_UNIT_DIGITS = Object.fromEntries([
  ...pairWithDigits(ZERO_DECIMAL_CURRENCIES, 0),
  ...pairWithDigits(TWO_DECIMAL_CURRENCIES, 2),
  ...pairWithDigits(THREE_DECIMAL_CURRENCIES, 3),
]) as Record<Currency, number>;

export const CURRENCY_CODES = Object.keys(MINOR_UNIT_DIGITS).sort() as [Currency, ...Currency[]];
