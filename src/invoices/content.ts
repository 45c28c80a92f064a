import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical-json.ts";
import type { PricedLine, Totals } from "./lines.ts";
import type { Currency } from "./money.ts";
import type { Party } from "./party.ts";

export const LANGUAGES = ["en-us", "en-gb", "de"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Texts that the issuer may choose; null: ours, or none. */
export const TEXT_FIELDS = [
  "title",
  "description",
  "greeting",
  "closing",
  "signature",
  "footer",
  "terms",
  "privacy",
] as const;
export type InvoiceTexts = Record<(typeof TEXT_FIELDS)[number], string | null>;

/** A rate that amounts of one unit were converted at. */
export interface Conversion {
  /** `""` is the native coin. */
  unit: string;
  /** All that was paid in the unit, as the chain counts it; decimal text. */
  amount: string;
  /** Invoice currency per one of the unit, decimal text. */
  rate: string;
  /** Where the rate is from; null: it came with the request. */
  source: string | null;
}

/**
 * How VAT applies (UNTDID 5305): standard rate, reverse charge, zero rate, or outside its scope.
 */
export type TaxCategory = "S" | "AE" | "Z" | "O";

/** Why an invoice was replaced; printed in its language. */
export const CANCELLATION_REASONS = [
  "payments",
  "items",
  "seller",
  "buyer",
  "texts",
  "requested",
] as const;
export type CancellationReason = (typeof CANCELLATION_REASONS)[number];

/** All that is printed on an invoice or a cancellation, but for its number. */
export interface InvoiceContent {
  language: Language;
  /** Whose way of writing numbers and dates. */
  format: Language;
  /** `YYYY-MM-DD`. */
  issueDate: string;
  /** `YYYY-MM`: when the services were supplied. */
  month: string;
  currency: Currency;
  seller: Party;
  buyer: Party;
  /** Payment key hashes of their wallets, hex. */
  sellerVkey: string;
  buyerVkey: string;
  texts: InvoiceTexts;
  tax: { category: TaxCategory /** Fraction, decimal text. */; rate: string };
  lines: PricedLine[];
  totals: Totals;
  conversions: Conversion[];
  /** The invoice that this paper cancels: its amounts are then printed negative. */
  cancels: { number: string; issueDate: string; reasons: CancellationReason[] } | null;
}

/**
 * SHA-256 of what an invoice is made from, hex: equal for a request that would give the same paper.
 *
 * @param issueDate - null when the request left it open: then it is no reason for a new paper
 * @param prefix - of the number
 * @param payments - their identities, in any order
 */
export function fingerprintOf(
  content: InvoiceContent,
  issueDate: string | null,
  prefix: string | null,
  payments: readonly string[],
): string {
  const made = { ...content, issueDate, prefix, payments: [...payments].sort() };
  return createHash("sha256").update(canonicalJson(made)).digest("hex");
}

/**
 * What differs between two revisions; `requested` when nothing does.
 *
 * @param coversOthers - whether the second one covers other payments than the first
 */
export function reasonsFor(
  a: InvoiceContent,
  b: InvoiceContent,
  coversOthers: boolean,
): CancellationReason[] {
  const differ = (x: unknown, y: unknown) => canonicalJson(x) !== canonicalJson(y);
  const amounts = ({ currency, tax, lines, conversions }: InvoiceContent) => ({
    currency,
    tax,
    lines,
    conversions,
  });
  const found: CancellationReason[] = [];
  if (coversOthers) found.push("payments");
  else if (differ(amounts(a), amounts(b))) found.push("items");
  if (differ(a.seller, b.seller)) found.push("seller");
  if (differ(a.buyer, b.buyer)) found.push("buyer");
  if (differ([a.texts, a.language, a.format], [b.texts, b.language, b.format])) found.push("texts");
  return found.length === 0 ? ["requested"] : found;
}

/** What a cancellation prints of the invoice it cancels. */
export function cancellationOf(
  content: InvoiceContent,
  number: string,
  issueDate: string,
  reasons: CancellationReason[],
): InvoiceContent {
  return { ...content, issueDate, cancels: { number, issueDate: content.issueDate, reasons } };
}
