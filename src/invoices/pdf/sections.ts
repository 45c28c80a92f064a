/** The sections of an invoice, from its head to its foot. */
import { CURRENCIES } from "../model/currencies.ts";
import { formatDecimal, isZero, negate } from "../model/fractions.ts";
import { findPartyName, type Party } from "../model/invoice-content.ts";
import type { LineSubject } from "../model/invoice-lines.ts";
import type { Formats } from "./formats.ts";
import { toPrintable } from "./glyphs.ts";
import { BODY, LABEL, type Paper, SMALL, STRONG } from "./paper.ts";
import { setAnnex, setConversions } from "./payment-sections.ts";
import { defineColumn, setLabeledValue, setTable } from "./set-table.ts";
import type { Vocabulary } from "./texts.ts";
import { lineHeight, PAGE, type TextStyle, type Typesetter } from "./typesetter.ts";

/** Typesets a whole document, starting on an empty first page. */
export function setDocument(paper: Paper): void {
  const { page } = paper;
  page.foot = footLines(paper).lines.length * lineHeight(SMALL) + 6 + FOOT_RULE;
  setHead(paper);
  setParties(paper);
  setCancellation(paper);
  setOpening(paper);
  setItems(paper);
  setTotals(paper);
  setNotice(paper);
  setConversions(paper);
  setClosing(paper);
  setAnnex(paper);
  setFoot(paper);
}

/** The title of a document. */
export function findTitle({ content, words }: Paper): string {
  if (content.cancels) return words.cancellation;
  return content.texts.title ?? words.invoice;
}

function setHead(paper: Paper): void {
  const { page, number, content, words, formats } = paper;
  const top = page.y;
  const title: TextStyle = { size: 21, bold: true };
  page.tagged("H1", () =>
    page.paragraph(toPrintable(findTitle(paper)), 0, page.width * 0.52, title),
  );
  const left = page.y;

  page.y = top + 1;
  const x = page.width * 0.56;
  const room = page.width - x - page.widthOf(words.number, LABEL) - 12;
  const numberStyle: TextStyle = { ...STRONG, breaks: "dashes" };
  const fitted = page.fitted(number, room, numberStyle);
  const isBeside = fitted.size >= SMALL.size;
  const reference = toPrintable(content.texts.buyerReference ?? "");
  const facts: [string, string][] = [
    ...(isBeside ? [[words.number, number] satisfies [string, string]] : []),
    [words.date, formats.date(content.issueDate)],
    [words.servicePeriod, formats.month(content.month)],
    ...(reference ? [[words.buyerReference, reference] satisfies [string, string]] : []),
  ];
  for (const [label, value] of facts)
    page.tagged("P", () => {
      page.put(label, x, LABEL, page.y - 1.5);
      const style = label === words.number ? fitted : page.fitted(value, room, STRONG);
      for (const line of page.wrap(value, room, style)) {
        page.put(line, page.width, { ...style, align: "right" });
        page.y -= lineHeight(BODY);
      }
    });
  page.y = Math.min(left, page.y);
  if (!isBeside) page.paragraph(`${words.number}: ${number}`, 0, page.width, numberStyle);
  page.y -= 22;
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
    for (const [index, line] of listPartyLines(party, words).entries())
      page.paragraph(toPrintable(line), x, width, index === 0 ? STRONG : BODY);
    return page.y;
  });
  page.y = Math.min(...ends) - 20;
}

