import { beforeAll, describe, expect, it } from "vitest";
import { packagedFonts, pictures, SAMPLES } from "../../../../devnet/demo/invoice-samples.ts";
import { MINOR_UNIT_DIGITS } from "../../../../src/invoices/model/currencies.ts";
import { negateDecimal } from "../../../../src/invoices/model/fractions.ts";
import {
  type InvoiceContent,
  toCancellation,
} from "../../../../src/invoices/model/invoice-content.ts";
import {
  type BillablePayment,
  groupItems,
  listCoveredPayments,
  priceItems,
} from "../../../../src/invoices/model/invoice-lines.ts";
import { createFormats, type Formats } from "../../../../src/invoices/pdf/formats.ts";
import { buildInvoiceXml } from "../../../../src/invoices/pdf/invoice-xml.ts";
import { renderPdf } from "../../../../src/invoices/pdf/render-pdf.ts";
import { PAGE_LAYOUT } from "../../../../src/invoices/pdf/typesetter.ts";
import { sampled } from "../../../support/effort.ts";
import { boxesOf, misplaced, type TextBox } from "./boxes.ts";
import { brokenRules } from "./en16931-rules.ts";
import { schemaErrors } from "./schema.ts";

const FONTS = packagedFonts();
const NUMBER = "2025-C7654E-0044";
const [german, english] = SAMPLES.map(({ content }) => content) as [InvoiceContent, InvoiceContent];

/** Payments to so many agents, each of another amount. */
function payments(count: number, amountOf: (index: number) => bigint): BillablePayment[] {
  return Array.from({ length: count }, (_, index) => ({
    id: String(index),
    agentIdentifier: index.toString(16).padStart(60, "b"),
    funds: [{ unit: "", amount: String(amountOf(index)) }],
    day: `2025-09-${String(1 + (index % 30)).padStart(2, "0")}`,
    txHash: index.toString(16).padStart(64, "c"),
  }));
}

/** A paper with other payments, priced by its VAT. */
function billing(base: InvoiceContent, paid: BillablePayment[], rate: string): InvoiceContent {
  const items = groupItems(paid);
  const nameOf = ({ agentIdentifier }: { agentIdentifier: string }) =>
    `Agent: Research (${agentIdentifier.slice(0, 6)}…${agentIdentifier.slice(-12)})`;
  const { currency, tax } = base;
  const amount = items.reduce((sum, item) => sum + item.amount * item.quantity, 0n);
  return {
    ...base,
    ...priceItems(items, { currency, vatRate: tax.rate, rateOf: () => rate, nameOf }),
    payments: listCoveredPayments(items),
    conversions: [{ unit: "", amount: String(amount), rate, source: null, decimals: 6 }],
  };
}

const LONG = "Donaudampfschifffahrtsgesellschaftskapitänswitwenrentenauszahlungsstelle".padEnd(
  100,
  "ß",
);
const buyer = (of: Partial<InvoiceContent["buyer"]>) => ({ ...german.buyer, ...of });

const VARIANTS: Record<string, InvoiceContent> = {
  "in German": german,
  "in English, with reverse charge": english,
  "a revision, in the formats of the United States": { ...english, format: "en-us" },
  "a cancellation": toCancellation(german, "2025-C7654E-0041", "2025-10-09", [
    "payments",
    "seller",
  ]),
  "zero-rated": { ...english, tax: { category: "Z", rate: "0" } },
  "of long names": {
    ...german,
    seller: { ...german.seller, companyName: LONG, name: LONG, street: LONG, city: LONG },
    buyer: buyer({ companyName: LONG, email: null, phone: "0123456789".repeat(10) }),
    texts: { ...german.texts, title: LONG, footer: null, buyerReference: LONG },
    lines: german.lines.map((line) => ({ ...line, name: `${LONG}: ${LONG} (1a1a1a…1a1a1a)` })),
  },
  "to a Greek buyer": { ...english, language: "de", format: "de" },
  "to a Ukrainian buyer": {
    ...german,
    buyer: buyer({ companyName: "ТОВ «Київські агенти»", city: "Київ", country: "Ukraine" }),
  },
  "to a Polish buyer, from STRAẞE": {
    ...german,
    seller: { ...german.seller, street: "SENDLINGER STRAẞE" },
    buyer: buyer({ street: "ulica Świętokrzyska", city: "Żółkiewka" }),
  },
  "of 200 lines": billing(
    german,
    payments(200, (index) => BigInt(1_000_003 + 7919 * index)),
    "0.00000045",
  ),
  "of tiny amounts": billing(
    english,
    payments(3, (index) => BigInt(index + 1)),
    "0.0000001",
  ),
  "of huge amounts": billing(
    { ...german, currency: "idr" },
    payments(6, (index) => 10n ** BigInt(12 + 4 * index) - 1n),
    "7654.321",
  ),
};

