/**
 * The rules of EN 16931 that our invoices can break, by the standard's numbers. Invoices with a buyer's reference
 * also obey XRechnung. docs/invoices.md lists these rules and the ones that do not apply.
 */

interface Line {
  id: string;
  name: string;
  quantity: string;
  unitCode: string;
  price: string;
  net: string;
  category: string;
  rate: string;
  /** First and last day, YYYYMMDD. */
  period: string[];
}

interface Invoice {
  /** Texts of the elements of that name outside the lines, in order. */
  texts(name: string): string[];
  text(name: string): string;
  lines: Line[];
  seller: string;
  buyer: string;
  tax: { basis: string; amount: string; category: string; rate: string; reason: string };
}

/** All texts of an element, by its local name. */
function textsIn(xml: string, name: string): string[] {
  const pattern = new RegExp(`<\\w+:${name}(?: [^>]*)?>([^<]*)</\\w+:${name}>`, "g");
  return [...xml.matchAll(pattern)].map(([, text = ""]) => text);
}

/** All elements of a name with what is in them. */
function elementsIn(xml: string, name: string): string[] {
  return xml.match(new RegExp(`<ram:${name}>.*?</ram:${name}>`, "gs")) ?? [];
}

function read(xml: string): Invoice {
  const items = elementsIn(xml, "IncludedSupplyChainTradeLineItem");
  const rest = items.reduce((left, item) => left.replace(item, ""), xml);
  const first = (within: string, name: string) => textsIn(within, name)[0] ?? "";
  const [taxXml = ""] = elementsIn(rest, "ApplicableTradeTax");
  return {
    texts: (name) => textsIn(rest, name),
    text: (name) => first(rest, name),
    lines: items.map((item) => ({
      id: first(item, "LineID"),
      name: first(item, "Name"),
      quantity: first(item, "BilledQuantity"),
      unitCode: /<ram:BilledQuantity unitCode="(\w+)">/.exec(item)?.[1] ?? "",
      price: first(item, "ChargeAmount"),
      net: first(item, "LineTotalAmount"),
      category: first(item, "CategoryCode"),
      rate: first(item, "RateApplicablePercent"),
      period: textsIn(item, "DateTimeString"),
    })),
    seller: elementsIn(rest, "SellerTradeParty")[0] ?? "",
    buyer: elementsIn(rest, "BuyerTradeParty")[0] ?? "",
    tax: {
      basis: first(taxXml, "BasisAmount"),
      amount: first(taxXml, "CalculatedAmount"),
      category: first(taxXml, "CategoryCode"),
      rate: first(taxXml, "RateApplicablePercent"),
      reason: first(taxXml, "ExemptionReason"),
    },
  };
}

const DIGITS = 10;
/** Decimal text in units of 10^-10. */
function amount(text: string): bigint {
  const [, sign, whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d{1,10}))?$/.exec(text) ?? [];
  if (whole === "") return -(2n ** 200n);
  return BigInt(`${sign}${whole}${fraction.padEnd(DIGITS, "0")}`);
}

/** Rounded half away from zero to as many digits as a text has. */
function rounded(units: bigint, like: string): bigint {
  const step = 10n ** BigInt(DIGITS - (like.split(".")[1]?.length ?? 0));
  const magnitude = ((units < 0n ? -units : units) * 2n + step) / (step * 2n);
  return (units < 0n ? -magnitude : magnitude) * step;
}

const sum = (values: bigint[]) => values.reduce((total, value) => total + value, 0n);
const vatIds = (party: string) =>
  [...party.matchAll(/<ram:ID schemeID="VA">([^<]*)</g)].map(([, id = ""]) => id);
const contactOf = (party: string) => elementsIn(party, "DefinedTradeContact")[0] ?? "";
/** Electronic addresses, BT-34 and BT-49. */
const addressesOf = (party: string) => elementsIn(party, "URIUniversalCommunication");
const isEmail = (address: string) => address.includes('<ram:URIID schemeID="EM">');
const linesSum = ({ lines }: Invoice) => sum(lines.map(({ net }) => amount(net)));
/** That a rule of a category holds, or the invoice is of another. */
const of =
  (category: string, holds: (invoice: Invoice) => boolean) =>
  (invoice: Invoice): boolean =>
    invoice.tax.category !== category || holds(invoice);
const everyLine = (holds: (line: Line) => boolean) => (invoice: Invoice) =>
  invoice.lines.every(holds);
/** That a rule of XRechnung holds, or the invoice has no buyer's reference. */
const withReference =
  (holds: (invoice: Invoice) => boolean) =>
  (invoice: Invoice): boolean =>
    invoice.texts("BuyerReference").length === 0 || holds(invoice);
