/** The sections of an invoice, from its head to its foot. */
import type { InvoiceContent } from "./content.ts";
import type { Formats } from "./formats.ts";
import { printable } from "./glyphs.ts";
import { CURRENCIES, formatDecimal } from "./money.ts";
import { lastDayOf, parseMonth } from "./month.ts";
import { nameOf, type Party } from "./party.ts";
import { column, setTable } from "./table.ts";
import type { Vocabulary } from "./texts.ts";
import { lineHeight, PAGE, type TextStyle, type Typesetter } from "./typesetter.ts";
import { unitName } from "./units.ts";

const BODY: TextStyle = { size: 9.5 };
const SMALL: TextStyle = { size: 8, grey: 0.35 };
const LABEL: TextStyle = { size: 8, grey: 0.45 };
const STRONG: TextStyle = { size: 9.5, bold: true };

/** A paper that is being set, and what is needed to set it. */
export interface Paper {
  page: Typesetter;
  number: string;
  content: InvoiceContent;
  words: Vocabulary;
  formats: Formats;
  /** An amount with its sign on this paper: a cancellation's are negative. */
  amount(decimal: string): string;
}

/** Sets a whole paper, its first page empty. */
export function setPaper(paper: Paper): void {
  const { page } = paper;
  page.foot = footLines(paper).length * lineHeight(SMALL) + 6 + FOOT_RULE;
  setHead(paper);
  setParties(paper);
  setCancellation(paper);
  setOpening(paper);
  setItems(paper);
  setTotals(paper);
  setNotice(paper);
  setConversions(paper);
  setClosing(paper);
  setFoot(paper);
}

/** What a paper calls itself. */
export function titleOf({ content, words }: Paper): string {
  if (content.cancels) return words.cancellation;
  return content.texts.title ?? words.invoice;
}

function setHead(paper: Paper): void {
  const { page, number, content, words, formats } = paper;
  const top = page.y;
  const title: TextStyle = { size: 21, bold: true };
  page.paragraph(printable(titleOf(paper)), 0, page.width * 0.52, title);
  const left = page.y;

  page.y = top + 1;
  const facts: [string, string][] = [
    [words.number, number],
    [words.date, formats.date(content.issueDate)],
    [words.servicePeriod, formats.month(content.month)],
  ];
  for (const [label, value] of facts) {
    page.put(label, page.width * 0.56, LABEL, page.y - 1.5);
    const lines = page.wrap(printable(value), page.width * 0.25, STRONG);
    for (const line of lines) {
      page.put(line, page.width, { ...STRONG, align: "right" });
      page.y -= lineHeight(BODY);
    }
  }
  page.y = Math.min(left, page.y) - 22;
}

function setParties({ page, content, words }: Paper): void {
  const top = page.y;
  const width = page.width * 0.46;
  const ends = [
    { label: words.from, party: content.seller, x: 0 },
    { label: words.to, party: content.buyer, x: page.width - width },
  ].map(({ label, party, x }) => {
    page.y = top;
    page.put(label, x, LABEL);
    page.y -= 13;
    for (const [index, line] of linesOf(party, words).entries())
      page.paragraph(printable(line), x, width, index === 0 ? STRONG : BODY);
    return page.y;
  });
  page.y = Math.min(...ends) - 20;
}

function linesOf(party: Party, words: Vocabulary): string[] {
  const { companyName, name } = party;
  const person = companyName?.trim() ? name?.trim() : null;
  return [
    nameOf(party),
    ...(person ? [person] : []),
    `${party.street} ${party.streetNumber}`,
    `${party.zipCode} ${party.city}`,
    party.country,
    ...(party.vatNumber ? [`${words.vatNumber}: ${party.vatNumber}`] : []),
    ...(party.email ? [`${words.email}: ${party.email}`] : []),
    ...(party.phone ? [`${words.phone}: ${party.phone}`] : []),
  ];
}

function setCancellation({ page, content, words, formats }: Paper): void {
  if (!content.cancels) return;
  const { number, issueDate, reasons } = content.cancels;
  setBox(page, [
    { text: words.cancels(printable(number), formats.date(issueDate)), style: STRONG },
    {
      text: `${words.reason}: ${reasons.map((reason) => words.reasons[reason]).join("; ")}.`,
      style: BODY,
    },
  ]);
}

function setOpening({ page, content, words }: Paper): void {
  const { description, greeting } = content.texts;
  if (description) {
    page.paragraph(printable(description), 0, page.width, BODY);
    page.y -= 6;
  }
  if (!content.cancels) page.paragraph(printable(greeting ?? words.greeting), 0, page.width, BODY);
  page.y -= 8;
}

function setItems({ page, content, words, formats, amount }: Paper): void {
  setTable(
    page,
    [
      column(words.position, 0.06),
      column(words.description, 0.46),
      column(words.quantity, 0.12, "right"),
      column(words.unitPrice, 0.18, "right"),
      column(words.lineTotal, 0.18, "right"),
    ],
    content.lines.map(({ name, quantity, unitPrice, net }, index) => [
      formats.count(String(index + 1)),
      printable(name),
      formats.count(content.cancels ? `-${quantity}` : quantity),
      formats.money(unitPrice),
      amount(net),
    ]),
  );
}

