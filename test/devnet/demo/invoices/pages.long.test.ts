import { readFileSync } from "node:fs";
import * as mupdf from "mupdf";
import { describe, expect, it } from "vitest";
import {
  packagedFonts,
  pictureFile,
  pictures,
  SAMPLES,
  sampleOf,
} from "../../../../devnet/demo/invoice-samples.ts";
import { CURRENCY_CODES, MINOR_UNIT_DIGITS } from "../../../../src/invoices/model/currencies.ts";
import { type InvoiceContent, LANGUAGES } from "../../../../src/invoices/model/invoice-content.ts";
import { groupItems, priceItems } from "../../../../src/invoices/model/invoice-lines.ts";
import { createFormats } from "../../../../src/invoices/pdf/formats.ts";
import { requireGlyphs } from "../../../../src/invoices/pdf/glyphs.ts";
import { renderPdf } from "../../../../src/invoices/pdf/render-pdf.ts";
import { loadSubsettingFontkit, Typesetter } from "../../../../src/invoices/pdf/typesetter.ts";
import { loadPdfLib } from "../../../../src/packages.ts";
import { sampled } from "../../../support/effort.ts";

const FONTS = packagedFonts();
const [GERMAN, ENGLISH] = SAMPLES;
const NUMBER = "2025-C7654E-0001";

function contentOf(sample = ENGLISH): InvoiceContent {
  if (!sample) throw new Error("there is no sample");
  return sample.content;
}

/** A page's pixels, dark to light. */
function pixelsOf(pdf: Uint8Array, page = 0, scale = 2) {
  const pixmap = mupdf.Document.openDocument(pdf, "application/pdf")
    .loadPage(page)
    .toPixmap(mupdf.Matrix.scale(scale, scale), mupdf.ColorSpace.DeviceGray, false);
  // A copy: the pixels are in memory that the next page may use.
  return {
    bytes: pixmap.getPixels().slice(),
    width: pixmap.getWidth(),
    height: pixmap.getHeight(),
  };
}

const inkOf = (bytes: Uint8ClampedArray) => bytes.filter((pixel) => pixel < 128).length;

function textsOf(pdf: Uint8Array): string[] {
  const document = mupdf.Document.openDocument(pdf, "application/pdf");
  return Array.from({ length: document.countPages() }, (_, index) =>
    document.loadPage(index).toStructuredText("").asText(),
  );
}

/** One line of text, its font embedded whole: what a subset must look like. */
async function wholeFont(text: string, bold: boolean): Promise<Uint8Array> {
  const { PDFDocument } = await loadPdfLib();
  const document = await PDFDocument.create();
  document.registerFontkit(await loadSubsettingFontkit());
  const font = await document.embedFont(bold ? FONTS.bold : FONTS.regular, { subset: false });
  const page = document.addPage([595.28, 841.89]);
  page.drawText(text, { x: 51, y: 841.89 - 51 - 12, size: 12, font });
  return document.save();
}

async function subsetFont(text: string, bold: boolean): Promise<Uint8Array> {
  const { PDFDocument } = await loadPdfLib();
  const document = await PDFDocument.create();
  const page = await Typesetter.begin(document, FONTS);
  page.drawText(text, 0, { size: 12, bold });
  return document.save();
}

const TEXTS = ["Łódź", "Ærø", "Ελλάδα", "Київ", "Zażółć", "Ţară Őrség Þingvellir Đà Nẵng ẞ €£¥"];

describe("the embedded font", () => {
  it.each(sampled(3, TEXTS).flatMap((text) => [[text, false] as const, [text, true] as const]))(
    "shows %s with the very ink of the whole font (bold: %s)",
    async (text, bold) => {
      await requireGlyphs([["text", text]], FONTS);
      const subset = pixelsOf(await subsetFont(text, bold)).bytes;
      const whole = pixelsOf(await wholeFont(text, bold)).bytes;
      expect(inkOf(subset)).toBeGreaterThan(30 * [...text].length);
      expect(Buffer.compare(Buffer.from(subset), Buffer.from(whole))).toBe(0);
    },
  );

  it("gives each letter an ink of its own", async () => {
    const pictures = await Promise.all(
      [..."ŁódźÆøΕλάδКиїЗżć"].map(async (letter) =>
        Buffer.from(pixelsOf(await subsetFont(letter, false)).bytes).toString("base64"),
      ),
    );
    expect(new Set(pictures).size).toBe(pictures.length);
  });

  it.each(["東京", "שלום", "مرحبا", "नमस्ते", "x\u0301\u0323", "🙂", "\u202e", "\u200b"])(
    "refuses %j, which it cannot show as it should",
    async (text) => {
      await expect(requireGlyphs([["Buyer.name", text]], FONTS)).rejects.toThrow(
        /^Buyer\.name: has a character that cannot be printed \(U\+[0-9A-F]{4,5}\)$/,
      );
    },
  );
});

/** An invoice of so many different lines. */
function longInvoice(count: number, overrides: Partial<InvoiceContent> = {}): InvoiceContent {
  const items = groupItems(
    Array.from({ length: count }, (_, index) => ({
      id: String(index),
      day: "2025-09-12",
      txHash: index.toString(16).padStart(64, "f"),
      agentIdentifier: index.toString(16).padStart(60, "a"),
      funds: [{ unit: "", amount: String(1_000_003 + 7919 * index) }],
    })),
  );
  const content = contentOf();
  return {
    ...content,
    tax: { category: "S", rate: "0.19" },
    ...priceItems(items, {
      currency: "eur",
      vatRate: "0.19",
      rateOf: () => "0.0000006871",
      nameOf: ({ agentIdentifier }) => `Agent: ${agentIdentifier.slice(-20)}`,
    }),
    ...overrides,
  };
}

