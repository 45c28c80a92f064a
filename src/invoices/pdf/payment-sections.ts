/** The parts of an invoice about the payments on the chain: conversion and annex. */

import { MINOR_UNIT_DIGITS } from "../model/currencies.ts";
import {
  formatDecimal,
  multiply,
  negateDecimal,
  parseDecimal,
  roundHalfUp,
  toFraction,
  toRatePerCoin,
  trimDecimal,
} from "../model/fractions.ts";
import type { InvoiceContent } from "../model/invoice-content.ts";
import { formatLastDay, parseMonth } from "../model/month.ts";
import { formatAgentIdentifier, formatUnit } from "../model/token-names.ts";
import { defineColumn, drawTable } from "./draw-table.ts";
import type { Formats } from "./formats.ts";
import { toPrintable } from "./glyphs.ts";
import { type RenderContext, SMALL_STYLE, STRONG_STYLE } from "./render-context.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** What was paid in each unit, and its rate. */
export function drawConversions({
  page,
  content,
  vocabulary: words,
  formats,
}: RenderContext): void {
  if (content.conversions.length === 0) return;
  const end = formatLastDay(parseMonth(content.month));
  const day = formats.date(end < content.issueDate ? end : content.issueDate);
  page.ensureSpace(70);
  page.drawTagged("H2", () => page.drawText(words.conversion, 0, STRONG_STYLE));
  page.y -= 17;
  drawTable(
    page,
    [
      defineColumn(words.asset, 0.25),
      defineColumn(words.amountPaid, 0.22, "right"),
      defineColumn(words.rate, 0.24, "right"),
      defineColumn(words.source, 0.16),
      defineColumn(words.rateDate, 0.13, "right"),
    ],
    content.conversions.map(({ unit, amount, rate, source, decimals = 0 }) => ({
      cells: [
        formatAssetName(unit, decimals, words),
        formatPaidAmount(content, amount, decimals, formats),
        `${formats.decimal(toRatePerCoin(rate, decimals))} ${content.currency.toUpperCase()}`,
        source === null ? words.rateOfRequest : toPrintable(source),
        day,
      ],
    })),
    SMALL_STYLE.size,
  );
  page.drawParagraph(words.rateNote, 0, page.width, SMALL_STYLE);
  page.y -= 14;
}

/** A row for each payment that the invoice covers, and for each unit that it was in. */
export function drawAnnex({
  page,
  content,
  vocabulary: words,
  formats,
  amount,
}: RenderContext): void {
  const { payments, lines, conversions, currency, tax } = content;
  page.y -= 18;
  page.ensureSpace(110);
  page.drawTagged("H2", () => page.drawText(words.annex, 0, STRONG_STYLE));
  page.y -= 17;
  if (payments === undefined) {
    const jobs = lines.reduce(
      (sum, { quantity, subject: bought }) => (bought.parts === 1 ? sum + BigInt(quantity) : sum),
      0n,
    );
    page.drawParagraph(
      words.tooManyPayments(formats.count(String(jobs))),
      0,
      page.width,
      SMALL_STYLE,
    );
    return;
  }
  const rows = payments.flatMap(({ line, day, txHash }) =>
    lines.slice(line - 1, line - 1 + (lines[line - 1]?.subject.parts ?? 1)).map((of, part) => {
      const { unit, amount: paid, agentIdentifier } = of.subject;
      const { rate = "0", decimals = 0 } = conversions.find((one) => one.unit === unit) ?? {};
      const worth = multiply(toFraction(BigInt(paid)), parseDecimal(rate));
      const digits = MINOR_UNIT_DIGITS[currency];
      return {
        cells: [
          formats.count(String(line + part)),
          formats.date(day),
          formatAgentIdentifier(agentIdentifier) || words.unregisteredService,
          formatAssetName(unit, decimals, words),
          formatPaidAmount(content, paid, decimals, formats),
          amount(formatDecimal(roundHalfUp(worth, digits), digits)),
        ],
        below: part === 0 && txHash ? [{ label: words.transaction, value: txHash }] : [],
      };
    }),
  );
  const code = currency.toUpperCase();
  drawTable(
    page,
    [
      defineColumn(words.position, 0.07),
      defineColumn(words.job, 0.14),
      defineColumn(words.agent, 0.23),
      defineColumn(words.asset, 0.22),
      defineColumn(words.amountPaid, 0.16, "right"),
      defineColumn(tax.category === "S" ? words.gross(code) : code, 0.18, "right"),
    ],
    rows,
    SMALL_STYLE.size,
  );
  page.drawParagraph(words.annexNote, 0, page.width, SMALL_STYLE);
}

/** An amount of a unit, negative on a cancellation. */
function formatPaidAmount(
  { cancels }: InvoiceContent,
  amount: string,
  decimals: number,
  formats: Formats,
): string {
  const text = trimDecimal(formatDecimal(BigInt(amount), decimals), 0);
  return formats.decimal(cancels ? negateDecimal(text) : text);
}

/** What amounts of a unit are counted in: whole coins when their decimals are known. */
function formatAssetName(unit: string, decimals: number, words: Vocabulary): string {
  const name = unit === "" ? words.nativeCoin : formatUnit(unit);
  return decimals === 0 ? words.smallestUnit(name) : name;
}
