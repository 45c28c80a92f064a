/**
 * The machine-readable invoice: UN/CEFACT Cross Industry Invoice D16B, as EN 16931 and Factur-X
 * 1.07 (profile EN 16931) use it. Comments name the business terms (BT) that are not obvious from
 * the element. docs/invoices.md lists the rules that it satisfies.
 */

import { findCountryCode, findTaxCurrency, hasVatPrefix } from "../model/countries.ts";
import {
  formatDecimal,
  isZeroDecimal,
  multiply,
  negateDecimal,
  parseDecimal,
  roundHalfUp,
  toFraction,
  trimDecimal,
} from "../model/fractions.ts";
import {
  findPartyName,
  type InvoiceContent,
  type InvoiceParty,
  type TaxCategory,
} from "../model/invoice-content.ts";
import type { CoveredPayment } from "../model/invoice-lines.ts";
import { formatDay, formatLastDay, parseMonth } from "../model/month.ts";
import { toPrintable } from "./glyphs.ts";
import { selectVocabulary } from "./vocabulary.ts";

const SPECIFICATION_ID = "urn:cen.eu:en16931:2017";
/** UNTDID 1001: commercial invoice; corrected invoice, whose amounts are negative. */
const TYPE_CODES = { invoice: "380", cancellation: "384" };
/** UN/ECE Recommendation 20: one. */
const UNIT_CODE_ONE = "C62";
/** UNTDID 4461: mutually defined; the escrow has paid. */
const PAYMENT_MEANS_CODE = "ZZZ";
/** CEF VATEX code list. */
const EXEMPTION_CODES: Partial<Record<TaxCategory, string>> = {
  AE: "VATEX-EU-AE",
  O: "VATEX-EU-O",
};

/**
 * Why no valid XML of an invoice is possible, naming the field; null: it is possible. A party's country
 * must be known by its ISO code or its name. A VAT id must begin with a country's letters (BR-CO-09).
 * VAT must be charged in the currency of the seller's country, since we have no rate for another
 * currency (Art. 230 of Directive 2006/112/EC).
 */
export function findXmlOmissionReason({
  seller,
  buyer,
  tax,
  currency,
  month,
}: InvoiceContent): string | null {
  for (const [field, { country, vatNumber }] of Object.entries({ Seller: seller, Buyer: buyer })) {
    if (findCountryCode(country) === null)
      return `${field}.country: is neither an ISO 3166-1 code nor the English or German name of a country`;
    if (hasVatIds(tax) && vatNumber && !hasVatPrefix(vatNumber))
      return `${field}.vatNumber: does not begin with the letters of a country`;
  }
  const due = findTaxCurrency(findCountryCode(seller.country) ?? "", month);
  if (tax.category === "S" && due !== currency) {
    const expected = due === null ? "which we do not know" : due.toUpperCase();
    return `invoiceCurrency: VAT must also be stated in the currency of the seller's country, ${expected}`;
  }
  return null;
}

/**
 * The XML of an invoice, or null for the reason that `findXmlOmissionReason` gives.
 *
 * @param number - of the paper
 */
