/** Composes an invoice's content from a request and its payments. */

import { ApiError } from "../../http/errors.ts";
import {
  copyParty,
  type InvoiceContent,
  type TaxCategory,
  TEXT_FIELDS,
} from "../model/invoice-content.ts";
import {
  type BillablePayment,
  groupItems,
  type InvoiceItem,
  listCoveredPayments,
  priceItems,
} from "../model/invoice-lines.ts";
import { formatDay } from "../model/month.ts";
import { nullIfBlank } from "../model/printable-text.ts";
import type { BillingRequest } from "../model/schemas.ts";
import { formatAgentIdentifier } from "../model/token-names.ts";
import { selectVocabulary } from "../pdf/vocabulary.ts";
import type { UsedRate } from "../rates/rates.ts";
import { MAX_INVOICED_PAYMENTS, MAX_LISTED_PAYMENTS } from "./billable-payments.ts";

/** Most lines of a document: they must fit in a row. */
const MAX_INVOICE_LINES = 1_000;

/**
 * Checks what VAT law requires of the parties, before any payment is read.
 *
 * @throws ApiError 400
 */
export function requireVatNumbers({ vatRate, reverseCharge, Seller, Buyer }: BillingRequest): void {
  if ((vatRate > 0 || reverseCharge) && !Seller.vatNumber?.trim())
    throw new ApiError(400, "Seller.vatNumber: is required when VAT or reverse charge applies");
  if (reverseCharge && !Buyer.vatNumber?.trim())
    throw new ApiError(400, "Buyer.vatNumber: is required for reverse charge");
}

/** @throws ApiError 409 when there is too much for one document */
export function toInvoiceItems(payments: readonly BillablePayment[]): InvoiceItem[] {
  const most = `An invoice has at most ${MAX_INVOICE_LINES} lines for ${MAX_INVOICED_PAYMENTS} payments`;
  if (payments.length > MAX_INVOICED_PAYMENTS)
    throw new ApiError(409, `${most}; this month has more payments`);
  const items = groupItems(payments);
  if (items.length > MAX_INVOICE_LINES)
    throw new ApiError(409, `${most}; this month has ${items.length} for ${payments.length}`);
  return items;
}

/**
 * Everything printed on the invoice.
 *
 * @param names - registered names of agents by their identifiers
 * @param now - epoch milliseconds: the date of issue, unless the request names one
 */
export function composeInvoice(
  request: BillingRequest,
  sellerVkey: string,
  items: readonly InvoiceItem[],
  rates: ReadonlyMap<string, UsedRate>,
  names: ReadonlyMap<string, string>,
  now: number,
): InvoiceContent {
  const { Invoice: options, Seller, Buyer, invoiceCurrency: currency } = request;
  const vatRate = request.reverseCharge ? "0" : String(request.vatRate);
  const rateOf = (unit: string) => rates.get(unit)?.rate ?? "0";
  const nameOf = ({ agentIdentifier, part: { part, of } }: InvoiceItem) => {
    const mark =
      formatAgentIdentifier(agentIdentifier) ||
      selectVocabulary(options.language).unregisteredService;
    const registered = names.get(agentIdentifier);
    const name = registered === undefined ? mark : `${registered} (${mark})`;
    const share = of > 1 ? ` (${part}/${of})` : "";
    return `${options.itemNamePrefix}${name}${options.itemNameSuffix}${share}`;
  };
  const { lines, totals } = priceItems(items, { currency, vatRate, rateOf, nameOf });
  const payments = listCoveredPayments(items);
  const units = [...new Set(items.map(({ unit }) => unit))];
  return {
    language: options.language,
    format: options.localizationFormat ?? options.language,
    issueDate: options.date ?? formatDay(now),
    month: request.month,
    currency,
    seller: copyParty(Seller),
    buyer: copyParty(Buyer),
    sellerVkey,
    buyerVkey: request.buyerWalletVkey.toLowerCase(),
    texts: Object.fromEntries(
      TEXT_FIELDS.map((field) => [field, nullIfBlank(options[field])]),
    ) as InvoiceContent["texts"],
    ...(options.logo !== undefined && { logo: options.logo }),
    tax: { category: toTaxCategory(request), rate: vatRate },
    lines,
    totals,
    conversions: units.map((unit) => ({
      unit,
      amount: String(sumPaidAmounts(unit, items)),
      rate: rateOf(unit),
      source: rates.get(unit)?.source ?? null,
      ...(Object.hasOwn(request.decimals, unit) && { decimals: request.decimals[unit] ?? 0 }),
    })),
    ...(payments.length <= MAX_LISTED_PAYMENTS && { payments }),
    cancels: null,
  };
}

function toTaxCategory({ reverseCharge, vatRate, Seller }: BillingRequest): TaxCategory {
  if (reverseCharge) return "AE";
  if (vatRate > 0) return "S";
  return Seller.vatNumber?.trim() ? "Z" : "O";
}

function sumPaidAmounts(unit: string, items: readonly InvoiceItem[]): bigint {
  return items.reduce(
    (sum, item) => (item.unit === unit ? sum + item.amount * item.quantity : sum),
    0n,
  );
}

/** All printed text that comes from users, by its field. */
export function* listPrintedFields(
  request: BillingRequest,
  content: InvoiceContent,
): Generator<[field: string, text: string]> {
  for (const [name, party] of [
    ["Seller", request.Seller],
    ["Buyer", request.Buyer],
  ] as const)
    for (const [member, value] of Object.entries(party))
      if (value) yield [`${name}.${member}`, value];
  const { logo: _, ...texts } = request.Invoice;
  for (const [member, value] of Object.entries(texts))
    if (value) yield [`Invoice.${member}`, value];
  for (const { source } of content.conversions) if (source) yield ["rate.source", source];
  for (const { name } of content.lines) yield ["agentIdentifier", name];
}