const has = (within: string, name: string) => (textsIn(within, name)[0] ?? "").trim() !== "";
const hasTaxOf = ({ lines, tax, texts }: Invoice) =>
  texts("CategoryCode").length === 1 && lines.every(({ category }) => category === tax.category);
const isZero = (text: string) => /^-?0+(\.0+)?$/.test(text);

const RULES: Record<string, (invoice: Invoice) => boolean> = {
  "BR-01": ({ texts }) => texts("ID")[0] === "urn:cen.eu:en16931:2017",
  "BR-02": ({ texts }) => (texts("ID")[1] ?? "") !== "",
  "BR-03": ({ text }) => /^\d{8}$/.test(text("DateTimeString")),
  "BR-04": ({ texts }) => ["380", "384"].includes(texts("TypeCode")[0] ?? ""),
  "BR-05": ({ text }) => /^[A-Z]{3}$/.test(text("InvoiceCurrencyCode")),
  "BR-06": ({ seller }) => (textsIn(seller, "Name")[0] ?? "") !== "",
  "BR-07": ({ buyer }) => (textsIn(buyer, "Name")[0] ?? "") !== "",
  "BR-08": ({ seller }) => seller.includes("<ram:PostalTradeAddress>"),
  "BR-09": ({ seller }) => /^[A-Z]{2}$/.test(textsIn(seller, "CountryID")[0] ?? ""),
  "BR-10": ({ buyer }) => buyer.includes("<ram:PostalTradeAddress>"),
  "BR-11": ({ buyer }) => /^[A-Z]{2}$/.test(textsIn(buyer, "CountryID")[0] ?? ""),
  "BR-12": ({ texts }) => texts("LineTotalAmount").length === 1,
  "BR-13": ({ texts }) => texts("TaxBasisTotalAmount").length === 1,
  "BR-14": ({ texts }) => texts("GrandTotalAmount").length === 1,
  "BR-15": ({ texts }) => texts("DuePayableAmount").length === 1,
  "BR-16": ({ lines }) => lines.length > 0,
  "BR-21": everyLine(({ id }) => id !== ""),
  "BR-22": everyLine(({ quantity }) => /^-?\d+$/.test(quantity)),
  "BR-23": everyLine(({ unitCode }) => unitCode === "C62"),
  "BR-24": everyLine(({ net }) => net !== ""),
  "BR-25": everyLine(({ name }) => name !== ""),
  "BR-26": everyLine(({ price }) => price !== ""),
  "BR-27": everyLine(({ price }) => !price.startsWith("-")),
  "BR-29": ({ texts }) => {
    const [, start = "", end = ""] = texts("DateTimeString");
    return start <= end;
  },
  "BR-30": everyLine(({ period: [start = "", end = ""] }) => start <= end),
  "BR-45": ({ tax }) => tax.basis !== "",
  "BR-46": ({ tax }) => tax.amount !== "",
  "BR-47": ({ tax }) => ["S", "AE", "Z", "O"].includes(tax.category),
  "BR-48": ({ tax }) => tax.rate !== "" || tax.category === "O",
  "BR-49": ({ texts }) => texts("TypeCode")[1] === "ZZZ",
  "BR-55": ({ texts, text }) =>
    text("TypeCode") !== "384" || (texts("IssuerAssignedID")[0] ?? "") !== "",
  "BR-62": ({ seller }) => addressesOf(seller).every(isEmail),
  "BR-63": ({ buyer }) => addressesOf(buyer).every(isEmail),
  "BR-CO-04": everyLine(({ category }) => category !== ""),
  "BR-CO-09": ({ seller, buyer }) =>
    [...vatIds(seller), ...vatIds(buyer)].every((id) => /^[A-Z]{2}/.test(id)),
  "BR-CO-10": (invoice) => amount(invoice.text("LineTotalAmount")) === linesSum(invoice),
  "BR-CO-13": ({ text }) => text("TaxBasisTotalAmount") === text("LineTotalAmount"),
  "BR-CO-14": ({ text, tax }) => text("TaxTotalAmount") === tax.amount,
  "BR-CO-15": ({ text }) =>
    amount(text("GrandTotalAmount")) ===
    amount(text("TaxBasisTotalAmount")) + amount(text("TaxTotalAmount")),
  "BR-CO-16": ({ text }) =>
    amount(text("DuePayableAmount")) ===
    amount(text("GrandTotalAmount")) -
      amount(text("TotalPrepaidAmount")) +
      amount(text("RoundingAmount") || "0"),
  "BR-CO-17": ({ tax }) =>
    tax.category === "O" ||
    amount(tax.amount) ===
      rounded((amount(tax.basis) * amount(tax.rate)) / 10n ** BigInt(DIGITS + 2), tax.amount),
  "BR-CO-18": ({ tax }) => tax.category !== "",
  "BR-CO-19": ({ texts }) => texts("DateTimeString").length >= 3,
  "BR-CO-20": everyLine(({ period }) => period.length === 0 || period.length === 2),
  "BR-CO-25": ({ text }) => isZero(text("DuePayableAmount")),
  "BR-CO-26": ({ seller }) => /<ram:ID(?: schemeID="VA")?>[^<]+</.test(seller),
  "BR-S-01": of("S", hasTaxOf),
  "BR-S-02": of("S", ({ seller }) => vatIds(seller).length === 1),
  "BR-S-05": of(
    "S",
    everyLine(({ rate }) => !isZero(rate) && rate !== ""),
  ),
  "BR-S-08": of("S", (invoice) => amount(invoice.tax.basis) === linesSum(invoice)),
  "BR-S-10": of("S", ({ tax }) => tax.reason === ""),
  "BR-AE-01": of("AE", hasTaxOf),
  "BR-AE-02": of(
    "AE",
    ({ seller, buyer }) => vatIds(seller).length === 1 && vatIds(buyer).length === 1,
  ),
  "BR-AE-05": of(
    "AE",
    everyLine(({ rate }) => isZero(rate)),
  ),
  "BR-AE-08": of("AE", (invoice) => amount(invoice.tax.basis) === linesSum(invoice)),
  "BR-AE-09": of("AE", ({ tax }) => isZero(tax.amount)),
  "BR-AE-10": of("AE", ({ tax }) => tax.reason !== ""),
  "BR-Z-01": of("Z", hasTaxOf),
  "BR-Z-02": of("Z", ({ seller }) => vatIds(seller).length === 1),
  "BR-Z-05": of(
    "Z",
    everyLine(({ rate }) => isZero(rate)),
  ),
  "BR-Z-08": of("Z", (invoice) => amount(invoice.tax.basis) === linesSum(invoice)),
  "BR-Z-09": of("Z", ({ tax }) => isZero(tax.amount)),
  "BR-Z-10": of("Z", ({ tax }) => tax.reason === ""),
  "BR-O-01": of("O", hasTaxOf),
  "BR-O-02": of("O", ({ seller, buyer }) => [...vatIds(seller), ...vatIds(buyer)].length === 0),
  "BR-O-05": of(
    "O",
    everyLine(({ rate }) => rate === ""),
  ),
  "BR-O-08": of("O", (invoice) => amount(invoice.tax.basis) === linesSum(invoice)),
  "BR-O-09": of("O", ({ tax }) => isZero(tax.amount)),
  "BR-O-10": of("O", ({ tax }) => tax.reason !== ""),
  "BR-O-11": of("O", ({ texts }) => texts("BasisAmount").length === 1),
  "BR-DE-1": withReference(({ texts }) => texts("TypeCode")[1] !== "VAT"),
  "BR-DE-2": withReference(({ seller }) => contactOf(seller) !== ""),
  "BR-DE-3": withReference(({ seller }) => has(seller, "CityName")),
  "BR-DE-4": withReference(({ seller }) => has(seller, "PostcodeCode")),
  "BR-DE-5": withReference(({ seller }) => has(contactOf(seller), "PersonName")),
  "BR-DE-6": withReference(({ seller }) => has(contactOf(seller), "CompleteNumber")),
  "BR-DE-7": withReference(({ seller }) => has(contactOf(seller), "URIID")),
  "BR-DE-8": withReference(({ buyer }) => has(buyer, "CityName")),
  "BR-DE-9": withReference(({ buyer }) => has(buyer, "PostcodeCode")),
  "BR-DE-14": withReference(({ tax }) => tax.rate !== "" || tax.category === "O"),
  "BR-DE-15": withReference(({ text }) => text("BuyerReference").trim() !== ""),
  "BR-DE-16": withReference(
    ({ tax, seller }) => tax.category === "O" || vatIds(seller).length === 1,
  ),
  "BR-DE-17": withReference(({ text }) => ["380", "384"].includes(text("TypeCode"))),
  "BR-DE-26": withReference(
    ({ text, texts }) => text("TypeCode") !== "384" || texts("IssuerAssignedID").length === 1,
  ),
  "BR-DE-27": withReference(({ seller }) =>
    /(\d\D*){3}/.test(textsIn(contactOf(seller), "CompleteNumber")[0] ?? ""),
  ),
  "BR-DE-28": withReference(({ seller }) =>
    /^[^@\s.][^@\s]*[^@\s.]@[^@\s.][^@\s]*[^@\s.]$/.test(
      textsIn(contactOf(seller), "URIID")[0] ?? "",
    ),
  ),
};

export const CHECKED_RULES = Object.keys(RULES);

/** The rules that an invoice breaks. */
export function brokenRules(xml: string): string[] {
  const invoice = read(xml);
  return Object.entries(RULES)
    .filter(([, holds]) => !holds(invoice))
    .map(([name]) => name);
}