export function buildInvoiceXml(number: string, content: InvoiceContent): string | null {
  const { seller, buyer, tax, cancels } = content;
  const sellerCountry = findCountryCode(seller.country);
  const buyerCountry = findCountryCode(buyer.country);
  if (findXmlOmissionReason(content) !== null) return null;
  if (sellerCountry === null || buyerCountry === null) return null;

  const { buyerReference } = content.texts;
  const showVatId = hasVatIds(tax);
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<rsm:CrossIndustryInvoice xmlns:rsm="${NAMESPACE_PREFIX}CrossIndustryInvoice:100" xmlns:ram="${NAMESPACE_PREFIX}ReusableAggregateBusinessInformationEntity:100" xmlns:udt="${NAMESPACE_PREFIX}UnqualifiedDataType:100" xmlns:qdt="${NAMESPACE_PREFIX}QualifiedDataType:100">`,
    buildElement("rsm:ExchangedDocumentContext", [
      buildElement("ram:GuidelineSpecifiedDocumentContextParameter", [
        buildTextElement("ram:ID", SPECIFICATION_ID),
      ]),
    ]),
    buildElement("rsm:ExchangedDocument", [
      buildTextElement("ram:ID", number),
      buildTextElement("ram:TypeCode", cancels ? TYPE_CODES.cancellation : TYPE_CODES.invoice),
      buildElement("ram:IssueDateTime", [buildDate("udt", content.issueDate)]),
    ]),
    buildElement("rsm:SupplyChainTradeTransaction", [
      ...buildLineItems(content),
      buildElement("ram:ApplicableHeaderTradeAgreement", [
        buyerReference && buildTextElement("ram:BuyerReference", toPrintable(buyerReference)),
        buildParty("Seller", seller, sellerCountry, content.sellerVkey, showVatId),
        buildParty("Buyer", buyer, buyerCountry, content.buyerVkey, showVatId),
      ]),
      "<ram:ApplicableHeaderTradeDelivery/>",
      buildSettlement(content),
    ]),
    "</rsm:CrossIndustryInvoice>",
    "",
  ].join("\n");
}

/** The rules for "outside the scope of VAT" forbid the ids (BR-O-02). */
function hasVatIds({ category }: InvoiceContent["tax"]): boolean {
  return category !== "O";
}

const NAMESPACE_PREFIX = "urn:un:unece:uncefact:data:standard:";

function buildLineItems(content: InvoiceContent): string[] {
  const sign = createSignApplier(content);
  const payments = Map.groupBy(content.payments ?? [], ({ line }) => line);
  return content.lines.map(({ name, quantity, unitPrice, net, subject: bought }, index) =>
    buildElement("ram:IncludedSupplyChainTradeLineItem", [
      buildElement("ram:AssociatedDocumentLineDocument", [
        buildTextElement("ram:LineID", String(index + 1)),
        buildLineNote(payments.get(index + 1) ?? []),
      ]),
      buildElement("ram:SpecifiedTradeProduct", [buildTextElement("ram:Name", toPrintable(name))]),
      buildElement("ram:SpecifiedLineTradeAgreement", [
        buildElement("ram:NetPriceProductTradePrice", [
          buildTextElement("ram:ChargeAmount", unitPrice),
        ]),
      ]),
      buildElement("ram:SpecifiedLineTradeDelivery", [
        `<ram:BilledQuantity unitCode="${UNIT_CODE_ONE}">${sign(quantity)}</ram:BilledQuantity>`,
      ]),
      buildElement("ram:SpecifiedLineTradeSettlement", [
        buildElement("ram:ApplicableTradeTax", [
          buildTextElement("ram:TypeCode", "VAT"),
          buildTextElement("ram:CategoryCode", content.tax.category),
          buildRatePercent(content),
        ]),
        buildPeriod(bought.from, bought.to),
        buildElement("ram:SpecifiedTradeSettlementLineMonetarySummation", [
          buildTextElement("ram:LineTotalAmount", sign(net)),
        ]),
        bought.agentIdentifier && buildAgentReference(bought.agentIdentifier),
      ]),
    ]),
  );
}

/** Most transactions that a line's note names: the annex of the PDF has them all. */
const MAX_NOTED_TRANSACTIONS = 100;

/** BT-127: the transactions of the payments that the line bills. */
function buildLineNote(payments: readonly CoveredPayment[]): string | null {
  const hashes = payments.flatMap(({ day, txHash }) => (txHash ? [`${day} ${txHash}`] : []));
  if (hashes.length === 0 || hashes.length > MAX_NOTED_TRANSACTIONS) return null;
  return buildElement("ram:IncludedNote", [buildTextElement("ram:Content", hashes.join("; "))]);
}

/** BT-128, the object that a line is for: 130 is an invoice data sheet of UNTDID 1001. */
function buildAgentReference(agentIdentifier: string): string {
  return buildElement("ram:AdditionalReferencedDocument", [
    buildTextElement("ram:IssuerAssignedID", agentIdentifier),
    buildTextElement("ram:TypeCode", "130"),
  ]);
}

/** From a day to a day, both of them in it. */
function buildPeriod(from: string, to: string): string {
  return buildElement("ram:BillingSpecifiedPeriod", [
    buildElement("ram:StartDateTime", [buildDate("udt", from)]),
    buildElement("ram:EndDateTime", [buildDate("udt", to)]),
  ]);
}

function buildParty(
  role: "Seller" | "Buyer",
  of: InvoiceParty,
  country: string,
  vkey: string,
  showVatId: boolean,
): string {
  const vatNumber = of.vatNumber?.trim();
  return buildElement(`ram:${role}TradeParty`, [
    // BT-29, BT-46: the key of the wallet identifies the party even without a VAT id (BR-CO-26).
    buildTextElement("ram:ID", vkey),
    buildTextElement("ram:Name", toPrintable(findPartyName(of))),
    buildContact(of),
    buildElement("ram:PostalTradeAddress", [
      buildTextElement("ram:PostcodeCode", toPrintable(of.zipCode)),
      buildTextElement("ram:LineOne", toPrintable(`${of.street} ${of.streetNumber}`)),
      buildTextElement("ram:CityName", toPrintable(of.city)),
      buildTextElement("ram:CountryID", country),
    ]),
    of.email &&
      buildElement("ram:URIUniversalCommunication", [
        `<ram:URIID schemeID="EM">${escapeXml(of.email)}</ram:URIID>`,
      ]),
    showVatId &&
      vatNumber &&
      buildElement("ram:SpecifiedTaxRegistration", [
        `<ram:ID schemeID="VA">${escapeXml(vatNumber.toUpperCase())}</ram:ID>`,
      ]),
  ]);
}

/** The contact of a party (BG-6, BG-9). XRechnung requires all three fields of the seller. */
function buildContact({ name, phone, email }: InvoiceParty): string | null {
  if (!name && !phone && !email) return null;
  return buildElement("ram:DefinedTradeContact", [
    name && buildTextElement("ram:PersonName", toPrintable(name)),
    phone &&
      buildElement("ram:TelephoneUniversalCommunication", [
        buildTextElement("ram:CompleteNumber", toPrintable(phone)),
      ]),
    email &&
      buildElement("ram:EmailURIUniversalCommunication", [buildTextElement("ram:URIID", email)]),
  ]);
}

function buildSettlement(content: InvoiceContent): string {
  const { tax, totals, cancels, language } = content;
  const month = parseMonth(content.month);
  const currency = content.currency.toUpperCase();
  const sign = createSignApplier(content);
  const words = selectVocabulary(language);
  const reason = tax.category === "AE" ? words.reverseChargeNotice : words.outsideScopeNotice;
  const code = EXEMPTION_CODES[tax.category];
  return buildElement("ram:ApplicableHeaderTradeSettlement", [
    buildTextElement("ram:InvoiceCurrencyCode", currency),
    buildElement("ram:SpecifiedTradeSettlementPaymentMeans", [
      buildTextElement("ram:TypeCode", PAYMENT_MEANS_CODE),
      buildTextElement("ram:Information", words.paidTotal),
    ]),
    buildElement("ram:ApplicableTradeTax", [
      buildTextElement("ram:CalculatedAmount", sign(totals.vat)),
      buildTextElement("ram:TypeCode", "VAT"),
      code && buildTextElement("ram:ExemptionReason", reason),
      buildTextElement("ram:BasisAmount", sign(totals.net)),
      buildTextElement("ram:CategoryCode", tax.category),
      code && buildTextElement("ram:ExemptionReasonCode", code),
      buildRatePercent(content),
    ]),
    buildPeriod(formatDay(month.startAt), formatLastDay(month)),
    buildElement("ram:SpecifiedTradeSettlementHeaderMonetarySummation", [
      buildTextElement("ram:LineTotalAmount", sign(totals.net)),
      buildTextElement("ram:TaxBasisTotalAmount", sign(totals.net)),
      `<ram:TaxTotalAmount currencyID="${currency}">${sign(totals.vat)}</ram:TaxTotalAmount>`,
      // BT-114: what the rounded lines differ by from what was paid.
      !isZeroDecimal(totals.rounding) &&
        buildTextElement("ram:RoundingAmount", sign(totals.rounding)),
      buildTextElement("ram:GrandTotalAmount", sign(totals.gross)),
      // BT-113, BT-115: the escrow has paid everything.
      buildTextElement("ram:TotalPrepaidAmount", sign(totals.paid)),
      buildTextElement(
        "ram:DuePayableAmount",
        formatDecimal(0n, countFractionDigits(totals.gross)),
      ),
    ]),
    cancels &&
      buildElement("ram:InvoiceReferencedDocument", [
        buildTextElement("ram:IssuerAssignedID", cancels.number),
        buildElement("ram:FormattedIssueDateTime", [buildDate("qdt", cancels.issueDate)]),
      ]),
  ]);
}

/** Outside the scope of VAT there is no rate, not even zero (BR-O-05). */
function buildRatePercent({ tax }: InvoiceContent): string | null {
  if (tax.category === "O") return null;
  const percent = roundHalfUp(multiply(parseDecimal(tax.rate), toFraction(100n)), 4);
  return buildTextElement("ram:RateApplicablePercent", trimDecimal(formatDecimal(percent, 4), 0));
}

/** A cancellation's quantities and sums are negative; its prices are not (BR-27). */
function createSignApplier({ cancels }: InvoiceContent): (decimal: string) => string {
  return (decimal) => (cancels === null ? decimal : negateDecimal(decimal));
}

function countFractionDigits(decimal: string): number {
  return decimal.split(".")[1]?.length ?? 0;
}

/** Format 102 of UNTDID 2379: YYYYMMDD. */
function buildDate(prefix: "udt" | "qdt", day: string): string {
  return `<${prefix}:DateTimeString format="102">${day.replaceAll("-", "")}</${prefix}:DateTimeString>`;
}

/** An element without those of its children that are empty, false or null. */
function buildElement(name: string, children: (string | false | null | undefined)[]): string {
  return `<${name}>${children.filter(Boolean).join("")}</${name}>`;
}

function buildTextElement(name: string, content: string): string {
  return `<${name}>${escapeXml(content)}</${name}>`;
}

/** Text as the content of an XML element or attribute. */
export function escapeXml(content: string): string {
  return content
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
