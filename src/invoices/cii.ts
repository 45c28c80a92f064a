/**
 * The invoice for machines: UN/CEFACT Cross Industry Invoice D16B, as EN 16931 and Factur-X 1.07
 * (profile EN 16931) use it. Comments name the business terms (BT) that are not plain from the
 * element. docs/invoices.md has the rules that this keeps.
 */
import type { InvoiceContent, TaxCategory } from "./content.ts";
import { countryCode, taxCurrency } from "./countries.ts";
import { printable } from "./glyphs.ts";
import { formatDecimal, parseDecimal, roundHalfUp, times, trimDecimal, whole } from "./money.ts";
import { dayOf, type Month, parseMonth } from "./month.ts";
import { nameOf, type Party } from "./party.ts";
import { vocabulary } from "./texts.ts";

const PROFILE = "urn:cen.eu:en16931:2017";
/** UNTDID 1001: commercial invoice; corrected invoice, whose amounts are negative. */
const TYPE_CODES = { invoice: "380", cancellation: "384" };
/** UN/ECE Recommendation 20: one. */
const PIECES = "C62";
/** CEF VATEX code list. */
const EXEMPTION_CODES: Partial<Record<TaxCategory, string>> = {
  AE: "VATEX-EU-AE",
  O: "VATEX-EU-O",
};

/**
 * The XML of an invoice, or null where none that is right can be made: a party's country is not
 * known by its ISO code or its name, a VAT id does not begin with a country's letters (BR-CO-09), or
 * VAT is charged in another currency than the seller's country takes it in (Art. 230 of Directive
 * 2006/112/EC), for which we have no rate.
 *
 * @param number - of the paper
 */
