import * as mupdf from "mupdf";
import { describe, expect, it } from "vitest";
import { packagedFonts, SAMPLES, type Sample } from "../../../../devnet/demo/invoice-samples.ts";
import type { InvoiceContent } from "../../../../src/invoices/model/invoice-content.ts";
import { renderPdf } from "../../../../src/invoices/pdf/render-pdf.ts";

/** A part of a page as a reader of tagged PDF sees it: an element, or text. */
interface Part {
  type: "structure" | "text";
  raw?: string;
  contents?: Part[];
  lines?: { text: string }[];
}

function open(pdf: Uint8Array): mupdf.PDFDocument {
  const document = mupdf.Document.openDocument(pdf, "application/pdf").asPDF();
  if (!document) throw new Error("this is no PDF");
  return document;
}

/** The parts of each page, as MuPDF reads them by the structure. */
function partsOf(document: mupdf.PDFDocument): Part[][] {
  return Array.from({ length: document.countPages() }, (_, page) => {
    const text = document.loadPage(page).toStructuredText("preserve-whitespace,structured");
    return (JSON.parse(text.asJSON()) as { blocks: Part[] }).blocks;
  });
}

const textIn = ({ lines = [], contents = [] }: Part): string =>
  [...lines.map(({ text }) => text), ...contents.map(textIn)].join(" ").trim();

function within(parts: readonly Part[], tag: string): Part[] {
  return parts.flatMap((part) => (part.raw === tag ? [part] : within(part.contents ?? [], tag)));
}

const SAMPLE = SAMPLES[0] as Sample;
const render = (content: InvoiceContent) => renderPdf("2025-C7654E-0001", content, packagedFonts());

/** An invoice of so many lines, without an annex. */
function ofLines(count: number): InvoiceContent {
  const { content } = SAMPLE;
  const [line] = content.lines;
  if (!line) throw new Error("there is no line");
  const lines = Array.from({ length: count }, (_, index) => ({ ...line, name: `Agent ${index}` }));
  return { ...content, lines, payments: [] };
}

describe("the pages of an invoice, by their structure", () => {
  it("begin with the title as heading, and say their language and that they are tagged", async () => {
    const document = open(await render(SAMPLE.content));
    const root = document.getTrailer().get("Root");
    expect(root.get("MarkInfo", "Marked").asBoolean()).toBe(true);
    expect(root.get("Lang").asString()).toBe("de");
    const [first = []] = partsOf(document);
    expect(first.map(({ raw }) => raw)).toContain("Document");
    expect(within(first, "H1").map(textIn)).toEqual(["Rechnung"]);
    expect(within(first, "H2").map(textIn)).toEqual(["Umrechnung", "Bedingungen"]);
    expect(within(first, "P").map(textIn)).toEqual(
      expect.arrayContaining(["Rechnungsnummer 2025-C7654E-0001", "80331 München"]),
    );
  });

  it("have the lines as rows of a table, with its titles as heads of columns", async () => {
    const [page = []] = partsOf(open(await render(SAMPLE.content)));
    const [items] = within(page, "Table");
    const rows = within(items ? [items] : [], "TR").map(({ contents = [] }) =>
      contents.map((cell) => [cell.raw, textIn(cell)]),
    );
    expect(rows).toEqual([
      ["Pos.", "Beschreibung", "Aufträge", "Einzelpreis, netto", "Gesamt, netto"].map((title) => [
        "TH",
        title,
      ]),
      ...SAMPLE.content.lines.map(({ name, quantity, unitPrice, net }, index) => [
        ["TD", String(index + 1)],
        ["TD", expect.stringMatching(name.replace(/[()]/g, "."))],
        ["TD", quantity],
        ["TD", `${unitPrice.replace(".", ",")}\u00a0€`],
        ["TD", `${net.replace(".", ",")}\u00a0€`],
      ]),
    ]);
  });

  it("have nothing outside of it but their feet, and titles of tables that go on", async () => {
    const pages = partsOf(open(await render(ofLines(60))));
    expect(pages.length).toBeGreaterThan(1);
    const outside = pages.map((parts) =>
      parts
        .filter(({ type }) => type === "text")
        .map(textIn)
        .join(" "),
    );
    const foot = SAMPLE.content.texts.footer ?? "";
    for (const [index, text] of outside.entries()) {
      const rest = text.replace(foot, "").replace(`Seite ${index + 1} von ${pages.length}`, "");
      expect(rest.trim()).toBe(
        index === 0 ? "" : "Pos. Beschreibung Aufträge Einzelpreis, netto Gesamt, netto",
      );
    }
    const rows = pages.flatMap((parts) => within(parts, "TR")).map(textIn);
    for (let line = 0; line < 60; line++)
      expect(rows.filter((text) => text.includes(`Agent ${line} `))).toHaveLength(1);
  });

  it("are numbered so that each marked text is found in its element", async () => {
    const document = open(await render(ofLines(60)));
    const numbers = document.getTrailer().get("Root", "StructTreeRoot", "ParentTree", "Nums");
    for (let page = 0; page < document.countPages(); page++) {
      const key = document.findPage(page).get("StructParents").asNumber();
      expect(numbers.get(2 * key).asNumber()).toBe(key);
      const owners = numbers.get(2 * key + 1);
      expect(owners.length).toBeGreaterThan(0);
      for (let id = 0; id < owners.length; id++) {
        const kids = owners.get(id).get("K");
        const all = kids.isArray()
          ? Array.from({ length: kids.length }, (_, i) => kids.get(i))
          : [kids];
        const ids = all.map((kid) => (kid.isNumber() ? kid : kid.get("MCID")).asNumber());
        expect(ids).toContain(id);
      }
    }
  });

  it("are not tagged when there are more than a thousand rows", async () => {
    const root = open(await render(ofLines(1_001)))
      .getTrailer()
      .get("Root");
    expect(root.get("StructTreeRoot").isNull()).toBe(true);
    expect(root.get("MarkInfo").isNull()).toBe(true);
  });
});
