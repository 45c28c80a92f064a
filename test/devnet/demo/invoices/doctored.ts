/** For each rule that we check, an invoice that breaks it: what is altered in a good one. */

/** By category of VAT, and a cancellation. */
export type Kind = "S" | "AE" | "Z" | "O" | "cancellation";
/** The first place in the XML is replaced. */
type Doctored = [of: Kind, found: string | RegExp, put: string];

/** An element with all that is in it. */
const element = (name: string) => new RegExp(`<ram:${name}(?: [^>]*)?>.*?</ram:${name}>`, "s");
/** The text of the first element of a name, and what it becomes. */
const textOf = (name: string, text: string): [RegExp, string] => [
  new RegExp(`(<ram:${name}(?: [^>]*)?>)[^<]*`),
  `$1${text}`,
];
/** The same in the breakdown of VAT, which begins with the only taxable amount. */
const inBreakdown = (name: string): RegExp =>
  new RegExp(`(</ram:BasisAmount>.*?)<ram:${name}>[^<]*</ram:${name}>`, "s");
const inParty = (role: string, name: string): RegExp =>
  new RegExp(`(<ram:${role}TradeParty>.*?)<ram:${name}>.*?</ram:${name}>`, "s");
const HEADER = "<ram:SpecifiedTradeSettlementHeaderMonetarySummation>";
const PERIOD =
  /<ram:StartDateTime><udt:DateTimeString format="102">20250901.*?<\/ram:EndDateTime>/s;
const REASON = "<ram:ExemptionReason>Exempt</ram:ExemptionReason>";

/** What breaks the rules of each category alike, by the end of their numbers. */
const ofCategory = (kind: Exclude<Kind, "cancellation">): [rule: string, Doctored][] => [
  [`BR-${kind}-01`, [kind, `<ram:CategoryCode>${kind}`, "<ram:CategoryCode>E"]],
  [`BR-${kind}-08`, [kind, "<ram:BasisAmount>", "<ram:BasisAmount>1"]],
];
const ofZero = (kind: "AE" | "Z" | "O"): [rule: string, Doctored][] => [
  [`BR-${kind}-09`, [kind, ...textOf("CalculatedAmount", "1.00")]],
];

