import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatCsvLine } from "../../../src/escrow/queries/csv/build-csv-file.ts";

const FORMULA_STARTS = ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"];
const SEPARATORS = [",", ";", "\t", "|", '"', "\r", "\n", "\u2028", "\u2029"];
/** Blanks, and characters that are printed as nothing. */
const UNSEEN = [
  ...[" ", "\u00a0", "\u3000", "\0", "\u001f", "\u200b", "\u200d", "\u202e", "\u2060"],
  ...["\u3164", "\ufeff", "\u00ad", "\ufe0f", "\u{e0041}"],
];
const character = fc.oneof(
  fc.constantFrom(...FORMULA_STARTS, ...SEPARATORS, ...UNSEEN),
  fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
);
const CELLS = fc.array(character, { maxLength: 12 }).map((parts) => parts.join(""));

/** A cell as it is printed. */
const printed = (cell: string) => formatCsvLine([cell]).slice(0, -2);
/** The text of a printed cell. */
const textOf = (cell: string) =>
  cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;

describe("formatCsvLine", () => {
  it("prints each cell so that its text comes back, behind an apostrophe at most", () => {
    fc.assert(
      fc.property(CELLS, (cell) => {
        expect([cell, `'${cell}`]).toContain(textOf(printed(cell)));
      }),
      { numRuns: 2_000 },
    );
  });

  it("quotes what separates cells or lines in any spreadsheet", () => {
    fc.assert(
      fc.property(CELLS, CELLS, fc.constantFrom(...SEPARATORS), (before, after, separator) => {
        expect(printed(`${before}${separator}${after}`)).toMatch(/^".*"$/s);
      }),
    );
  });

  it("prints no formula, whatever unseen characters stand before it", () => {
    const unseen = fc.array(fc.constantFrom(...UNSEEN), { maxLength: 4 });
    fc.assert(
      fc.property(unseen, fc.constantFrom(...FORMULA_STARTS), CELLS, (before, start, rest) => {
        expect(textOf(printed(`${before.join("")}${start}${rest}`))).toMatch(/^'/);
      }),
      { numRuns: 2_000 },
    );
  });
});
