import { readFileSync } from "node:fs";
import fc from "fast-check";
import * as mupdf from "mupdf";
import { describe, expect, it } from "vitest";
import { packagedFonts, SAMPLES } from "../../../../devnet/demo/invoice-samples.ts";
import { findCountryCode } from "../../../../src/invoices/model/countries.ts";
import {
  type InvoiceContent,
  toCancellation,
} from "../../../../src/invoices/model/invoice-content.ts";
import {
  groupItems,
  listCoveredPayments,
  priceItems,
} from "../../../../src/invoices/model/invoice-lines.ts";
import {
  buildInvoiceXml,
  findXmlOmissionReason,
} from "../../../../src/invoices/pdf/invoice-xml.ts";
import { renderPdf } from "../../../../src/invoices/pdf/render-pdf.ts";
import { runs } from "../../../support/effort.ts";
import { DOCTORED, type Kind } from "./doctored.ts";
import { brokenRules, CHECKED_RULES } from "./en16931-rules.ts";
import { schemaErrors } from "./schema.ts";

const NUMBER = "2025-C7654E-0001";
const TOKEN = "aa".repeat(28);

function sample(name: string): InvoiceContent {
  const found = SAMPLES.find((one) => one.name === name);
  if (!found) throw new Error(`no sample ${name}`);
  return found.content;
}

const german = sample("invoice-de");
const english = sample("invoice-en");
const NO_VAT_ID = { ...german.seller, vatNumber: null };

const OF_KIND: Record<Kind, InvoiceContent> = {
  S: german,
  AE: english,
  Z: { ...english, tax: { category: "Z", rate: "0" } },
  O: { ...english, seller: NO_VAT_ID, tax: { category: "O", rate: "0" } },
  cancellation: sample("cancellation-en"),
};

const INVOICES: [string, InvoiceContent][] = [
  ...Object.entries(OF_KIND),
  ["names that XML has signs for", { ...german, buyer: { ...german.buyer, companyName: `<&">'` } }],
  [
    "yen",
    {
      ...english,
      currency: "jpy",
      lines: english.lines
        .slice(0, 1)
        .map((line) => ({ ...line, quantity: "3", unitPrice: "33.3333333333", net: "100" })),
      totals: { net: "100", vat: "0", gross: "100", paid: "100", rounding: "0" },
    },
  ],
];

function paymentOf(amount: bigint, index: number, unit: unknown = "") {
  return {
    id: String(index),
    agentIdentifier: "ab",
    funds: [{ unit: typeof unit === "string" ? unit : "", amount: String(amount) }],
    day: "2025-09-12",
    txHash: null,
  };
}

/** A rate with twelve decimals. */
const rate = fc
  .bigInt({ min: 1n, max: 10n ** 11n })
  .map((units) => `0.${String(units).padStart(12, "0")}`);
const priced = fc.record({
  items: fc
    .array(fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 12n }), fc.constantFrom("", TOKEN)), {
      minLength: 1,
      maxLength: 30,
    })
    .map((paid) => groupItems(paid.map(([amount, unit], index) => paymentOf(amount, index, unit)))),
  perUnit: fc.record({ "": rate, [TOKEN]: rate }),
  vat: fc.constantFrom("0.055", "0.07", "0.19", "0.2", "0.255", "1"),
});

