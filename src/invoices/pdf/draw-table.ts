import { computeLineHeight, type TextStyle, type Typesetter } from "./typesetter.ts";

/** A column of a table; its width is a share of the page's. Those to the right hold figures. */
export interface TableColumn {
  title: string;
  widthShare: number;
  align: "left" | "right";
}

export function defineColumn(
  title: string,
  share: number,
  align: TableColumn["align"] = "left",
): TableColumn {
  return { title, widthShare: share, align };
}

/** A row of a table, and what it has below its cells, over the table's whole width. */
export interface TableRow {
  cells: readonly string[];
  below?: readonly LabeledValue[];
}

interface LabeledValue {
  label: string;
  value: string;
}

const CELL_PADDING = 4;
const COLUMN_GAP = 8;
/** Points. A figure that needs a smaller size to fit its column gets a separate line. */
const MIN_NUMBER_FONT_SIZE = 6.5;

/**
 * Typesets a table that may span pages, with titles at the top of each. Rows are never split. Text
 * wraps in its column; a figure never does: it is made smaller, or put below under its column's title.
 */
export function drawTable(
  page: Typesetter,
  columns: readonly TableColumn[],
  rows: readonly TableRow[],
  size = 9,
): void {
  const lefts = columns.map((_, index) =>
    columns.slice(0, index).reduce((sum, { widthShare: share }) => sum + share * page.width, 0),
  );
  const drawRow = ({ cells, below = [] }: TableRow, style: TextStyle, shade: number | null) => {
    const set = columns.map(({ widthShare: share, align }, index) => {
      const isFigure = align === "right" && shade === null;
      return layOutCell(page, cells[index] ?? "", share * page.width - COLUMN_GAP, style, isFigure);
    });
    const lineCount = Math.max(...set.map((cell) => cell?.lines.length ?? 0));
    const movedCells = set.filter((cell) => cell === null).length;
    const height =
      (lineCount + movedCells + below.length) * computeLineHeight(style) + 2 * CELL_PADDING - 2;
    page.ensureSpace(height);
    if (shade !== null) page.drawBox(0, page.y, page.width, height, shade);
    const top = page.y - CELL_PADDING;
    let under = top - lineCount * computeLineHeight(style);
    const drawBelow = (one: LabeledValue) => {
      drawLabeledValue(page, one, COLUMN_GAP / 2, page.width - COLUMN_GAP / 2, style, under);
      under -= computeLineHeight(style);
    };
    page.drawTagged("TR", () => {
      for (const [index, { title, align, widthShare: share }] of columns.entries())
        page.drawTagged(shade === null ? "TD" : "TH", () => {
          const cell = set[index];
          if (!cell) return drawBelow({ label: title, value: cells[index] ?? "" });
          const left = lefts[index] ?? 0;
          const x =
            align === "right" ? left + share * page.width - COLUMN_GAP / 2 : left + COLUMN_GAP / 2;
          for (const [line, text] of cell.lines.entries())
            page.drawText(text, x, { ...cell.style, align }, top - line * computeLineHeight(style));
        });
    });
    for (const one of below)
      page.drawTagged("TR", () => page.drawTagged("TD", () => drawBelow(one), columns.length));
    page.y -= height;
    page.drawRule(0, page.width, 0.4, 0.82);
  };
  const drawHeaderRow = () =>
    drawRow({ cells: columns.map(({ title }) => title) }, { size: size - 0.5, bold: true }, 0.93);
  // The titles are never alone at the bottom of a page.
  page.ensureSpace(3 * computeLineHeight({ size }) + 4 * CELL_PADDING);
  page.drawTagged("Table", () => {
    drawHeaderRow();
    page.onNewPage = () => page.drawUntagged(drawHeaderRow);
    for (const row of rows) drawRow(row, { size }, null);
    page.onNewPage = null;
  });
  page.y -= 8;
}

/** The lines of a cell; null for a figure that does not fit. */
function layOutCell(
  page: Typesetter,
  text: string,
  width: number,
  style: TextStyle,
  isFigure: boolean,
): { lines: string[]; style: TextStyle } | null {
  if (!isFigure) {
    const fitted = page.fitStyle(text, width, style);
    return { lines: page.wrapText(text, width, fitted), style: fitted };
  }
  const fitted = shrinkToFit(page, text, width, style);
  return fitted.size < MIN_NUMBER_FONT_SIZE ? null : { lines: [text], style: fitted };
}

/** A label, and its value to the right of it, in one line from one x to another. */
export function drawLabeledValue(
  page: Typesetter,
  { label, value }: LabeledValue,
  left: number,
  right: number,
  style: TextStyle,
  y = page.y,
): void {
  const room = right - left - page.measureWidth(label, style) - COLUMN_GAP;
  page.drawText(label, left, style, y);
  page.drawText(value, right, { ...shrinkToFit(page, value, room, style), align: "right" }, y);
}

/** A style in which a text fits a width in one line. */
export function shrinkToFit(
  page: Typesetter,
  text: string,
  width: number,
  style: TextStyle,
): TextStyle {
  const natural = page.measureWidth(text, style);
  return natural <= width ? style : { ...style, size: (style.size * width) / natural };
}
