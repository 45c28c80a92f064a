import * as z from "zod";
import { described, textField, timestampField } from "../http/openapi/fields.ts";
import { invoiceRecord, uninvoicedPayment } from "../invoices/model/response-schemas.ts";

type Invoice = z.infer<typeof invoiceRecord>;
const { shape } = invoiceRecord;

const PARTY_FIELDS = [
  ...["Name", "CompanyName", "VatNumber", "Country", "City", "ZipCode"],
  ...["Street", "StreetNumber", "Email", "Phone"],
];
const nullableText = (what: string) => described(z.string().nullable(), what, null);

/** `sellerCity` and the like, from the members of `Seller` and `Buyer`. */
function mapParties<Value>(build: (party: "Seller" | "Buyer", member: string) => Value) {
  const parties = ["Seller", "Buyer"] as const;
  const entries = parties.flatMap((party) =>
    PARTY_FIELDS.map((name) => [
      `${party.toLowerCase()}${name}`,
      build(party, `${name.charAt(0).toLowerCase()}${name.slice(1)}`),
    ]),
  );
  return Object.fromEntries(entries) as Record<string, Value>;
}

/** Fields of invoices in lists of the payment service. */
export const INVOICE_FIELDS = {
  schema: {
    ...mapParties((party, member) => nullableText(`\`${member}\` of \`${party}\`.`)),
    invoiceId: shape.invoiceNumber,
    revisionId: shape.id,
    revisionCount: shape.revisionNumber,
    invoiceMonth: described(z.int(), "Month of `month`, from 1.", 11),
    invoiceYear: described(z.int(), "Year of `month`.", 2026),
    currencyShortId: shape.invoiceCurrency,
    invoiceTitle: shape.title,
    invoiceDescription: shape.description,
    cancellationReason: nullableText("Of a cancellation: its reasons. Null: an invoice."),
    cancellationDate: nullableText("Of a cancellation: its date. Null: an invoice."),
    cancellationId: nullableText("Of a cancellation: its number. Null: an invoice."),
    itemCount: described(z.int(), "Number of `Items`.", 1),
    CoveredPaymentRequestIds: described(
      z.array(textField("Id of a payment.")),
      "Always empty: `CoveredPayments` has the transactions of the payments.",
    ),
    invoiceDate: timestampField("Begin of the day of the invoice."),
    vatRate: described(z.number(), "VAT as a fraction.", 0.19),
    invoicePdf: textField("The document as a PDF. Empty: not asked for."),
    cancellationInvoicePdf: nullableText("`pdf` of a cancellation. Null: not asked for."),
  },
  fieldsOf(record: object) {
    const invoice = record as Invoice;
    const [year, month] = invoice.month.split("-").map(Number);
    const { Cancels, pdf = null } = invoice;
    const invoiceDate = `${invoice.invoiceDate.slice(0, 10)}T00:00:00.000Z`;
    return {
      ...mapParties((party, member) => Reflect.get(invoice[party], member) ?? null),
      invoiceId: invoice.invoiceNumber,
      revisionId: invoice.id,
      revisionCount: invoice.revisionNumber,
      invoiceMonth: month,
      invoiceYear: year,
      currencyShortId: invoice.invoiceCurrency,
      invoiceTitle: invoice.title,
      invoiceDescription: invoice.description,
      cancellationReason: Cancels?.reasons.join(", ") ?? null,
      cancellationDate: Cancels && invoiceDate,
      cancellationId: Cancels && invoice.invoiceNumber,
      itemCount: invoice.Items.length,
      CoveredPaymentRequestIds: [],
      invoiceDate,
      vatRate: Number(invoice.vatRate),
      invoicePdf: pdf ?? "",
      cancellationInvoicePdf: Cancels ? pdf : null,
    };
  },
};

const noAddress = described(
  z.null(),
  "Always null: the chain record has the key hash alone.",
  null,
);

/** Fields of uninvoiced payments that the payment service has. */
export const UNINVOICED_FIELDS = {
  schema: {
    finalizedAt: uninvoicedPayment.shape.billableAt,
    buyerWalletAddress: noAddress,
    sellerWalletAddress: noAddress,
    RequestedFunds: uninvoicedPayment.shape.Funds,
  },
  fieldsOf({ billableAt, Funds }: Record<string, unknown>) {
    const addresses = { buyerWalletAddress: null, sellerWalletAddress: null };
    return { finalizedAt: billableAt, RequestedFunds: Funds, ...addresses };
  },
};
