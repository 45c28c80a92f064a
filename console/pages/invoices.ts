import { decimalsOf, formatFunds, formatUnit, shortenId, toWholeCoinRate } from "../ui/format.ts";
import { arrayAt, textAt, valueAt } from "../ui/path.ts";
import type { Action, Field, KnownIds, PageDefinition } from "../ui/resource.ts";
import type { Funds } from "./escrow/sides.ts";
import { checkPercent } from "./fields/checks.ts";
import { tokenField } from "./fields/funds.ts";
import { SELLING_WALLET_KEYS, WALLET_KEYS } from "./fields/known-ids.ts";

/** The month before this one: the one that invoices are issued for. */
const PREVIOUS_MONTH = (() => {
  const date = new Date();
  date.setUTCDate(0);
  return date.toISOString().slice(0, 7);
})();

const STORE_RATE = { label: "Store rate", tab: "rates", action: "store", needs: "Admin" } as const;

const monthField: Field = {
  name: "month",
  label: "Month",
  as: "month",
  isRequired: true,
  initial: PREVIOUS_MONTH,
  isShared: true,
};
/** The fields of a company or a person under its heading. */
const createPartyFields = (who: "Seller" | "Buyer"): Field[] => {
  const fields: Field[] = [
    { name: "companyName", label: "Company", hint: "A company or a person is required." },
    { name: "name", label: "Person" },
    { name: "street", label: "Street", isRequired: true },
    { name: "streetNumber", label: "House number", isRequired: true },
    { name: "zipCode", label: "Postal code", isRequired: true },
    { name: "city", label: "City", isRequired: true },
    { name: "country", label: "Country", isRequired: true },
    {
      name: "vatNumber",
      label: "VAT number",
      hint: "The seller needs it for VAT and reverse charge.",
    },
    { name: "email", label: "E-mail" },
    { name: "phone", label: "Telephone" },
  ];
  return fields.map((field) => ({ ...field, name: `${who}.${field.name}`, group: who }));
};

/** An amount of an invoice with its currency: `61 500.00 EUR`. */
const describeMoney = (path: string) => (row: unknown) => {
  const [whole = "", ...rest] = textAt(row, path).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, " ");
  return `${[grouped, ...rest].join(".")} ${textAt(row, "invoiceCurrency").toUpperCase()}`;
};

/** What a stored rate is for: one whole coin, unless its decimals are not known. */
function describeRatedUnit(row: unknown): string {
  const unit = textAt(row, "unit");
  const name = formatUnit(unit);
  return decimalsOf(unit) === undefined ? `1 minor unit of ${name}` : `1 ${name}`;
}

function describeRate(row: unknown): string {
  const rate = toWholeCoinRate(textAt(row, "rate"), decimalsOf(textAt(row, "unit")) ?? 0);
  return `${rate} ${textAt(row, "currency").toUpperCase()}`;
}

function describeKind(row: unknown): string {
  const revision = Number(textAt(row, "revisionNumber"));
  const kind = textAt(row, "kind");
  const numbered = revision > 1 ? `${kind}, revision ${revision}` : kind;
  return valueAt(row, "isCancelled") === true ? `${numbered}, cancelled` : numbered;
}

function describeBuyer(row: unknown): string {
  const funds = (valueAt(row, "Funds") ?? []) as Funds[];
  const paid = funds.map(({ amount, unit }) => formatFunds(amount, unit)).join(" and ");
  return `${shortenId(textAt(row, "buyerWalletVkey"))}, last paid ${paid}`;
}

/** Buyers with payments of a month that are on no invoice, each by the newest of the payments. */
const createBuyerIds = ({ month = "" }: Readonly<Record<string, string>>): KnownIds => ({
  path: "/invoice/monthly/missing",
  query: { month },
  rowsMember: "UninvoicedPayments",
  idPath: "buyerWalletVkey",
  labelPaths: [],
  describe: describeBuyer,
  hasNetwork: true,
  access: "+PAY",
});

