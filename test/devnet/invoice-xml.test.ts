import { readFileSync } from "node:fs";
import * as mupdf from "mupdf";
import { describe, expect, it } from "vitest";
import { validateXML } from "xmllint-wasm";
import { packagedFonts, SAMPLES } from "../../devnet/invoice-samples.ts";
import { invoiceXml } from "../../src/invoices/cii.ts";
import type { InvoiceContent } from "../../src/invoices/content.ts";
import { countryCode } from "../../src/invoices/countries.ts";
import { renderPdf } from "../../src/invoices/pdf.ts";
import { brokenRules, CHECKED_RULES } from "./en16931-rules.ts";

const SCHEMA = "Factur-X_1.07.3_EN16931";
const NUMBER = "2025-C7654E-0001";

/** The schema's files, each by the name that the others import it by. */
function schemaFile(part: string) {
  const fileName = `${SCHEMA}${part}.xsd`;
  const url = new URL(`../invoices/schema/${fileName}`, import.meta.url);
  return { fileName, contents: readFileSync(url, "utf8") };
}
const PARTS = [
  "QualifiedDataType",
  "ReusableAggregateBusinessInformationEntity",
  "UnqualifiedDataType",
];

async function schemaErrors(xml: string): Promise<readonly string[]> {
  const { errors } = await validateXML({
    xml: [{ fileName: "invoice.xml", contents: xml }],
    schema: [schemaFile("")],
    preload: PARTS.map((part) => schemaFile(`_urn_un_unece_uncefact_data_standard_${part}_100`)),
  });
  return errors.map(({ message }) => message);
}

function sample(name: string): InvoiceContent {
  const found = SAMPLES.find((one) => one.name === name);
  if (!found) throw new Error(`no sample ${name}`);
  return found.content;
}

const german = sample("invoice-de");
const english = sample("invoice-en");
const NO_VAT_ID = { ...german.seller, vatNumber: null };

const INVOICES: [string, InvoiceContent][] = [
  ["standard rate", german],
  ["reverse charge", english],
  ["a cancellation", sample("cancellation-en")],
  ["zero rate", { ...english, tax: { category: "Z", rate: "0" } }],
  ["outside the scope", { ...english, seller: NO_VAT_ID, tax: { category: "O", rate: "0" } }],
  ["names that XML has signs for", { ...german, buyer: { ...german.buyer, companyName: `<&">'` } }],
  [
    "yen",
    {
      ...english,
      currency: "jpy",
      lines: [{ name: "Agent: a", quantity: "3", unitPrice: "33.3333333333", net: "100" }],
      totals: { net: "100", vat: "0", gross: "100" },
    },
  ],
];

describe("the XML of an invoice", () => {
  it.each(INVOICES)("is valid by the schema and keeps the rules: %s", async (_, content) => {
    const xml = invoiceXml(NUMBER, content);
    expect(xml).not.toBeNull();
    expect(await schemaErrors(xml ?? "")).toEqual([]);
    expect(brokenRules(xml ?? "")).toEqual([]);
  });

  it("is judged by a schema that finds faults", async () => {
    const xml = invoiceXml(NUMBER, german) ?? "";
    expect(await schemaErrors(xml.replace(/<ram:ID>[^<]*<\/ram:ID>/, ""))).not.toEqual([]);
    expect(await schemaErrors(xml.replaceAll("BasisAmount", "BaseAmount"))).not.toEqual([]);
  });

  it("is judged by rules that find faults", () => {
    const xml = invoiceXml(NUMBER, german) ?? "";
    const spoilt = (from: string | RegExp, to: string) => brokenRules(xml.replace(from, to));
    const { net, gross } = german.totals;
    expect(spoilt(`<ram:GrandTotalAmount>${gross}`, "<ram:GrandTotalAmount>1.00")).toContain(
      "BR-CO-15",
    );
    expect(spoilt(`<ram:LineTotalAmount>${net}`, "<ram:LineTotalAmount>1.00")).toContain(
      "BR-CO-10",
    );
    expect(spoilt('<ram:ID schemeID="VA">DE', '<ram:ID schemeID="VA">??')).toContain("BR-CO-09");
    expect(spoilt("<ram:CountryID>DE</ram:CountryID>", "<ram:CountryID/>")).toContain("BR-09");
  });

  it("checks each rule that docs/invoices.md says is checked, and no other", () => {
    const text = readFileSync(new URL("../../docs/invoices.md", import.meta.url), "utf8");
    const rows = [...text.matchAll(/^\| (BR-[\w-]+) \|.*\| (yes|no)\b.*\|$/gm)];
    const said = rows.filter(([, , checked]) => checked === "yes").map(([, rule]) => rule);
    expect(said.sort()).toEqual([...CHECKED_RULES].sort());
    expect(rows.length).toBeGreaterThan(said.length);
  });

  it.each([
    ["a country is unknown", { ...german, buyer: { ...german.buyer, country: "Atlantis" } }],
    ["a VAT id names no country", { ...german, seller: { ...german.seller, vatNumber: "12/345" } }],
    ["VAT is owed in another currency", { ...german, currency: "usd" as const }],
  ])("is left out when %s", async (_, content) => {
    expect(invoiceXml(NUMBER, content)).toBeNull();
    const pdf = mupdf.PDFDocument.openDocument(
      await renderPdf(NUMBER, content, packagedFonts()),
      "application/pdf",
    ).asPDF();
    expect(Object.keys(pdf?.getEmbeddedFiles() ?? {})).toEqual([]);
  });

  it("is attached to the PDF as factur-x.xml", async () => {
    const pdf = mupdf.PDFDocument.openDocument(
      await renderPdf(NUMBER, german, packagedFonts()),
      "application/pdf",
    ).asPDF();
    const file = pdf?.getEmbeddedFiles()["factur-x.xml"];
    expect(file && pdf?.getEmbeddedFileContents(file)?.asString()).toBe(invoiceXml(NUMBER, german));
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
    ["EU", null],
    ["DD", null],
    ["ZZ", null],
    ["Atlantis", null],
    ["", null],
  ])("%j is %j", (country, code) => {
    expect(countryCode(country)).toBe(code);
  });
});