function listPartyLines(party: Party, words: Vocabulary): string[] {
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

function setCancellation({ page, content, words, formats }: Paper): void {
  if (!content.cancels) return;
  const { number, issueDate, reasons } = content.cancels;
  setBox(page, [
    {
      text: words.cancels(number, formats.date(issueDate)),
      style: { ...STRONG, breaks: "dashes" },
    },
    {
      text: `${words.reason}: ${reasons.map((reason) => words.reasons[reason]).join("; ")}.`,
      style: BODY,
    },
  ]);
}

function setOpening({ page, content, words }: Paper): void {
  const { description, greeting } = content.texts;
  if (description) {
    page.paragraph(toPrintable(description), 0, page.width, BODY);
    page.y -= 6;
  }
  if (!content.cancels)
    page.paragraph(toPrintable(greeting ?? words.greeting), 0, page.width, BODY);
  page.y -= 8;
}

function setItems({ page, content, words, formats, amount }: Paper): void {
  setTable(
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

function setTotals({ page, content, words, formats, amount }: Paper): void {
  const { totals, tax } = content;
  const zero = formatDecimal(0n, CURRENCIES[content.currency]);
  const rows: [string, string, TextStyle][] = [[words.netTotal, amount(totals.net), BODY]];
  if (tax.category === "S")
    rows.push([`${words.vat} ${formats.percent(tax.rate)}`, amount(totals.vat), BODY]);
  rows.push([words.total, amount(totals.gross), { size: 12, bold: true }]);
  if (!content.cancels) {
    if (!isZero(totals.rounding)) rows.push([words.rounding, formats.money(totals.rounding), BODY]);
    rows.push([words.paid, formats.money(negate(totals.paid)), BODY]);
    rows.push([words.due, formats.money(zero), STRONG]);
  }
  // The total is never alone on a page.
  page.need(rows.length * 24 + 10);
  const x = page.width * 0.46;
  page.y -= 6;
  for (const [label, value, style] of rows) {
    if (style.size > BODY.size) {
      page.rule(x, page.width - x, 0.8, 0.25);
      page.y -= 5;
    }
    const isWide = page.widthOf(`${label}  ${value}`, style) > page.width - x;
    page.tagged("P", () =>
      setLabeledValue(page, { label, value }, isWide ? 0 : x, page.width, style),
    );
    page.y -= lineHeight(style) + 1;
  }
  page.y -= 14;
}

function setNotice({ page, content, words }: Paper): void {
  const { category } = content.tax;
  if (category === "AE") setBox(page, [{ text: words.reverseCharge, style: STRONG }]);
  if (category === "O") page.paragraph(words.outsideScope, 0, page.width, BODY);
  if (category === "Z") page.paragraph(words.zeroRated, 0, page.width, BODY);
  if (category === "O" || category === "Z") page.y -= 10;
}

function setClosing({ page, content, words }: Paper): void {
  const { closing, signature, terms, privacy } = content.texts;
  if (!content.cancels) page.paragraph(toPrintable(closing ?? words.closing), 0, page.width, BODY);
  if (signature) {
    page.y -= 8;
    page.paragraph(toPrintable(signature), 0, page.width, BODY);
  }
  for (const [label, text] of [
    [words.terms, terms],
    [words.privacy, privacy],
  ] as const) {
    if (!text) continue;
    page.y -= 10;
    page.need(30);
    page.tagged("H2", () => page.paragraph(label, 0, page.width, { ...SMALL, bold: true }));
    page.paragraph(toPrintable(text), 0, page.width, SMALL);
  }
}

const FOOT_RULE = 12;

/** The lines of the footer, which every page has in full, and their style. */
function footLines({ page, content, number }: Paper): { lines: string[]; style: TextStyle } {
  const { footer } = content.texts;
  const text = toPrintable(footer ?? `${findPartyName(content.seller)} · ${number}`).replace(
    /\s+/g,
    " ",
  );
  const width = page.width * 0.78;
  const style = page.fitted(text, width, footer ? SMALL : { ...SMALL, breaks: "dashes" });
  return { lines: page.wrap(text, width, style), style };
}

function setFoot(paper: Paper): void {
  const { page, words } = paper;
  const top = PAGE.margin + page.foot - FOOT_RULE;
  const { lines, style } = footLines(paper);
  page.untagged(() =>
    page.onEveryPage((index, pages) => {
      page.box(0, top, page.width, 0.5, 0.75);
      for (const [line, text] of lines.entries())
        page.put(text, 0, style, top - 6 - line * lineHeight(SMALL));
      page.put(words.page(index, pages), page.width, { ...SMALL, align: "right" }, top - 6);
    }),
  );
}

/** A shaded box with paragraphs in it. */
function setBox(page: Typesetter, paragraphs: { text: string; style: TextStyle }[]): void {
  const inset = 9;
  const width = page.width - 2 * inset;
  const set = paragraphs.map(({ text, style: requested }) => {
    const style = page.fitted(text, width, requested);
    return { lines: page.wrap(text, width, style), style };
  });
  const heights = set.map(({ lines, style }) => lines.length * lineHeight(style));
  const height = heights.reduce((sum, one) => sum + one, 0) + 2 * inset - 4;
  page.need(height);
  page.box(0, page.y, page.width, height, 0.93);
  page.y -= inset;
  for (const { lines, style } of set)
    page.tagged("P", () => {
      for (const line of lines) {
        page.put(line, inset, style);
        page.y -= lineHeight(style);
      }
    });
  page.y -= inset + 8;
}
