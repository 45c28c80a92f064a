/** The sections of an invoice, from its head to its foot. */
import { MINOR_UNIT_DIGITS } from "../model/currencies.ts";
import { formatDecimal, isZeroDecimal, negateDecimal } from "../model/fractions.ts";
import { findPartyName, type InvoiceParty } from "../model/invoice-content.ts";
import type { LineSubject } from "../model/invoice-lines.ts";
import { defineColumn, drawLabeledValue, drawTable } from "./draw-table.ts";
import type { Formats } from "./formats.ts";
import { toPrintable } from "./glyphs.ts";
import { drawAnnex, drawConversions } from "./payment-sections.ts";
import {
  BODY_STYLE,
  LABEL_STYLE,
  type RenderContext,
  SMALL_STYLE,
  STRONG_STYLE,
} from "./render-context.ts";
import { computeLineHeight, PAGE_LAYOUT, type TextStyle, type Typesetter } from "./typesetter.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** Typesets a whole document, starting on an empty first page. */
export function drawDocument(paper: RenderContext): void {
  const { page } = paper;
  page.footerHeight =
    layOutFooter(paper).lines.length * computeLineHeight(SMALL_STYLE) + 6 + FOOTER_RULE_SPACE;
  drawHeader(paper);
  drawParties(paper);
  drawCancellation(paper);
  drawIntroduction(paper);
  drawItems(paper);
  drawTotals(paper);
  drawTaxNotice(paper);
  drawConversions(paper);
  drawClosing(paper);
  drawAnnex(paper);
  drawFooter(paper);
}

/** The title of a document. */
export function findTitle({ content, vocabulary: words }: RenderContext): string {
  if (content.cancels) return words.cancellation;
  return content.texts.title ?? words.invoice;
}

function drawHeader(paper: RenderContext): void {
  const { page, number, content, vocabulary: words, formats } = paper;
  const top = page.y;
  const title: TextStyle = { size: 21, bold: true };
  page.drawTagged("H1", () =>
    page.drawParagraph(toPrintable(findTitle(paper)), 0, page.width * 0.52, title),
  );
  const left = page.y;

  page.y = top + 1;
  const x = page.width * 0.56;
  const room = page.width - x - page.measureWidth(words.number, LABEL_STYLE) - 12;
  const numberStyle: TextStyle = { ...STRONG_STYLE, breaks: "dashes" };
  const fitted = page.fitStyle(number, room, numberStyle);
  const isBeside = fitted.size >= SMALL_STYLE.size;
  const reference = toPrintable(content.texts.buyerReference ?? "");
  const facts: [string, string][] = [
    ...(isBeside ? [[words.number, number] satisfies [string, string]] : []),
    [words.date, formats.date(content.issueDate)],
    [words.servicePeriod, formats.month(content.month)],
    ...(reference ? [[words.buyerReference, reference] satisfies [string, string]] : []),
  ];
  for (const [label, value] of facts)
    page.drawTagged("P", () => {
      page.drawText(label, x, LABEL_STYLE, page.y - 1.5);
      const style = label === words.number ? fitted : page.fitStyle(value, room, STRONG_STYLE);
      for (const line of page.wrapText(value, room, style)) {
        page.drawText(line, page.width, { ...style, align: "right" });
        page.y -= computeLineHeight(BODY_STYLE);
      }
    });
  page.y = Math.min(left, page.y);
  if (!isBeside) page.drawParagraph(`${words.number}: ${number}`, 0, page.width, numberStyle);
  page.y -= 22;
}

function drawParties({ page, content, vocabulary: words }: RenderContext): void {
  const top = page.y;
  const width = page.width * 0.46;
  const ends = [
    { label: words.from, party: content.seller, x: 0 },
    { label: words.to, party: content.buyer, x: page.width - width },
  ].map(({ label, party, x }) => {
    page.y = top;
    page.drawText(label, x, LABEL_STYLE);
    page.y -= 13;
    for (const [index, line] of listPartyLines(party, words).entries())
      page.drawParagraph(toPrintable(line), x, width, index === 0 ? STRONG_STYLE : BODY_STYLE);
    return page.y;
  });
  page.y = Math.min(...ends) - 20;
}