/** Units of payments that no rate is stored for. Null: there is none. */
function describeMissingRates(
  [payments = [], rates = []]: readonly (readonly unknown[])[],
  { month = "", invoiceCurrency = "" }: Readonly<Record<string, string>>,
): string | null {
  const paid = payments.flatMap((row) => arrayAt(row, "Funds") as Funds[]);
  const rated = rates.map((row) => textAt(row, "unit"));
  const units = new Set(paid.map(({ unit }) => unit).filter((unit) => !rated.includes(unit)));
  if (units.size === 0) return null;
  const names = [...units].map(formatUnit).join(" and ");
  return `No rate of ${names} in ${invoiceCurrency.toUpperCase()} is stored for ${month}. Without a price source the service refuses the invoice.`;
}

const issueAction: Action = {
  name: "issue",
  label: "Issue invoice",
  description:
    "Makes the invoice of a buyer's wallet for a month, for your own books. A changed one becomes a new revision and cancels the former. Each unit that was paid needs its rate of that month, which Store rate in the tab Rates stores.",
  remedy: {
    ...STORE_RATE,
    field: "CurrencyConversion",
    passes: { month: "month", currency: "invoiceCurrency" },
  },
  prerequisite: {
    lists: [
      {
        path: "/invoice/monthly/missing",
        query: { limit: "100" },
        fromFields: { month: "month", buyerWalletVkey: "buyerWalletVkey" },
        hasNetwork: true,
        rowsMember: "UninvoicedPayments",
      },
      {
        path: "/invoice/rates",
        query: { limit: "100" },
        fromFields: { month: "month", currency: "invoiceCurrency" },
        rowsMember: "Rates",
      },
    ],
    describe: (rows, _, values) => describeMissingRates(rows, values),
    hasRemedy: true,
  },
  method: "POST",
  path: "/invoice/monthly/internal",
  hasNetwork: true,
  fields: [
    monthField,
    {
      name: "buyerWalletVkey",
      label: "Buyer's wallet",
      isRequired: true,
      knownIdsBy: createBuyerIds,
      hint: "The list offers buyers whose payments of the month are on no invoice.",
    },
    { name: "sellerWalletVkey", label: "Seller's wallet", knownIds: SELLING_WALLET_KEYS },
    { name: "invoiceCurrency", label: "Currency", isRequired: true, initial: "EUR" },
    { name: "vatRate", label: "VAT in percent", as: "number", check: checkPercent },
    { name: "reverseCharge", label: "Reverse charge", as: "flag" },
    ...createPartyFields("Seller"),
    ...createPartyFields("Buyer"),
  ],
  override: {
    name: "confirmRate",
    label: "Issue it although a rate differs 100 times, or an amount rounds to zero",
  },
  // A fraction of the API; percents have at most four decimals.
  toBody: (filled) =>
    typeof filled.vatRate === "number"
      ? { ...filled, vatRate: Number((filled.vatRate / 100).toFixed(6)) }
      : filled,
  shows: [{ heading: "PDF", path: "invoice", as: "pdf" }],
};

/** The invoice of the buyer of a payment, for the payment's month. */
function createIssueRowAction(row: unknown): Action {
  const known: Readonly<Record<string, string>> = {
    month: textAt(row, "billableAt").slice(0, "2026-11".length),
    buyerWalletVkey: textAt(row, "buyerWalletVkey"),
    sellerWalletVkey: textAt(row, "sellerWalletVkey"),
  };
  const fields = (issueAction.fields ?? []).map((field) => {
    const initial = known[field.name];
    return initial ? { ...field, initial } : field;
  });
  return { ...issueAction, fields };
}

const storeRateAction: Action = {
  name: "store",
  label: "Store rate",
  description: "Stores the end-of-month rate of one whole coin, in place of an earlier one.",
  method: "POST",
  path: "/invoice/rates",
  fields: [
    { ...tokenField, label: "Unit" },
    {
      name: "decimals",
      label: "Decimals of the unit",
      as: "number",
      isRequired: true,
      isShown: ({ unit = "" }) => decimalsOf(unit) === undefined,
      hint: "The service does not know them. ADA has 6; 0 means that no coin is divided.",
    },
    { name: "currency", label: "Currency", isRequired: true, initial: "EUR" },
    monthField,
    {
      name: "rate",
      label: "Rate",
      labelBy: ({ unit = "", currency }) =>
        `${(currency || "Currency").toUpperCase()} for one ${formatUnit(unit)}`,
      isRequired: true,
    },
    { name: "source", label: "Source", isRequired: true, hint: "Where the rate is from." },
  ],
  override: { name: "confirmRate", label: "Store it although it differs 100 times" },
  // The API takes a rate without decimals as one per minor unit.
  toBody: (filled) => ({ decimals: decimalsOf(String(filled.unit)), ...filled }),
};

