/** Where the text of a PDF stands: what tests hold columns and margins against. */
import * as mupdf from "mupdf";
import { PAGE_LAYOUT } from "../../../../src/invoices/pdf/typesetter.ts";

/** A run of text without a gap, in points from the upper left corner of its page. */
export interface TextBox {
  page: number;
  text: string;
  left: number;
  right: number;
  /** Of the line that it stands on. */
  baseline: number;
  size: number;
}

/** Letters of a run are next to each other; a space is wider than this part of the letters' size. */
const GAP = 1;

/** The text of all pages, in the order in which it was set. */
export function boxesOf(pdf: Uint8Array): TextBox[] {
  const document = mupdf.Document.openDocument(pdf, "application/pdf");
  const boxes: TextBox[] = [];
  for (let page = 0; page < document.countPages(); page++) {
    let last: TextBox | null = null;
    document
      .loadPage(page)
      .toStructuredText("preserve-whitespace,preserve-spans")
      .walk({
        onChar(character, [, baseline], _font, size, quad) {
          const [left, right] = [quad[0], quad[2]];
          const follows =
            last !== null &&
            Math.abs(last.baseline - baseline) < 0.1 &&
            left - last.right < GAP &&
            left - last.right > -GAP;
          if (last !== null && follows) {
            last.text += character;
            last.right = right;
            return;
          }
          last = { page, text: character, left, right, baseline, size };
          boxes.push(last);
        },
      });
  }
  return boxes;
}

/** Text over other text, or over a margin of its page. */
export function misplaced(boxes: readonly TextBox[]): string[] {
  const found: string[] = [];
  const pages = Map.groupBy(boxes, ({ page }) => page);
  for (const [page, all] of pages) {
    for (const box of all) {
      const { text, left, right, baseline, size } = box;
      const isOutside =
        left < PAGE_LAYOUT.margin - 0.5 ||
        right > PAGE_LAYOUT.width - PAGE_LAYOUT.margin + 0.5 ||
        baseline - size < PAGE_LAYOUT.margin - 4 ||
        baseline > PAGE_LAYOUT.height - PAGE_LAYOUT.margin + 4;
      if (isOutside) found.push(`page ${page + 1}: ${text} is outside the margins`);
    }
    const sorted = all.toSorted((a, b) => a.baseline - b.baseline || a.left - b.left);
    for (const [index, a] of sorted.entries())
      for (const b of sorted.slice(index + 1)) {
        // Letters stand above their baseline, three quarters of their size.
        if (b.baseline - b.size * 0.75 > a.baseline - 0.5) {
          if (b.baseline - a.baseline > 30) break;
          continue;
        }
        if (a.left < b.right - 0.5 && b.left < a.right - 0.5)
          found.push(`page ${page + 1}: ${a.text} and ${b.text} overlap`);
      }
  }
  return found;
}