function listPartyLines(party: InvoiceParty, words: Vocabulary): string[] {
  const { companyName, name } = party;
  const person = companyName?.trim() ? name?.trim() : null;
  return [
    findPartyName(party),
    ...(person ? [person] : []),
    `${party.street} ${party.streetNumber}`,
    `${party.zipCode} ${party.city}`,
    party.country,
    ...(party.vatNumber ? [`${words.vatNumber}: ${party.vatNumber}`] : []),
    ...(party.email ? [`${words.email}: ${party.email}`] : []),
    ...(party.phone ? [`${words.phone}: ${party.phone}`] : []),
  ];
}

function drawCancellation({ page, content, vocabulary: words, formats }: RenderContext): void {
  if (!content.cancels) return;
  const { number, issueDate, reasons } = content.cancels;
  drawTextBox(page, [
    {
      text: words.cancels(number, formats.date(issueDate)),
      style: { ...STRONG_STYLE, breaks: "dashes" },
    },
    {
      text: `${words.reason}: ${reasons.map((reason) => words.reasons[reason]).join("; ")}.`,
      style: BODY_STYLE,
    },
  ]);
}

function drawIntroduction({ page, content, vocabulary: words }: RenderContext): void {
  const { description, greeting } = content.texts;
  if (description) {
    page.drawParagraph(toPrintable(description), 0, page.width, BODY_STYLE);
    page.y -= 6;
  }
  if (!content.cancels)
    page.drawParagraph(toPrintable(greeting ?? words.greeting), 0, page.width, BODY_STYLE);
  page.y -= 8;
}

function drawItems({ page, content, vocabulary: words, formats, amount }: RenderContext): void {
  drawTable(
    page,
    [
      defineColumn(words.position, 0.06),
      defineColumn(words.description, 0.46),
      defineColumn(words.quantity, 0.12, "right"),
      defineColumn(words.unitPrice, 0.18, "right"),
      defineColumn(words.lineTotal, 0.18, "right"),
    ],
    content.lines.map(({ name, quantity, unitPrice, net, subject: bought }, index) => ({
      cells: [
        formats.count(String(index + 1)),
        `${toPrintable(name)}\n${formatDays(bought, formats)}`,
        formats.count(content.cancels ? `-${quantity}` : quantity),
        formats.money(unitPrice),
        amount(net),
      ],
    })),
  );
}

function formatDays({ from, to }: LineSubject, { date }: Formats): string {
  return from === to ? date(from) : `${date(from)} – ${date(to)}`;
}

function drawTotals({ page, content, vocabulary: words, formats, amount }: RenderContext): void {
  const { totals, tax } = content;
  const zero = formatDecimal(0n, MINOR_UNIT_DIGITS[content.currency]);
  const rows: [string, string, TextStyle][] = [[words.netTotal, amount(totals.net), BODY_STYLE]];
  if (tax.category === "S")
    rows.push([`${words.vat} ${formats.percent(tax.rate)}`, amount(totals.vat), BODY_STYLE]);
  rows.push([words.total, amount(totals.gross), { size: 12, bold: true }]);
  if (!content.cancels) {
    if (!isZeroDecimal(totals.rounding))
      rows.push([words.rounding, formats.money(totals.rounding), BODY_STYLE]);
    rows.push([words.paidTotal, formats.money(negateDecimal(totals.paid)), BODY_STYLE]);
    rows.push([words.amountDue, formats.money(zero), STRONG_STYLE]);
  }
  // The total is never alone on a page.
  page.ensureSpace(rows.length * 24 + 10);
  const x = page.width * 0.46;
  page.y -= 6;
  for (const [label, value, style] of rows) {
    if (style.size > BODY_STYLE.size) {
      page.drawRule(x, page.width - x, 0.8, 0.25);
      page.y -= 5;
    }
    const isWide = page.measureWidth(`${label}  ${value}`, style) > page.width - x;
    page.drawTagged("P", () =>
      drawLabeledValue(page, { label, value }, isWide ? 0 : x, page.width, style),
    );
    page.y -= computeLineHeight(style) + 1;
  }
  page.y -= 14;
}