export const DOCTORED: Record<string, Doctored> = {
  "BR-01": ["S", "urn:cen.eu:en16931:2017", "urn:cen.eu:en16931:2007"],
  "BR-02": ["S", "<ram:ID>2025-C7654E-0001<", "<ram:ID><"],
  "BR-03": ["S", 'format="102">20251002<', 'format="102"><'],
  "BR-04": ["S", "<ram:TypeCode>380", "<ram:TypeCode>"],
  "BR-05": ["S", ...textOf("InvoiceCurrencyCode", "")],
  "BR-06": ["S", "<ram:Name>Agentenwerk GmbH", "<ram:Name>"],
  "BR-07": ["S", "<ram:Name>Zażółć Gęślą Jaźń Sp. z o.o.", "<ram:Name>"],
  "BR-08": ["S", inParty("Seller", "PostalTradeAddress"), "$1"],
  "BR-09": ["S", "<ram:CountryID>DE", "<ram:CountryID>"],
  "BR-10": ["S", inParty("Buyer", "PostalTradeAddress"), "$1"],
  "BR-11": ["S", "<ram:CountryID>PL", "<ram:CountryID>"],
  "BR-12": ["S", new RegExp(`(${HEADER})<ram:LineTotalAmount>[^<]*</ram:LineTotalAmount>`), "$1"],
  "BR-13": ["S", element("TaxBasisTotalAmount"), ""],
  "BR-14": ["S", element("GrandTotalAmount"), ""],
  "BR-15": ["S", element("DuePayableAmount"), ""],
  "BR-16": ["S", /<ram:IncludedSupplyChainTradeLineItem>.*<\/ram:IncludedSupply\w+>/s, ""],
  "BR-21": ["S", ...textOf("LineID", "")],
  "BR-22": ["S", ...textOf("BilledQuantity", "")],
  "BR-23": ["S", ' unitCode="C62"', ""],
  "BR-24": ["S", ...textOf("LineTotalAmount", "")],
  "BR-25": ["S", /<ram:Name>Agent: [^<]*/, "<ram:Name>"],
  "BR-26": ["S", ...textOf("ChargeAmount", "")],
  "BR-27": ["S", ...textOf("ChargeAmount", "-1")],
  "BR-29": ["S", "20250901</udt", "20251001</udt"],
  "BR-30": ["S", "20250903</udt", "20251003</udt"],
  "BR-45": ["S", ...textOf("BasisAmount", "")],
  "BR-46": ["S", ...textOf("CalculatedAmount", "")],
  "BR-47": ["S", inBreakdown("CategoryCode"), "$1<ram:CategoryCode>X</ram:CategoryCode>"],
  "BR-48": ["S", inBreakdown("RateApplicablePercent"), "$1"],
  "BR-49": ["S", "<ram:TypeCode>ZZZ", "<ram:TypeCode>"],
  "BR-55": ["cancellation", element("InvoiceReferencedDocument"), ""],
  "BR-62": ["S", '<ram:URIID schemeID="EM">rechnung', "<ram:URIID>rechnung"],
  "BR-63": ["S", '<ram:URIID schemeID="EM">ksiegowosc', "<ram:URIID>ksiegowosc"],
  "BR-CO-04": ["S", ...textOf("CategoryCode", "")],
  "BR-CO-09": ["S", '<ram:ID schemeID="VA">DE', '<ram:ID schemeID="VA">'],
  "BR-CO-10": ["S", `${HEADER}<ram:LineTotalAmount>`, `${HEADER}<ram:LineTotalAmount>1`],
  "BR-CO-13": ["S", ...textOf("TaxBasisTotalAmount", "1.00")],
  "BR-CO-14": ["S", ...textOf("TaxTotalAmount", "1.00")],
  "BR-CO-15": ["S", ...textOf("GrandTotalAmount", "1.00")],
  "BR-CO-16": ["S", ...textOf("TotalPrepaidAmount", "1.00")],
  "BR-CO-17": ["S", ...textOf("CalculatedAmount", "1.00")],
  "BR-CO-18": ["S", inBreakdown("CategoryCode"), "$1"],
  "BR-CO-19": ["S", PERIOD, ""],
  "BR-CO-20": ["S", element("EndDateTime"), ""],
  "BR-CO-25": ["S", ...textOf("DuePayableAmount", "1.00")],
  "BR-CO-26": ["S", /<ram:ID>22.*?<\/ram:ID>(.*?)<ram:ID schemeID="VA">.*?<\/ram:ID>/s, "$1"],
  ...Object.fromEntries((["S", "AE", "Z", "O"] as const).flatMap(ofCategory)),
  ...Object.fromEntries((["AE", "Z", "O"] as const).flatMap(ofZero)),
  "BR-S-02": ["S", element("SpecifiedTaxRegistration"), ""],
  "BR-S-05": ["S", ...textOf("RateApplicablePercent", "0")],
  "BR-S-10": ["S", "<ram:BasisAmount>", `${REASON}<ram:BasisAmount>`],
  "BR-AE-02": ["AE", inParty("Buyer", "SpecifiedTaxRegistration"), "$1"],
  "BR-AE-05": ["AE", ...textOf("RateApplicablePercent", "19")],
  "BR-AE-10": ["AE", element("ExemptionReason"), ""],
  "BR-Z-02": ["Z", element("SpecifiedTaxRegistration"), ""],
  "BR-Z-05": ["Z", ...textOf("RateApplicablePercent", "19")],
  "BR-Z-10": ["Z", "<ram:BasisAmount>", `${REASON}<ram:BasisAmount>`],
  "BR-O-02": ["O", "<ram:ID>22", '<ram:ID schemeID="VA">DE1</ram:ID><ram:ID>22'],
  "BR-O-05": [
    "O",
    /(<ram:CategoryCode>O<.*?>)/,
    "$1<ram:RateApplicablePercent>0</ram:RateApplicablePercent>",
  ],
  "BR-O-10": ["O", element("ExemptionReason"), ""],
  "BR-O-11": ["O", "</ram:BasisAmount>", "</ram:BasisAmount><ram:BasisAmount>0</ram:BasisAmount>"],
  "BR-DE-1": ["AE", element("SpecifiedTradeSettlementPaymentMeans"), ""],
  "BR-DE-2": ["AE", inParty("Seller", "DefinedTradeContact"), "$1"],
  "BR-DE-3": ["AE", "<ram:CityName>München", "<ram:CityName>"],
  "BR-DE-4": ["AE", "<ram:PostcodeCode>80331", "<ram:PostcodeCode>"],
  "BR-DE-5": ["AE", element("PersonName"), ""],
  "BR-DE-6": ["AE", element("TelephoneUniversalCommunication"), ""],
  "BR-DE-7": ["AE", element("EmailURIUniversalCommunication"), ""],
  "BR-DE-8": ["AE", "<ram:CityName>Αθήνα", "<ram:CityName>"],
  "BR-DE-9": ["AE", "<ram:PostcodeCode>105 57", "<ram:PostcodeCode>"],
  "BR-DE-14": ["AE", inBreakdown("RateApplicablePercent"), "$1"],
  "BR-DE-15": ["AE", ...textOf("BuyerReference", " ")],
  "BR-DE-16": ["AE", inParty("Seller", "SpecifiedTaxRegistration"), "$1"],
  "BR-DE-17": ["AE", "<ram:TypeCode>380", "<ram:TypeCode>325"],
  "BR-DE-26": ["cancellation", element("InvoiceReferencedDocument"), ""],
  "BR-DE-27": ["AE", ...textOf("CompleteNumber", "+4 9")],
  "BR-DE-28": ["AE", "<ram:URIID>rechnung@", "<ram:URIID>rechnung.@"],
};