function setTotals({ page, content, words, formats, amount }: Paper): void {
  const { totals, tax } = content;
  const zero = formatDecimal(0n, CURRENCIES[content.currency]);
  const rows: [string, string, TextStyle][] = [[words.netTotal, amount(totals.net), BODY]];
  if (tax.category === "S")
    rows.push([`${words.vat} ${formats.percent(tax.rate)}`, amount(totals.vat), BODY]);
  rows.push([words.total, amount(totals.gross), { size: 12, bold: true }]);
  if (!content.cancels) {
    rows.push([words.paid, formats.money(negative(totals.gross)), BODY]);
    rows.push([words.due, formats.money(zero), STRONG]);
  }
  // The total does not stand alone on a page.
  page.need(rows.length * 18 + 10);
  const x = page.width * 0.46;
  page.y -= 6;
  for (const [label, value, style] of rows) {
    if (style.size > BODY.size) {
      page.rule(x, page.width - x, 0.8, 0.25);
      page.y -= 5;
    }
    page.put(label, x, style);
    page.put(value, page.width, { ...style, align: "right" });
    page.y -= lineHeight(style) + 1;
  }
  page.y -= 14;
}

function negative(decimal: string): string {
  return /[1-9]/.test(decimal) ? `-${decimal}` : decimal;
}

function setNotice({ page, content, words }: Paper): void {
  const { category } = content.tax;
  if (category === "AE") setBox(page, [{ text: words.reverseCharge, style: STRONG }]);
  if (category === "O") page.paragraph(words.outsideScope, 0, page.width, BODY);
  if (category === "Z") page.paragraph(words.zeroRated, 0, page.width, BODY);
  if (category === "O" || category === "Z") page.y -= 10;
}

function setConversions({ page, content, words, formats }: Paper): void {
  const month = parseMonth(content.month);
  if (content.conversions.length === 0 || month === null) return;
  const end = lastDayOf(month);
  const day = formats.date(end < content.issueDate ? end : content.issueDate);
  page.need(70);
  page.put(words.conversion, 0, STRONG);
  page.y -= 17;
  setTable(
    page,
    [
      column(words.asset, 0.25),
      column(words.amountPaid, 0.22, "right"),
      column(words.rate, 0.24, "right"),
      column(words.source, 0.16),
      column(words.rateDate, 0.13, "right"),
    ],
    content.conversions.map(({ unit, amount, rate, source }) => [
      unit === "" ? words.nativeCoin : unitName(unit),
      formats.count(amount),
      `${formats.decimal(rate)} ${content.currency.toUpperCase()}`,
      source === null ? words.rateOfRequest : printable(source),
      day,
    ]),
    SMALL.size,
  );
  page.paragraph(words.rateNote, 0, page.width, SMALL);
  page.y -= 14;
}

function setClosing({ page, content, words }: Paper): void {
  const { closing, signature, terms, privacy } = content.texts;
  if (!content.cancels) page.paragraph(printable(closing ?? words.closing), 0, page.width, BODY);
  if (signature) {
    page.y -= 8;
    page.paragraph(printable(signature), 0, page.width, BODY);
  }
  for (const [label, text] of [
    [words.terms, terms],
    [words.privacy, privacy],
  ] as const) {
    if (!text) continue;
    page.y -= 10;
    page.need(30);
    page.paragraph(label, 0, page.width, { ...SMALL, bold: true });
    page.paragraph(printable(text), 0, page.width, SMALL);
  }
}

const FOOT_RULE = 12;

/** The lines of the foot, which every page has in full. */
function footLines({ page, content, number }: Paper): string[] {
  const text = content.texts.footer ?? `${nameOf(content.seller)} · ${number}`;
  return page.wrap(printable(text).replace(/\s+/g, " "), page.width * 0.78, SMALL);
}

function setFoot(paper: Paper): void {
  const { page, words } = paper;
  const top = PAGE.margin + page.foot - FOOT_RULE;
  const lines = footLines(paper);
  page.onEveryPage((index, pages) => {
    page.box(0, top, page.width, 0.5, 0.75);
    for (const [line, text] of lines.entries())
      page.put(text, 0, SMALL, top - 6 - line * lineHeight(SMALL));
    page.put(words.page(index, pages), page.width, { ...SMALL, align: "right" }, top - 6);
  });
}

/** A shaded box with paragraphs in it. */
function setBox(page: Typesetter, paragraphs: { text: string; style: TextStyle }[]): void {
  const inset = 9;
  const width = page.width - 2 * inset;
  const lines = paragraphs.flatMap(({ text, style }) =>
    page.wrap(text, width, style).map((line) => ({ line, style })),
  );
  const height = lines.reduce((sum, { style }) => sum + lineHeight(style), 0) + 2 * inset - 4;
  page.need(height);
  page.box(0, page.y, page.width, height, 0.93);
  page.y -= inset;
  for (const { line, style } of lines) {
    page.put(line, inset, style);
    page.y -= lineHeight(style);
  }
  page.y -= inset + 8;
}