const papers = new Map<string, { content: InvoiceContent; pdf: Uint8Array; boxes: TextBox[] }>();
beforeAll(async () => {
  for (const [name, content] of Object.entries(VARIANTS)) {
    const pdf = await renderPdf(NUMBER, content, FONTS);
    papers.set(name, { content, pdf, boxes: boxesOf(pdf) });
  }
});
function paperOf(name: string) {
  const paper = papers.get(name);
  if (!paper) throw new Error(`there is no variant ${name}`);
  return paper;
}
const NAMES = sampled(3, Object.keys(VARIANTS));

const formatsFor = ({ format, language, currency }: InvoiceContent): Formats =>
  createFormats(format, language, currency, MINOR_UNIT_DIGITS[currency]);
const signed = ({ cancels }: InvoiceContent, decimal: string): string =>
  cancels !== null && /[1-9]/.test(decimal) ? `-${decimal}` : decimal;

/** The right edges, in points, of the columns of figures: of items and totals. */
const RIGHT = PAGE_LAYOUT.width - PAGE_LAYOUT.margin;
const edge = (share: number) =>
  PAGE_LAYOUT.margin + (PAGE_LAYOUT.width - 2 * PAGE_LAYOUT.margin) * share - 4;

describe("an invoice", () => {
  it.each(NAMES)("%s: has no text over other text or a margin, and ink on each page", (name) => {
    const { pdf, boxes } = paperOf(name);
    expect(misplaced(boxes)).toEqual([]);
    const pages = pictures(pdf, 0.5);
    expect(pages).toHaveLength(1 + Math.max(...boxes.map(({ page }) => page)));
    // An empty page of this size is a picture of some hundred bytes.
    for (const picture of pages) expect(picture.length).toBeGreaterThan(2_000);
  });

  it.each(NAMES)("%s: has each figure in one piece, to the right of its column", (name) => {
    const { content, boxes } = paperOf(name);
    const { money, count } = formatsFor(content);
    const endsAt = (text: string) =>
      boxes.filter((box) => box.text === text).map(({ right }) => Math.round(right));
    for (const { quantity, unitPrice, net } of content.lines) {
      const figures: [string, number][] = [
        [count(signed(content, quantity)), edge(0.64)],
        [money(unitPrice), edge(0.82)],
        [money(signed(content, net)), edge(1)],
      ];
      // A figure that does not fit has a separate line, to the table's right edge.
      for (const [figure, right] of figures) {
        const ends = endsAt(figure);
        const isPlaced = ends.includes(Math.round(right)) || ends.includes(Math.round(edge(1)));
        expect(isPlaced, `${figure} ends at ${ends}, not at ${right}`).toBe(true);
      }
    }
    for (const total of [content.totals.net, content.totals.gross])
      expect(endsAt(money(signed(content, total)))).toContain(Math.round(RIGHT));
  });

  it.each(NAMES)("%s: prints the rounding and the prepaid amount of its XML", (name) => {
    const { content, boxes } = paperOf(name);
    if (content.cancels !== null) return;
    const xml =
      buildInvoiceXml(NUMBER, content) ?? buildInvoiceXml(NUMBER, { ...content, currency: "eur" });
    const sumOf = (element: string) =>
      new RegExp(`<ram:${element}>([^<]*)<`).exec(xml ?? "")?.[1] ?? null;
    const { money } = formatsFor(content);
    const rounding = sumOf("RoundingAmount");
    const printed = boxes.map(({ text }) => text);
    expect(printed).toContain(money(negateDecimal(sumOf("TotalPrepaidAmount") ?? "")));
    expect(printed).toContain(money(sumOf("DuePayableAmount") ?? ""));
    if (rounding !== null) expect(printed).toContain(money(rounding));
    const label = printed.some((text) => text === "Rundung" || text === "Rounding");
    expect(label).toBe(rounding !== null);
  });

  it.each(NAMES)("%s: has each line's description in its column", (name) => {
    const { content, boxes } = paperOf(name);
    const [left, right] = [edge(0.06) + 8, edge(0.52)];
    const starts = boxes.filter((box) => Math.abs(box.left - left) < 0.5);
    // Each has at least its name and its days.
    expect(starts.length).toBeGreaterThanOrEqual(2 * content.lines.length);
    expect(starts.filter((box) => box.right > right + 0.5)).toEqual([]);
  });

  it.each(NAMES)("%s: lists each payment with its transaction", (name) => {
    const { content, boxes } = paperOf(name);
    const set = new Set(boxes.map(({ text }) => text));
    expect(content.payments?.length).toBeGreaterThan(0);
    for (const { txHash } of content.payments ?? []) expect(set).toContain(txHash);
  });

  it.each(NAMES)("%s: prints parties, title and number as they are", (name) => {
    const { content, boxes } = paperOf(name);
    const text = boxes
      .map((box) => box.text)
      .join("")
      .replace(/\s/g, "");
    const { seller, buyer: to } = content;
    for (const one of [seller.companyName, to.companyName, to.city, seller.vatNumber, NUMBER])
      if (one) expect(text).toContain(one.replace(/\s/g, ""));
  });

  it.each(NAMES)("%s: says that amounts include VAT only where VAT is charged", (name) => {
    const { content, boxes } = paperOf(name);
    const said = boxes.some(({ text }) => /inkl\. USt\.|incl\. VAT/.test(text));
    expect(said).toBe(content.tax.category === "S");
  });

  it("is judged by a check that finds text over text, and over a margin", () => {
    const { boxes } = paperOf("in German");
    const figure = boxes.find(({ text }) => text.startsWith("34,64"));
    if (!figure) throw new Error("there is no such figure");
    const { left, right, ...rest } = figure;
    const moved = (by: number) => [
      ...boxes,
      { ...rest, text: "9", left: left + by, right: right + by },
    ];
    expect(misplaced(moved(0))).toEqual([`page 1: ${figure.text} and 9 overlap`]);
    expect(misplaced(moved(20))).toContain("page 1: 9 is outside the margins");
  });

  it("shows nothing but negative sums when it is a cancellation", () => {
    const { content, boxes } = paperOf("a cancellation");
    const money = boxes.filter(({ text }) => /^-?[\d.]+,\d\d\s€$/.test(text));
    const prices = new Set(
      content.lines.map(({ unitPrice }) => formatsFor(content).money(unitPrice)),
    );
    expect(money.length).toBeGreaterThan(content.lines.length);
    for (const { text } of money) if (!prices.has(text)) expect(text).toMatch(/^-/);
  });
});

describe("the XML of an invoice", () => {
  it.each(NAMES)("%s: is valid by the schema and keeps the rules", async (name) => {
    const { content } = paperOf(name);
    // The seller is German, and owes VAT in euros.
    const xml = buildInvoiceXml(NUMBER, { ...content, currency: "eur" }) ?? "";
    expect(xml).not.toBe("");
    expect(await schemaErrors(xml)).toEqual([]);
    expect(brokenRules(xml)).toEqual([]);
  });
});