const CENTS = (text: string) => BigInt(text.replace(/[^0-9]/g, ""));

describe("an invoice of 200 lines", () => {
  it("goes on over pages with the titles and the page's number on each, and its lines sum up", async () => {
    const content = longInvoice(200);
    const pages = textsOf(await renderPdf(NUMBER, content, FONTS));
    expect(pages.length).toBeGreaterThanOrEqual(6);
    for (const [index, text] of pages.entries()) {
      expect(text).toContain(`Page ${index + 1} of ${pages.length}`);
      if (/Agent: /.test(text)) expect(text).toContain("Unit price, net");
    }
    const all = pages.join("\n");
    expect(all.match(/Agent: /g)).toHaveLength(200);
    const printed = content.lines.map(({ net }) => CENTS(net));
    for (const { net } of content.lines) expect(all).toContain(`€${net}`);
    expect(printed.reduce((sum, net) => sum + net, 0n)).toBe(CENTS(content.totals.net));
    expect(all).toContain(`€${Number(content.totals.gross).toLocaleString("en-GB")}`);
  });

  it("leaves the margins of every page empty", async () => {
    const long = "Donaudampfschifffahrtsgesellschaftskapitänswitwenrente".repeat(2).slice(0, 100);
    const party = { ...contentOf().buyer, companyName: long, name: long, street: long };
    const pdf = await renderPdf(
      NUMBER,
      longInvoice(40, {
        buyer: party,
        texts: { ...contentOf().texts, title: long, footer: `${long} `.repeat(9) },
      }),
      FONTS,
    );
    const count = mupdf.Document.openDocument(pdf, "application/pdf").countPages();
    for (let page = 0; page < count; page++) {
      const { bytes, width, height } = pixelsOf(pdf, page);
      const isMargin = (index: number) => {
        const [x, y] = [(index % width) / 2, Math.floor(index / width) / 2];
        return x < 48 || x > width / 2 - 48 || y < 48 || y > height / 2 - 44;
      };
      expect(bytes.filter((pixel, index) => pixel < 250 && isMargin(index)).length).toBe(0);
    }
  });
});

describe("an invoice", () => {
  it("has equal bytes each time it is set", async () => {
    const content = contentOf();
    const [a, b] = [
      await renderPdf(NUMBER, content, FONTS),
      await renderPdf(NUMBER, content, FONTS),
    ];
    expect(Buffer.compare(a, b)).toBe(0);
  });

  it.each([
    ["jpy", "1250", "1,250"],
    ["chf", "1250.40", "1,250.40"],
    ["aed", "1250.40", "1,250.40"],
    ["usd", "1250.40", "1,250.40"],
  ] as const)("is made out in %s", async (currency, gross, printed) => {
    const totals = { net: gross, vat: "0", gross, paid: gross, rounding: "0" };
    const content = { ...contentOf(), currency, totals };
    const [text = ""] = textsOf(await renderPdf(NUMBER, content, FONTS));
    const sign = new Intl.NumberFormat("en-GB", { style: "currency", currency })
      .format(0)
      .replace(/[\d.]/g, "");
    expect(text.replaceAll("\u00a0", " ")).toContain(
      `Total\n${sign.replaceAll("\u00a0", " ")}${printed}\n`,
    );
  });

  it("is German where that is asked for, with the words that § 14a UStG wants", async () => {
    const content = contentOf(GERMAN);
    const reverse = { ...content, tax: { category: "AE" as const, rate: "0" } };
    const [text = ""] = textsOf(await renderPdf(NUMBER, reverse, FONTS));
    for (const words of ["Rechnungsnummer", "Leistungszeitraum", "September 2025", "2. Okt. 2025"])
      expect(text).toContain(words);
    expect(text).toContain("Steuerschuldnerschaft des Leistungsempfängers");
  });

  it("prints nothing but negative sums when it is a cancellation, and what it cancels", async () => {
    const sample = SAMPLES.find(({ content }) => content.cancels !== null);
    const [text = ""] = textsOf(await renderPdf(NUMBER, contentOf(sample), FONTS));
    expect(text).toContain("This cancels invoice 2025-C7654E-0042 of 2 Oct 2025.");
    expect(text).toContain(`-€${contentOf().totals.gross}`);
    expect(text).not.toMatch(new RegExp(`(?<!-)€${contentOf().totals.gross}`));
  });
});

describe("the amounts of any currency", () => {
  it("are set in signs that the font has, in each format", async () => {
    for (const currency of CURRENCY_CODES)
      for (const format of LANGUAGES) {
        const { money } = createFormats(format, format, currency, MINOR_UNIT_DIGITS[currency]);
        await requireGlyphs([[`${currency} in ${format}`, money("-1234.5")]], FONTS);
      }
  });
});

describe("the samples in docs/", () => {
  it.each(sampled(2, SAMPLES).map((sample) => [sample.name, sample] as const))(
    "%s.png is what the code prints; node devnet/demo/invoice-samples.ts writes it anew",
    async (_, sample) => {
      const [picture = new Uint8Array()] = pictures(await sampleOf(sample));
      expect(Buffer.compare(picture, readFileSync(pictureFile(sample)))).toBe(0);
    },
  );
});
