import { describe, expect, it } from "vitest";
import { packagedFonts, SAMPLES } from "../../../../devnet/demo/invoice-samples.ts";
import {
  type InvoiceContent,
  toCancellation,
} from "../../../../src/invoices/model/invoice-content.ts";
import { createFormats } from "../../../../src/invoices/pdf/formats.ts";
import { renderPdf } from "../../../../src/invoices/pdf/render-pdf.ts";
import { boxesOf, misplaced, type TextBox } from "./boxes.ts";

const FONTS = packagedFonts();
const [GERMAN, ENGLISH] = SAMPLES.map(({ content }) => content);

const BOUGHT = {
  ...{ agentIdentifier: "", unit: "", amount: "1", parts: 1 },
  ...{ from: "2025-09-01", to: "2025-09-30" },
};

/** Lines, totals and rates from the smallest to more than any payments and rates come to. */
function ofAllSizes(base: InvoiceContent | undefined): InvoiceContent {
  if (!base) throw new Error("there is no sample");
  const sizes = Array.from({ length: 42 }, (_, digits) =>
    `1${"2345678901".repeat(5)}`.slice(0, digits + 1),
  );
  const largest = `${sizes.at(-1)}.99`;
  return {
    ...base,
    tax: { category: "S", rate: "0.19" },
    lines: sizes.map((net) => ({
      subject: BOUGHT,
      name: `Agent: ${net}`,
      quantity: net.slice(0, 20),
      unitPrice: `${net}.1234567891`,
      net: `${net}.15`,
    })),
    totals: { net: largest, vat: largest, gross: largest, paid: largest, rounding: largest },
    conversions: sizes.map((amount) => ({ unit: "", amount, rate: `0.${amount}`, source: null })),
  };
}

/** That a text stands in one piece as often as it should, at least. */
function expectWhole(boxes: readonly TextBox[], texts: readonly string[]): void {
  const set = boxes.map(({ text }) => text);
  expect(texts.filter((text) => !set.includes(text))).toEqual([]);
}

describe("figures", () => {
  it.each([
    ["a German invoice", ofAllSizes(GERMAN)],
    [
      "an English cancellation",
      toCancellation(ofAllSizes(ENGLISH), "2025-C7654E-0001", "2025-10-09", ["items"]),
    ],
  ])("of any size stand in one piece and in their columns: %s", async (_, content) => {
    const boxes = boxesOf(await renderPdf("2025-C7654E-0002", content, FONTS));
    expect(misplaced(boxes)).toEqual([]);
    const { money, count, decimal } = createFormats(content.format, content.language, "eur", 2);
    const sign = content.cancels ? "-" : "";
    expectWhole(boxes, [
      ...content.lines.flatMap(({ quantity, unitPrice, net }) => [
        count(sign + quantity),
        money(unitPrice),
        money(sign + net),
      ]),
      ...Object.values(content.totals).map((total) => money(sign + total)),
      ...content.conversions.flatMap(({ amount, rate }) => [
        decimal(sign + amount),
        `${decimal(rate)} EUR`,
      ]),
    ]);
  });

  it.each([
    ["as long as it may be", `${"W".repeat(100)}-2025-C7654E-0001`, ["2025-C7654E-0001"]],
    ["of digits alone", `${"1234567890".repeat(10)}-2025-C7654E-0001`, ["1234567890".repeat(10)]],
    ["with dashes", `${"NORTH-1234567-".repeat(7)}2025-C7654E-0001`, ["1234567", "C7654E"]],
  ])("of an invoice's number stay together between its dashes: %s", async (_, number, parts) => {
    if (!GERMAN) throw new Error("there is no sample");
    const content = toCancellation(GERMAN, number, "2025-10-09", ["buyer"]);
    const boxes = boxesOf(await renderPdf(number, content, FONTS));
    expect(misplaced(boxes)).toEqual([]);
    for (const part of parts) {
      const found = boxes.filter(({ text }) => text.includes(part));
      expect(found.length, part).toBeGreaterThanOrEqual(2);
    }
    const letters = boxes.map(({ text }) => text).filter((text) => /^W+-?$/.test(text));
    for (const text of letters) expect(text).toMatch(/^W{100}/);
  });

  it("of a party stay together: a telephone number as long as it may be is set smaller", async () => {
    if (!GERMAN) throw new Error("there is no sample");
    const phone = "0123456789".repeat(10);
    const content = { ...GERMAN, buyer: { ...GERMAN.buyer, phone } };
    const boxes = boxesOf(await renderPdf("2025-C7654E-0001", content, FONTS));
    expect(misplaced(boxes)).toEqual([]);
    expect(boxes.filter(({ text }) => text.endsWith(phone))).toHaveLength(1);
  });
});