describe("the XML of an invoice", () => {
  it.each(INVOICES)("is valid by the schema and keeps the rules: %s", async (_, content) => {
    const xml = buildInvoiceXml(NUMBER, content);
    expect(xml).not.toBeNull();
    expect(await schemaErrors(xml ?? "")).toEqual([]);
    expect(brokenRules(xml ?? "")).toEqual([]);
  });

  it("keeps the rules and leaves nothing due, for any payments, rates and VAT, cancelled or not", () => {
    fc.assert(
      fc.property(
        priced,
        fc.constantFrom("S", "AE", "Z", "O"),
        fc.boolean(),
        (priced, kind, isCancelled) => {
          const { items, perUnit, vat } = priced;
          const vatRate = kind === "S" ? vat : "0";
          const content = {
            ...OF_KIND[kind],
            tax: { category: kind, rate: vatRate },
            ...priceItems(items, {
              currency: "eur",
              vatRate,
              rateOf: (unit) => perUnit[unit] ?? "0",
              nameOf: () => "Agent: a",
            }),
            payments: listCoveredPayments(items),
          };
          const cancelled = toCancellation(content, NUMBER, "2025-10-09", ["requested"]);
          const xml = buildInvoiceXml(NUMBER, isCancelled ? cancelled : content) ?? "";
          expect(brokenRules(xml)).toEqual([]);
          const exact = items.reduce(
            (sum, { unit, amount, quantity }) =>
              sum + amount * quantity * BigInt(perUnit[unit]?.replace("0.", "") ?? 0),
            0n,
          );
          const paid = (exact * 2n + 10n ** 10n) / (2n * 10n ** 10n);
          const [, prepaid = ""] = /<ram:TotalPrepaidAmount>([^<]*)</.exec(xml) ?? [];
          expect(BigInt(prepaid.replace(".", ""))).toBe(isCancelled ? -paid : paid);
          expect(xml).toContain("<ram:DuePayableAmount>0.00</ram:DuePayableAmount>");
        },
      ),
      runs(100, 5_000),
    );
  });

  it("is valid by the schema with a rounding amount", async () => {
    const content = {
      ...german,
      ...priceItems(groupItems([503n, 504n, 6103n].map(paymentOf)), {
        currency: "eur",
        vatRate: "0.19",
        rateOf: () => "0.01",
        nameOf: () => "Agent: a",
      }),
    };
    const xml = buildInvoiceXml(NUMBER, content) ?? "";
    expect(xml).toContain("<ram:RoundingAmount>-0.01</ram:RoundingAmount>");
    expect(await schemaErrors(xml)).toEqual([]);
    expect(brokenRules(xml)).toEqual([]);
    expect(brokenRules(xml.replace("-0.01", "0.01"))).toEqual(["BR-CO-16"]);
  });

  it("is judged by a schema that finds faults", async () => {
    const xml = buildInvoiceXml(NUMBER, german) ?? "";
    expect(await schemaErrors(xml.replace(/<ram:ID>[^<]*<\/ram:ID>/, ""))).not.toEqual([]);
    expect(await schemaErrors(xml.replaceAll("BasisAmount", "BaseAmount"))).not.toEqual([]);
  });

  it("is judged by rules that are each broken by some doctored invoice", () => {
    expect(Object.keys(DOCTORED).sort()).toEqual([...CHECKED_RULES].sort());
  });

  it.each(Object.entries(DOCTORED))("breaks %s when it is doctored", (rule, [kind, found, put]) => {
    const xml = buildInvoiceXml(NUMBER, OF_KIND[kind]) ?? "";
    const doctored = xml.replace(found, put);
    expect(doctored).not.toBe(xml);
    expect(brokenRules(doctored)).toContain(rule);
  });

  it("says what each line bought: its agent, its days, its transactions, and the buyer's reference", () => {
    const xml = buildInvoiceXml(NUMBER, english) ?? "";
    const [line = ""] = xml.split("</ram:IncludedSupplyChainTradeLineItem>");
    expect(line).toContain("<ram:Name>Agent: Translator (1a1a1a…1a1a1a1a1a1a)</ram:Name>");
    const { payments = [] } = english;
    const covered = payments.filter(({ line }) => line === 1);
    expect(covered).toHaveLength(12);
    for (const { day, txHash } of covered) expect(line).toContain(`${day} ${txHash}`);
    expect(line).toContain(`<ram:IssuerAssignedID>${"1a".repeat(30)}</ram:IssuerAssignedID>`);
    expect(line.match(/\d{8}(?=<\/udt:DateTimeString>)/g)?.slice(-2)).toEqual([
      "20250903",
      "20250925",
    ]);
    expect(xml).toContain("<ram:BuyerReference>PO-2025-0077</ram:BuyerReference>");
  });

  it("checks each rule that docs/invoices.md says is checked, and no other", () => {
    const text = readFileSync(new URL("../../../../docs/invoices.md", import.meta.url), "utf8");
    const [, block = ""] = /```text\n(BR [\s\S]*?)```/.exec(text) ?? [];
    const said = block
      .trim()
      .split("\n")
      .flatMap((line) => {
        const [group = "", ...numbers] = line.split(/ +/);
        return numbers.flatMap((range) => numbersOf(range).map((number) => `${group}-${number}`));
      });
    expect(said.sort()).toEqual([...CHECKED_RULES].sort());
  });

  it.each([
    [
      "a country is unknown",
      { ...german, buyer: { ...german.buyer, country: "Atlantis" } },
      /^Buyer\.country: is neither/,
    ],
    [
      "a VAT id names no country",
      { ...german, seller: { ...german.seller, vatNumber: "12/345" } },
      /^Seller\.vatNumber: does not begin/,
    ],
    [
      "VAT is owed in another currency",
      { ...german, currency: "usd" as const },
      /^invoiceCurrency: .* EUR$/,
    ],
  ])("is left out when %s, and it is said why", async (_, content, why) => {
    expect(buildInvoiceXml(NUMBER, content)).toBeNull();
    expect(findXmlOmissionReason(content)).toMatch(why);
    const pdf = mupdf.PDFDocument.openDocument(
      await renderPdf(NUMBER, content, packagedFonts()),
      "application/pdf",
    ).asPDF();
    expect(Object.keys(pdf?.getEmbeddedFiles() ?? {})).toEqual([]);
  });

  it.each([
    ["2025-12", "bgn", "eur"],
    ["2026-01", "eur", "bgn"],
  ] as const)("of VAT owed in Bulgaria in %s is there in %s, not in %s", (month, made, left) => {
    const bulgarian = { ...german.seller, country: "Bulgaria", vatNumber: "BG123456789" };
    const of = (currency: "bgn" | "eur") =>
      findXmlOmissionReason({ ...german, month, seller: bulgarian, currency });
    expect(of(made)).toBeNull();
    expect(of(left)).toContain(made.toUpperCase());
  });

  it.each([
    ["Northern Ireland", "GB", "XI123456789", "gbp"],
    ["Greece", "GR", "EL123456789", "eur"],
    ["Greece by its code for VAT", "EL", "GR123456789", "eur"],
    ["Northern Ireland by its code for VAT", "xi", "xi123456789", "gbp"],
    ["the United Kingdom by its common code", "UK", "GB123456789", "gbp"],
    ["Monaco, whose VAT ids are French", "MC", "FR12345678901", "eur"],
    ["the Isle of Man, whose VAT ids are British", "Isle of Man", "GB123456789", "gbp"],
  ] as const)("is made of VAT charged in %s (%s, %s)", async (_, country, vatNumber, currency) => {
    const content = { ...german, currency, seller: { ...german.seller, country, vatNumber } };
    expect(findXmlOmissionReason(content)).toBeNull();
    const xml = buildInvoiceXml(NUMBER, content) ?? "";
    expect(xml).toContain(`<ram:ID schemeID="VA">${vatNumber.toUpperCase()}</ram:ID>`);
    expect(await schemaErrors(xml)).toEqual([]);
    expect(brokenRules(xml)).toEqual([]);
  });

  it.each([
    "UK123456789",
    "EU123456789",
    "XX123456789",
    "1A1234567",
    "123456789",
    "D",
    "ΕΛ123456789",
  ])("is left out for the VAT id %s, unless no VAT id is shown", (vatNumber) => {
    const of = (content: InvoiceContent) =>
      findXmlOmissionReason({ ...content, buyer: { ...content.buyer, vatNumber } });
    expect(of(OF_KIND.Z)).toMatch(/^Buyer\.vatNumber: does not begin/);
    expect(of(OF_KIND.O)).toBeNull();
  });

  it("is attached to the PDF as factur-x.xml", async () => {
    const pdf = mupdf.PDFDocument.openDocument(
      await renderPdf(NUMBER, german, packagedFonts()),
      "application/pdf",
    ).asPDF();
    const file = pdf?.getEmbeddedFiles()["factur-x.xml"];
    expect(file && pdf?.getEmbeddedFileContents(file)?.asString()).toBe(
      buildInvoiceXml(NUMBER, german),
    );
  });
});

describe("countryCode", () => {
  it.each([
    ["DE", "DE"],
    ["de", "DE"],
    ["Germany", "DE"],
    ["Deutschland", "DE"],
    [" österreich ", "AT"],
    ["United Kingdom", "GB"],
    ["Griechenland", "GR"],
    ["el", "GR"],
    ["UK", "GB"],
    ["XI", "GB"],
    ["EU", null],
    ["DD", null],
    ["ZZ", null],
    ["Atlantis", null],
    ["", null],
  ])("%j is %j", (country, code) => {
    expect(findCountryCode(country)).toBe(code);
  });
});

/** The numbers of `08-11`, in the width of the first. */
function numbersOf(range: string): string[] {
  const [first = "", last = first] = range.split("-");
  const count = Number(last) - Number(first) + 1;
  return Array.from({ length: count }, (_, i) =>
    String(Number(first) + i).padStart(first.length, "0"),
  );
}