function drawTaxNotice({ page, content, vocabulary: words }: RenderContext): void {
  const { category } = content.tax;
  if (category === "AE")
    drawTextBox(page, [{ text: words.reverseChargeNotice, style: STRONG_STYLE }]);
  if (category === "O") page.drawParagraph(words.outsideScopeNotice, 0, page.width, BODY_STYLE);
  if (category === "Z") page.drawParagraph(words.zeroRateNotice, 0, page.width, BODY_STYLE);
  if (category === "O" || category === "Z") page.y -= 10;
}

function drawClosing({ page, content, vocabulary: words }: RenderContext): void {
  const { closing, signature, terms, privacy } = content.texts;
  if (!content.cancels)
    page.drawParagraph(toPrintable(closing ?? words.closingText), 0, page.width, BODY_STYLE);
  if (signature) {
    page.y -= 8;
    page.drawParagraph(toPrintable(signature), 0, page.width, BODY_STYLE);
  }
  for (const [label, text] of [
    [words.terms, terms],
    [words.privacy, privacy],
  ] as const) {
    if (!text) continue;
    page.y -= 10;
    page.ensureSpace(30);
    page.drawTagged("H2", () =>
      page.drawParagraph(label, 0, page.width, { ...SMALL_STYLE, bold: true }),
    );
    page.drawParagraph(toPrintable(text), 0, page.width, SMALL_STYLE);
  }
}

const FOOTER_RULE_SPACE = 12;

/** The lines of the footer, which every page has in full, and their style. */
function layOutFooter({ page, content, number }: RenderContext): {
  lines: string[];
  style: TextStyle;
} {
  const { footer } = content.texts;
  const text = toPrintable(footer ?? `${findPartyName(content.seller)} · ${number}`).replace(
    /\s+/g,
    " ",
  );
  const width = page.width * 0.78;
  const style = page.fitStyle(
    text,
    width,
    footer ? SMALL_STYLE : { ...SMALL_STYLE, breaks: "dashes" },
  );
  return { lines: page.wrapText(text, width, style), style };
}

function drawFooter(paper: RenderContext): void {
  const { page, vocabulary: words } = paper;
  const top = PAGE_LAYOUT.margin + page.footerHeight - FOOTER_RULE_SPACE;
  const { lines, style } = layOutFooter(paper);
  page.drawUntagged(() =>
    page.forEachPage((index, pages) => {
      page.drawBox(0, top, page.width, 0.5, 0.75);
      for (const [line, text] of lines.entries())
        page.drawText(text, 0, style, top - 6 - line * computeLineHeight(SMALL_STYLE));
      page.drawText(
        words.page(index, pages),
        page.width,
        { ...SMALL_STYLE, align: "right" },
        top - 6,
      );
    }),
  );
}

/** A shaded box with paragraphs in it. */
function drawTextBox(page: Typesetter, paragraphs: { text: string; style: TextStyle }[]): void {
  const inset = 9;
  const width = page.width - 2 * inset;
  const set = paragraphs.map(({ text, style: requested }) => {
    const style = page.fitStyle(text, width, requested);
    return { lines: page.wrapText(text, width, style), style };
  });
  const heights = set.map(({ lines, style }) => lines.length * computeLineHeight(style));
  const height = heights.reduce((sum, one) => sum + one, 0) + 2 * inset - 4;
  page.ensureSpace(height);
  page.drawBox(0, page.y, page.width, height, 0.93);
  page.y -= inset;
  for (const { lines, style } of set)
    page.drawTagged("P", () => {
      for (const line of lines) {
        page.drawText(line, inset, style);
        page.y -= computeLineHeight(style);
      }
    });
  page.y -= inset + 8;
}
