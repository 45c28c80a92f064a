import { at } from "../ui/path.ts";
import type { Field, Page } from "../ui/resource.ts";

/** The month before this one: the one that invoices are issued for. */
const LAST_MONTH = (() => {
  const date = new Date();
  date.setUTCDate(0);
  return date.toISOString().slice(0, 7);
})();

const month: Field = {
  name: "month",
  label: "Month",
  isRequired: true,
  initial: LAST_MONTH,
};
const party = (who: string): Field => ({
  name: who,
  label: who,
  as: "json",
  isRequired: true,
  initial: JSON.stringify(
    {
      companyName: "",
      vatNumber: null,
      country: "",
      city: "",
      zipCode: "",
      street: "",
      streetNumber: "",
      email: null,
      phone: null,
      name: null,
    },
    null,
    2,
  ),
});

export const invoices: Page = {
  name: "invoices",
  title: "Invoices",
  needs: "+PAY",
  tabs: [
    {
      name: "issued",
      title: "Issued",
      about:
        "Invoices of a month with their revisions and cancellations. Have them reviewed before you use them.",
      path: "/invoice/monthly",
      rows: "Invoices",
      hasNetwork: true,
      empty: "Nothing was invoiced for this month.",
      filters: [month],
      columns: [
        { head: "Number", at: "invoiceNumber" },
        { head: "Kind", at: "kind" },
        { head: "Revision", at: "revisionNumber" },
        { head: "Cancelled", at: "isCancelled", as: "flag" },
        { head: "Date", at: "invoiceDate" },
        { head: "Buyer", at: "Buyer.companyName" },
        { head: "Currency", at: "invoiceCurrency" },
        { head: "Net", at: "netTotal" },
        { head: "VAT", at: "vatTotal" },
        { head: "Gross", at: "grossTotal" },
      ],
      creates: [
        {
          name: "issue",
          label: "Issue",
          about:
            "Makes the invoice of a buyer's wallet for a month, for your own books. A changed one becomes a new revision and cancels the former.",
          method: "POST",
          path: "/invoice/monthly/internal",
          hasNetwork: true,
          fields: [
            { ...month },
            { name: "buyerWalletVkey", label: "Buyer's wallet (key hash)", isRequired: true },
            { name: "sellerWalletVkey", label: "Seller's wallet (key hash)" },
            { name: "invoiceCurrency", label: "Currency", isRequired: true, initial: "eur" },
            { name: "vatRate", label: "VAT rate", as: "number", hint: "A fraction, such as 0.19." },
            { name: "reverseCharge", label: "Reverse charge", as: "flag" },
            party("Seller"),
            party("Buyer"),
          ],
          shows: [{ head: "PDF", at: "invoice", as: "pdf" }],
        },
      ],
      actions: [
        {
          name: "pdf",
          label: "Download PDF",
          about: "Reads the PDF of this invoice with its revisions.",
          method: "GET",
          path: "/invoice/monthly",
          hasNetwork: true,
          needs: "+PAY",
          fixed: { includePdf: "true", limit: "1" },
          fromRow: { month: "month", invoiceBaseId: "invoiceBaseId" },
          shows: [{ head: "PDF", at: "Invoices.0.pdf", as: "pdf" }],
          when: (row) => at(row, "invoiceBaseId") !== undefined,
        },
      ],
    },
    {
      name: "missing",
      title: "Not invoiced",
      about: "Payments of a month that are on no invoice.",
      path: "/invoice/monthly/missing",
      rows: "UninvoicedPayments",
      hasNetwork: true,
      empty: "Every payment of this month is on an invoice.",
      filters: [month, { name: "buyerWalletVkey", label: "Buyer's wallet (key hash)" }],
      columns: [
        { head: "Payment", at: "id" },
        { head: "State", at: "onChainState", as: "tag" },
        { head: "Billable", at: "billableAt", as: "time" },
        { head: "Buyer", at: "buyerWalletVkey", as: "code" },
        { head: "Seller", at: "sellerWalletVkey", as: "code" },
        { head: "Funds", at: "Funds", as: "funds" },
      ],
    },
    {
      name: "rates",
      title: "Rates",
      about: "What a unit was worth at the end of a month. An invoice without its rate is refused.",
      needs: "Admin",
      path: "/invoice/rates",
      rows: "Rates",
      key: "unit",
      empty: "No rate is stored for this month and currency.",
      filters: [month, { name: "currency", label: "Currency" }],
      columns: [
        { head: "Unit", at: "unit" },
        { head: "Currency", at: "currency" },
        { head: "Rate", at: "rate" },
        { head: "Source", at: "source" },
        { head: "Stored", at: "updatedAt", as: "time" },
      ],
      creates: [
        {
          name: "store",
          label: "Store rate",
          about: "Stores the end-of-month rate of a unit, in place of an earlier one.",
          method: "POST",
          path: "/invoice/rates",
          fields: [
            { name: "unit", label: "Unit", hint: "Empty: the native coin.", isEmptySent: true },
            { name: "currency", label: "Currency", isRequired: true, initial: "eur" },
            { ...month },
            { name: "rate", label: "Rate", isRequired: true },
            { name: "source", label: "Source", isRequired: true, hint: "Where the rate is from." },
          ],
        },
      ],
    },
  ],
};