export function invoiceXml(number: string, content: InvoiceContent): string | null {
  const { seller, buyer, tax, cancels } = content;
  const countries = { seller: countryCode(seller.country), buyer: countryCode(buyer.country) };
  const month = parseMonth(content.month);
  if (countries.seller === null || countries.buyer === null || month === null) return null;
  if (!isVatId(seller.vatNumber) || !isVatId(buyer.vatNumber)) return null;
  if (tax.category === "S" && taxCurrency(countries.seller) !== content.currency) return null;

  // The rules of "outside the scope of VAT" forbid the ids (BR-O-02).
  const showVatId = tax.category !== "O";
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<rsm:CrossIndustryInvoice xmlns:rsm="${NAMESPACE}CrossIndustryInvoice:100" xmlns:ram="${NAMESPACE}ReusableAggregateBusinessInformationEntity:100" xmlns:udt="${NAMESPACE}UnqualifiedDataType:100" xmlns:qdt="${NAMESPACE}QualifiedDataType:100">`,
    element("rsm:ExchangedDocumentContext", [
      element("ram:GuidelineSpecifiedDocumentContextParameter", [text("ram:ID", PROFILE)]),
    ]),
    element("rsm:ExchangedDocument", [
      text("ram:ID", number),
      text("ram:TypeCode", cancels ? TYPE_CODES.cancellation : TYPE_CODES.invoice),
      element("ram:IssueDateTime", [date("udt", content.issueDate)]),
    ]),
    element("rsm:SupplyChainTradeTransaction", [
      ...lineItems(content),
      element("ram:ApplicableHeaderTradeAgreement", [
        party("Seller", seller, countries.seller, content.sellerVkey, showVatId),
        party("Buyer", buyer, countries.buyer, content.buyerVkey, showVatId),
      ]),
      "<ram:ApplicableHeaderTradeDelivery/>",
      settlement(content, month),
    ]),
    "</rsm:CrossIndustryInvoice>",
    "",
  ].join("\n");
}

const NAMESPACE = "urn:un:unece:uncefact:data:standard:";

function isVatId(vatNumber: string | null | undefined): boolean {
  if (!vatNumber?.trim()) return true;
  const prefix = vatNumber.trim().slice(0, 2).toUpperCase();
  return prefix === "EL" || countryCode(prefix) !== null;
}

function lineItems(content: InvoiceContent): string[] {
  const sign = signOf(content);
  return content.lines.map(({ name, quantity, unitPrice, net }, index) =>
    element("ram:IncludedSupplyChainTradeLineItem", [
      element("ram:AssociatedDocumentLineDocument", [text("ram:LineID", String(index + 1))]),
      element("ram:SpecifiedTradeProduct", [text("ram:Name", printable(name))]),
      element("ram:SpecifiedLineTradeAgreement", [
        element("ram:NetPriceProductTradePrice", [text("ram:ChargeAmount", unitPrice)]),
      ]),
      element("ram:SpecifiedLineTradeDelivery", [
        `<ram:BilledQuantity unitCode="${PIECES}">${sign(quantity)}</ram:BilledQuantity>`,
      ]),
      element("ram:SpecifiedLineTradeSettlement", [
        element("ram:ApplicableTradeTax", [
          text("ram:TypeCode", "VAT"),
          text("ram:CategoryCode", content.tax.category),
          ...ratePercent(content),
        ]),
        element("ram:SpecifiedTradeSettlementLineMonetarySummation", [
          text("ram:LineTotalAmount", sign(net)),
        ]),
      ]),
    ]),
  );
}

function party(
  role: "Seller" | "Buyer",
  of: Party,
  country: string,
  vkey: string,
  showVatId: boolean,
): string {
  const vatNumber = of.vatNumber?.trim();
  return element(`ram:${role}TradeParty`, [
    // BT-29, BT-46: the key of the wallet identifies the party even without a VAT id (BR-CO-26).
    text("ram:ID", vkey),
    text("ram:Name", printable(nameOf(of))),
    element("ram:PostalTradeAddress", [
      text("ram:PostcodeCode", printable(of.zipCode)),
      text("ram:LineOne", printable(`${of.street} ${of.streetNumber}`)),
      text("ram:CityName", printable(of.city)),
      text("ram:CountryID", country),
    ]),
    ...(of.email
      ? [
          element("ram:URIUniversalCommunication", [
            `<ram:URIID schemeID="EM">${escapeXml(of.email)}</ram:URIID>`,
          ]),
        ]
      : []),
    ...(showVatId && vatNumber
      ? [
          element("ram:SpecifiedTaxRegistration", [
            `<ram:ID schemeID="VA">${escapeXml(vatNumber.toUpperCase())}</ram:ID>`,
          ]),
        ]
      : []),
  ]);
}

function settlement(content: InvoiceContent, month: Month): string {
  const { tax, totals, cancels, language } = content;
  const currency = content.currency.toUpperCase();
  const sign = signOf(content);
  const words = vocabulary(language);
  const reason = tax.category === "AE" ? words.reverseCharge : words.outsideScope;
  const code = EXEMPTION_CODES[tax.category];
  return element("ram:ApplicableHeaderTradeSettlement", [
    text("ram:InvoiceCurrencyCode", currency),
    element("ram:ApplicableTradeTax", [
      text("ram:CalculatedAmount", sign(totals.vat)),
      text("ram:TypeCode", "VAT"),
      ...(code === undefined ? [] : [text("ram:ExemptionReason", reason)]),
      text("ram:BasisAmount", sign(totals.net)),
      text("ram:CategoryCode", tax.category),
      ...(code === undefined ? [] : [text("ram:ExemptionReasonCode", code)]),
      ...ratePercent(content),
    ]),
    element("ram:BillingSpecifiedPeriod", [
      element("ram:StartDateTime", [date("udt", dayOf(month.start))]),
      element("ram:EndDateTime", [date("udt", dayOf(month.end - 1))]),
    ]),
    element("ram:SpecifiedTradeSettlementHeaderMonetarySummation", [
      text("ram:LineTotalAmount", sign(totals.net)),
      text("ram:TaxBasisTotalAmount", sign(totals.net)),
      `<ram:TaxTotalAmount currencyID="${currency}">${sign(totals.vat)}</ram:TaxTotalAmount>`,
      text("ram:GrandTotalAmount", sign(totals.gross)),
      // BT-113, BT-115: the escrow has paid it all.
      text("ram:TotalPrepaidAmount", sign(totals.gross)),
      text("ram:DuePayableAmount", formatDecimal(0n, digitsOf(totals.gross))),
    ]),
    ...(cancels
      ? [
          element("ram:InvoiceReferencedDocument", [
            text("ram:IssuerAssignedID", cancels.number),
            element("ram:FormattedIssueDateTime", [date("qdt", cancels.issueDate)]),
          ]),
        ]
      : []),
  ]);
}

/** Outside the scope of VAT there is no rate, not even zero (BR-O-05). */
function ratePercent({ tax }: InvoiceContent): string[] {
  if (tax.category === "O") return [];
  const percent = roundHalfUp(times(parseDecimal(tax.rate), whole(100n)), 4);
  return [text("ram:RateApplicablePercent", trimDecimal(formatDecimal(percent, 4), 0))];
}

/** A cancellation's quantities and sums are negative; its prices are not (BR-27). */
function signOf({ cancels }: InvoiceContent): (decimal: string) => string {
  return (decimal) => (cancels !== null && /[1-9]/.test(decimal) ? `-${decimal}` : decimal);
}

function digitsOf(decimal: string): number {
  return decimal.split(".")[1]?.length ?? 0;
}

/** Format 102 of UNTDID 2379: YYYYMMDD. */
function date(prefix: "udt" | "qdt", day: string): string {
  return `<${prefix}:DateTimeString format="102">${day.replaceAll("-", "")}</${prefix}:DateTimeString>`;
}

function element(name: string, children: string[]): string {
  return `<${name}>${children.join("")}</${name}>`;
}

function text(name: string, content: string): string {
  return `<${name}>${escapeXml(content)}</${name}>`;
}

function escapeXml(content: string): string {
  return content
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
