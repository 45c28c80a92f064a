/** CSV as RFC 4180 has it, that no spreadsheet takes for anything but text and numbers: pure. */

/**
 * What begins a formula in spreadsheets (OWASP, "CSV Injection"), alone or after blanks and invisible
 * characters that they drop. An apostrophe before it makes the cell a text.
 */
const FORMULA =
  /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u;

/** What separates cells or lines in some spreadsheet, and quotation marks. */
const SEPARATOR = /[",;|\p{Cc}\u2028\u2029]/u;

/** A cell; null is empty. */
export type Cell = string | null;

/** A line, with its end. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: Cell): string {
  if (cell === null) return "";
  const safe = FORMULA.test(cell) ? `'${cell}` : cell;
  return SEPARATOR.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
