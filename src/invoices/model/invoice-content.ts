import { createHash } from "node:crypto";
import { toCanonicalJson } from "../../canonical-json.ts";
import type { Currency } from "./currencies.ts";
import type { CoveredPayment, PricedLine, Totals } from "./invoice-lines.ts";
import { nullIfBlank } from "./printable-text.ts";

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
  "buyerReference",
] as const;
export type InvoiceTexts = Record<(typeof TEXT_FIELDS)[number], string | null>;

/** The conversion rate of one unit. */
export interface Conversion {
  /** `""` is the native coin. */
  unit: string;
  /** The total paid in the unit, in on-chain units; decimal text. */
  amount: string;
  /** Invoice currency per unit, decimal text. */
  rate: string;
  /** The source of the rate; null: the request. */
  source: string | null;
  /** Of a whole coin: amount and rate are then printed for whole coins. */
  decimals?: number;
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

/** Everything printed on an invoice or a cancellation, except its number, and the logo. */
export interface InvoiceContent {
  language: Language;
  /** The locale for numbers and dates. */
  format: Language;
  /** `YYYY-MM-DD`. */
  issueDate: string;
  /** `YYYY-MM`: when the services were supplied. */
  month: string;
  currency: Currency;
  seller: InvoiceParty;
  buyer: InvoiceParty;
  /** Payment key hashes of their wallets, hex. */
  sellerVkey: string;
  buyerVkey: string;
  texts: InvoiceTexts;
  /** As sent, never printed; left out: none. */
  logo?: string;
  tax: { category: TaxCategory /** Fraction, decimal text. */; rate: string };
  lines: PricedLine[];
  totals: Totals;
  conversions: Conversion[];
  /** What it covers; left out when that is too much for a document. */
  payments?: CoveredPayment[];
  /** The invoice that this document cancels: amounts are then printed negative. */
  cancels: { number: string; issueDate: string; reasons: CancellationReason[] } | null;
}

/** What a request says of texts that are not in the content as they are. */
export interface DocumentTextOptions {
  /** Null when the request omits it: then it is no reason for a new document. */
  issueDate: string | null;
  /** Of the number. */
  prefix: string | null;
  /** Around the name of each line. */
  ofItems: readonly [prefix: string, suffix: string];
}

/**
 * SHA-256 of an invoice's inputs, hex: equal for a request that would give the same document. An agent
 * that changes its name, or a payment its last transaction, is no reason for a new one.
 *
 * @param payments - their identities, in any order
 */
export function computeFingerprint(
  content: InvoiceContent,
  { issueDate, prefix, ofItems }: DocumentTextOptions,
  payments: readonly string[],
): string {
  const lines = content.lines.map(toBilledFields);
  const inputs = { ...content, lines, issueDate, prefix, ofItems, payments: [...payments].sort() };
  return createHash("sha256").update(toCanonicalJson(inputs)).digest("hex");
}

/** What a line bills, whatever it is called. */
function toBilledFields({ quantity, unitPrice, net, subject: bought }: PricedLine) {
  return { quantity, unitPrice, net, agent: bought.agentIdentifier, unit: bought.unit };
}

/**
 * What differs between two revisions; `requested` when nothing does.
 *
 * @param coversOthers - whether the second covers other payments than the first
 */
export function findCancellationReasons(
  a: InvoiceContent,
  b: InvoiceContent,
  coversOthers: boolean,
): CancellationReason[] {
  const differ = (x: unknown, y: unknown) => toCanonicalJson(x) !== toCanonicalJson(y);
  const toComparedAmounts = ({ currency, tax, lines, conversions }: InvoiceContent) => ({
    currency,
    tax,
    lines: lines.map(toBilledFields),
    conversions,
  });
  const toComparedTexts = ({ texts, logo, language, format, lines }: InvoiceContent) => ({
    texts,
    logo,
    language,
    format,
    names: coversOthers ? [] : lines.map(({ name }) => name),
  });
  const found: CancellationReason[] = [];
  if (coversOthers) found.push("payments");
  else if (differ(toComparedAmounts(a), toComparedAmounts(b))) found.push("items");
  if (differ(a.seller, b.seller)) found.push("seller");
  if (differ(a.buyer, b.buyer)) found.push("buyer");
  if (differ(toComparedTexts(a), toComparedTexts(b))) found.push("texts");
  return found.length === 0 ? ["requested"] : found;
}

/** What a cancellation prints of the invoice it cancels. */
export function toCancellation(
  content: InvoiceContent,
  number: string,
  issueDate: string,
  reasons: CancellationReason[],
): InvoiceContent {
  return { ...content, issueDate, cancels: { number, issueDate: content.issueDate, reasons } };
}

/** A seller or a buyer as in the interface. */
export interface InvoiceParty {
  country: string;
  city: string;
  zipCode: string;
  street: string;
  streetNumber: string;
  email?: string | null | undefined;
  phone?: string | null | undefined;
  name?: string | null | undefined;
  companyName?: string | null | undefined;
  vatNumber?: string | null | undefined;
}

/** A party with null for blank and omitted members: all mean the same, so they give the same invoice. */
export function copyParty(sent: InvoiceParty): InvoiceParty {
  return {
    ...sent,
    email: nullIfBlank(sent.email),
    phone: nullIfBlank(sent.phone),
    name: nullIfBlank(sent.name),
    companyName: nullIfBlank(sent.companyName),
    vatNumber: nullIfBlank(sent.vatNumber),
  };
}

/** A party's first line: its company, else its name. */
export function findPartyName({ companyName, name }: InvoiceParty): string {
  return companyName?.trim() || name?.trim() || "";
}
