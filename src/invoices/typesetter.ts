import type { PDFDocument, PDFFont, PDFPage, RGB } from "pdf-lib";
import { subsettingFontkit } from "./fontkit-subset.ts";
import type { FontFiles } from "./fonts.ts";

/** Points; A4 upright. */
export const PAGE = { width: 595.28, height: 841.89, margin: 51 };

export interface TextStyle {
  size: number;
  bold?: boolean;
  /** 0 is black, 1 is white. */
  grey?: number;
  align?: "left" | "right";
}

/** Places text and lines on pages, from the top down. All measures are points. */
export class Typesetter {
  readonly #document: PDFDocument;
  readonly #fonts: { regular: PDFFont; bold: PDFFont };
  readonly #rgb: (r: number, g: number, b: number) => RGB;
  readonly #widths = { regular: new Map<string, number>(), bold: new Map<string, number>() };
  #page: PDFPage;
  /** The upper edge of what comes next, from the bottom of the page. */
  y: number;
  /** What is kept free above the lower margin of every page. */
  foot = 0;
  /** Runs on every new page but the first, when what is being set goes on there. */
  onNewPage: (() => void) | null = null;

  private constructor(
    document: PDFDocument,
    fonts: { regular: PDFFont; bold: PDFFont },
    rgb: (r: number, g: number, b: number) => RGB,
  ) {
    this.#document = document;
    this.#fonts = fonts;
    this.#rgb = rgb;
    this.#page = document.addPage([PAGE.width, PAGE.height]);
    this.y = PAGE.height - PAGE.margin;
  }

  /** Begins the first page of a document, whose fonts are embedded with the glyphs that get used. */
  static async begin(document: PDFDocument, files: FontFiles): Promise<Typesetter> {
    const { rgb } = await import("pdf-lib");
    document.registerFontkit(await subsettingFontkit());
    // Ligatures would make searched and copied text differ from what was set.
    const options = { subset: true, features: { liga: false } };
    const regular = await document.embedFont(files.regular, options);
    const bold = await document.embedFont(files.bold, options);
    return new Typesetter(document, { regular, bold }, rgb);
  }

  get width(): number {
    return PAGE.width - 2 * PAGE.margin;
  }

  /** Makes sure that so much fits above the foot of the page, else goes on to the next page. */
  need(height: number): void {
    if (this.y - height < PAGE.margin + this.foot) this.newPage();
  }

  newPage(): void {
    this.#page = this.#document.addPage([PAGE.width, PAGE.height]);
    this.y = PAGE.height - PAGE.margin;
    this.onNewPage?.();
  }

  /**
   * One line of text, without moving down.
   *
   * @param x - its left end, or its right end when it is aligned there; from the left margin
   * @param y - the upper edge of the line; default: where we are
   */
  put(text: string, x: number, style: TextStyle, y = this.y): void {
    if (text === "") return;
    const grey = style.grey ?? 0;
    const left = style.align === "right" ? x - this.widthOf(text, style) : x;
    this.#page.drawText(text, {
      x: PAGE.margin + left,
      y: y - style.size,
      size: style.size,
      font: style.bold ? this.#fonts.bold : this.#fonts.regular,
      color: this.#rgb(grey, grey, grey),
    });
  }

  /** Text broken into lines of at most a width, moving down; goes on to new pages as it must. */
  paragraph(text: string, x: number, width: number, style: TextStyle): void {
    for (const line of this.wrap(text, width, style)) {
      this.need(lineHeight(style));
      this.put(line, style.align === "right" ? x + width : x, style);
      this.y -= lineHeight(style);
    }
  }

  /** Breaks text into lines at spaces, and inside words that are too long for a line. */
  wrap(text: string, width: number, style: TextStyle): string[] {
    return text.split("\n").flatMap((paragraph) => {
      const lines: string[] = [];
      let line = "";
      for (const word of paragraph.split(" ").flatMap((one) => this.#fitting(one, width, style))) {
        const longer = line === "" ? word : `${line} ${word}`;
        if (line === "" || this.widthOf(longer, style) <= width) {
          line = longer;
        } else {
          lines.push(line);
          line = word;
        }
      }
      return [...lines, line];
    });
  }

  /** A word, or the pieces of one that is wider than a line. */
  #fitting(word: string, width: number, style: TextStyle): string[] {
    if (this.widthOf(word, style) <= width) return [word];
    const pieces: string[] = [];
    let piece = "";
    for (const character of word) {
      if (piece !== "" && this.widthOf(piece + character, style) > width) {
        pieces.push(piece);
        piece = "";
      }
      piece += character;
    }
    return [...pieces, piece];
  }

  /** The sum of its words' and spaces' widths: words repeat, so each is measured once. */
  widthOf(text: string, { size, bold }: TextStyle): number {
    const face = bold ? "bold" : "regular";
    let width = 0;
    for (const part of text.split(/(?<= )|(?= )/)) {
      let known = this.#widths[face].get(part);
      if (known === undefined) {
        known = this.#fonts[face].widthOfTextAtSize(part, 1);
        this.#widths[face].set(part, known);
      }
      width += known;
    }
    return width * size;
  }

  /** A horizontal line where we are. */
  rule(x: number, width: number, thickness: number, grey: number): void {
    this.box(x, this.y, width, thickness, grey);
  }

  /** A filled box; `y` is its upper edge. Put it before the text on it. */
  box(x: number, y: number, width: number, height: number, grey: number): void {
    this.#page.drawRectangle({
      x: PAGE.margin + x,
      y: y - height,
      width,
      height,
      color: this.#rgb(grey, grey, grey),
    });
  }

  /** Runs once for every page, when all of them are there. */
  onEveryPage(run: (page: number, pages: number) => void): void {
    const pages = this.#document.getPages();
    for (const [index, page] of pages.entries()) {
      this.#page = page;
      run(index + 1, pages.length);
    }
  }
}

/** From one line to the next. */
export function lineHeight({ size }: TextStyle): number {
  return size * 1.4;
}
