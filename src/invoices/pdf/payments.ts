/** The parts of an invoice about the payments on the chain: conversion and annex. */
import type { InvoiceContent } from "../content.ts";
import { CURRENCIES } from "../currencies.ts";
import {
  formatDecimal,
  negate,
  parseDecimal,
  perWholeCoin,
  roundHalfUp,
  times,
  trimDecimal,
  whole,
} from "../money.ts";
import { lastDayOf, parseMonth } from "../month.ts";
import { agentName, unitName } from "../units.ts";
import type { Formats } from "./formats.ts";
import { printable } from "./glyphs.ts";
import { type Paper, SMALL, STRONG } from "./paper.ts";
import { column, setTable } from "./table.ts";
import type { Vocabulary } from "./texts.ts";

/** What was paid in each unit, and its rate. */
export function setConversions({ page, content, words, formats }: Paper): void {
  const month = parseMonth(content.month);
  if (content.conversions.length === 0 || month === null) return;
  const end = lastDayOf(month);
  const day = formats.date(end < content.issueDate ? end : content.issueDate);
  page.need(70);
  page.tagged("H2", () => page.put(words.conversion, 0, STRONG));
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
    content.conversions.map(({ unit, amount, rate, source, decimals = 0 }) => ({
      cells: [
        assetName(unit, decimals, words),
        paidAmount(content, amount, decimals, formats),
        `${formats.decimal(perWholeCoin(rate, decimals))} ${content.currency.toUpperCase()}`,
        source === null ? words.rateOfRequest : printable(source),
        day,
      ],
    })),
    SMALL.size,
  );
  page.paragraph(words.rateNote, 0, page.width, SMALL);
  page.y -= 14;
}

/** A row for each payment that the invoice covers, and for each unit that it was in. */
export function setAnnex({ page, content, words, formats, amount }: Paper): void {
  const { payments, lines, conversions, currency, tax } = content;
  if (!lines.some(({ bought }) => bought)) return;
  page.y -= 18;
  page.need(110);
  page.tagged("H2", () => page.put(words.annex, 0, STRONG));
  page.y -= 17;
  if (payments === undefined) {
    const jobs = lines.reduce(
      (sum, { quantity, bought }) => (bought?.parts === 1 ? sum + BigInt(quantity) : sum),
      0n,
    );
    page.paragraph(words.tooManyPayments(formats.count(String(jobs))), 0, page.width, SMALL);
    return;
  }
  const rows = payments.flatMap(({ line, day, txHash }) =>
    lines.slice(line - 1, line - 1 + (lines[line - 1]?.bought?.parts ?? 1)).map((of, part) => {
      const { unit = "", amount: paid = "0", agentIdentifier = "" } = of.bought ?? {};
      const { rate = "0", decimals = 0 } = conversions.find((one) => one.unit === unit) ?? {};
      const worth = times(whole(BigInt(paid)), parseDecimal(rate));
      const digits = CURRENCIES[currency];
      return {
        cells: [
          formats.count(String(line + part)),
          formats.date(day),
          agentName(agentIdentifier) || words.unregistered,
          assetName(unit, decimals, words),
          paidAmount(content, paid, decimals, formats),
          amount(formatDecimal(roundHalfUp(worth, digits), digits)),
        ],
        below: part === 0 && txHash ? [{ label: words.transaction, value: txHash }] : [],
      };
    }),
  );
  const code = currency.toUpperCase();
  setTable(
    page,
    [
      column(words.position, 0.07),
      column(words.job, 0.14),
      column(words.agent, 0.23),
      column(words.asset, 0.22),
      column(words.amountPaid, 0.16, "right"),
      column(tax.category === "S" ? words.gross(code) : code, 0.18, "right"),
    ],
    rows,
    SMALL.size,
  );
  page.paragraph(words.annexNote, 0, page.width, SMALL);
}

/** An amount of a unit, negative on a cancellation. */
function paidAmount(
  { cancels }: InvoiceContent,
  amount: string,
  decimals: number,
  formats: Formats,
): string {
  const text = trimDecimal(formatDecimal(BigInt(amount), decimals), 0);
  return formats.decimal(cancels ? negate(text) : text);
}

/** What amounts of a unit are counted in: whole coins when their decimals are known. */
function assetName(unit: string, decimals: number, words: Vocabulary): string {
  const name = unit === "" ? words.nativeCoin : unitName(unit);
  return decimals === 0 ? words.smallestUnit(name) : name;
}
