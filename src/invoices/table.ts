import { lineHeight, type TextStyle, type Typesetter } from "./typesetter.ts";

/** A column of a table; its width is a share of the page's. */
export interface Column {
  title: string;
  share: number;
  align: "left" | "right";
}

export function column(title: string, share: number, align: Column["align"] = "left"): Column {
  return { title, share, align };
}

const PADDING = 4;
const GAP = 8;

/** Sets a table that goes on over pages, with its titles at the top of each. A row is never split. */
export function setTable(
  page: Typesetter,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  size = 9,
): void {
  const lefts = columns.map((_, index) =>
    columns.slice(0, index).reduce((sum, { share }) => sum + share * page.width, 0),
  );
  const setRow = (cells: readonly string[], style: TextStyle, shade: number | null) => {
    const wrapped = columns.map(({ share }, index) =>
      page.wrap(cells[index] ?? "", share * page.width - GAP, style),
    );
    const most = Math.max(...wrapped.map((lines) => lines.length));
    const height = most * lineHeight(style) + 2 * PADDING - 2;
    page.need(height);
    if (shade !== null) page.box(0, page.y, page.width, height, shade);
    const top = page.y - PADDING;
    for (const [index, { align, share }] of columns.entries()) {
      const left = lefts[index] ?? 0;
      const x = align === "right" ? left + share * page.width - GAP / 2 : left + GAP / 2;
      for (const [line, text] of (wrapped[index] ?? []).entries())
        page.put(text, x, { ...style, align }, top - line * lineHeight(style));
    }
    page.y -= height;
    page.rule(0, page.width, 0.4, 0.82);
  };
  const setTitles = () =>
    setRow(
      columns.map(({ title }) => title),
      { size: size - 0.5, bold: true },
      0.93,
    );
  // The titles do not stand alone at the bottom of a page.
  page.need(3 * lineHeight({ size }) + 4 * PADDING);
  setTitles();
  page.onNewPage = setTitles;
  for (const row of rows) setRow(row, { size }, null);
  page.onNewPage = null;
  page.y -= 8;
}