export const invoicesPage: PageDefinition = {
  name: "invoices",
  title: "Invoices",
  access: "+PAY",
  tabs: [
    {
      name: "issued",
      title: "Issued",
      description:
        "Invoices of a month with their revisions and cancellations. Have them reviewed before you use them.",
      path: "/invoice/monthly",
      rowsMember: "Invoices",
      hasNetwork: true,
      elsewhere: [{ label: "Payments without an invoice", tab: "missing", needs: "+PAY" }],
      emptyText: "The month above has no invoice. Choose another month, or issue one.",
      filters: [monthField],
      columns: [
        { heading: "Number", path: "invoiceNumber" },
        { heading: "Kind", path: "kind", describe: describeKind },
        { heading: "Date", path: "invoiceDate" },
        { heading: "Buyer", path: "Buyer.companyName" },
        { heading: "Net", path: "netTotal", describe: describeMoney("netTotal") },
        { heading: "VAT", path: "vatTotal", describe: describeMoney("vatTotal") },
        { heading: "Gross", path: "grossTotal", describe: describeMoney("grossTotal") },
      ],
      details: [
        { heading: "Revision", path: "revisionNumber" },
        { heading: "Cancelled", path: "isCancelled", as: "flag" },
      ],
      creates: [issueAction],
      actions: [
        {
          name: "pdf",
          label: "Download PDF",
          description: "Reads the PDF of this invoice with its revisions.",
          method: "GET",
          path: "/invoice/monthly",
          hasNetwork: true,
          needs: "+PAY",
          fixed: { includePdf: "true", limit: "1" },
          fromRow: { month: "month", invoiceBaseId: "invoiceBaseId" },
          shows: [{ heading: "PDF", path: "Invoices.0.pdf", as: "pdf" }],
          isApplicable: (row) => valueAt(row, "invoiceBaseId") !== undefined,
        },
      ],
    },
    {
      name: "missing",
      title: "Not invoiced",
      description:
        "Payments of a month that are on no invoice. Open one to issue the invoice of its buyer.",
      listRowActions: (row) => [createIssueRowAction(row)],
      elsewhere: [STORE_RATE],
      path: "/invoice/monthly/missing",
      rowsMember: "UninvoicedPayments",
      hasNetwork: true,
      emptyText: "No payment of the month above lacks an invoice. Choose another month.",
      filters: [monthField, { name: "buyerWalletVkey", label: "Buyer's wallet" }],
      columns: [
        { heading: "Payment", path: "id" },
        { heading: "State", path: "onChainState", as: "tag" },
        { heading: "Billable", path: "billableAt", as: "time" },
        { heading: "Buyer", path: "buyerWalletVkey", as: "code" },
        { heading: "Seller", path: "sellerWalletVkey", knownIds: WALLET_KEYS },
        { heading: "Funds", path: "Funds", as: "funds" },
      ],
    },
    {
      name: "rates",
      title: "Rates",
      description:
        "What one coin was worth at the end of a month. An invoice without its rate is refused.",
      needs: "Admin",
      path: "/invoice/rates",
      rowsMember: "Rates",
      key: "unit",
      emptyText:
        "No rate is stored for this month and currency. Store one before you issue invoices.",
      filters: [monthField, { name: "currency", label: "Currency" }],
      columns: [
        { heading: "Unit", path: "unit", describe: describeRatedUnit },
        { heading: "Rate", path: "rate", describe: describeRate },
        { heading: "Source", path: "source" },
        { heading: "Stored", path: "updatedAt", as: "time" },
      ],
      creates: [storeRateAction],
    },
  ],
};
