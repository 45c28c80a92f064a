import type { PDFDocument, PDFFont, PDFPage, RGB } from "pdf-lib";
import { loadFontkit, loadPdfLib } from "../../packages.ts";
import type { FontFiles } from "./fonts.ts";
import { type StructureTag, StructureTree } from "./structure-tree.ts";

/** Points; A4 upright. */
export const PAGE_LAYOUT = { width: 595.28, height: 841.89, margin: 51 };

export interface TextStyle {
  size: number;
  bold?: boolean;
  /** 0 is black, 1 is white. */
  grey?: number;
  align?: "left" | "right";
  /**
   * Where a word that is wider than a line is broken: `letters`, the default, but never inside a number;
   * `dashes`: after its dashes alone.
   */
  breaks?: "letters" | "dashes";
}

const BREAK_PATTERNS = { letters: /(?<=[^\d.,])|(?=[^\d.,])/u, dashes: /(?<=-)/ };

/** Places text and lines on pages, from the top down. All measures are points. */
export class Typesetter {
  readonly #document: PDFDocument;
  readonly #fonts: { regular: PDFFont; bold: PDFFont };
  readonly #rgb: (r: number, g: number, b: number) => RGB;
  /** Null: the document has no structure. */
  readonly #structure: StructureTree | null;
  readonly #widths = { regular: new Map<string, number>(), bold: new Map<string, number>() };
  #page: PDFPage;
  /** The upper edge of the next item, from the bottom of the page. */
  y: number;
  /** Space kept free above the lower margin of every page. */
  footerHeight = 0;
  /** Runs on every new page but the first, when the content continues there. */
  onNewPage: (() => void) | null = null;

  private constructor(
    document: PDFDocument,
    fonts: { regular: PDFFont; bold: PDFFont },
    rgb: (r: number, g: number, b: number) => RGB,
    tags: StructureTree | null,
  ) {
    this.#document = document;
    this.#fonts = fonts;
    this.#rgb = rgb;
    this.#structure = tags;
    this.#page = document.addPage([PAGE_LAYOUT.width, PAGE_LAYOUT.height]);
    this.y = PAGE_LAYOUT.height - PAGE_LAYOUT.margin;
  }

  /**
   * Begins the first page of a document; fonts are embedded with only the glyphs used.
   *
   * @param isTagged - whether the document has a structure: see `drawTagged`
   */
  static async begin(
    document: PDFDocument,
    files: FontFiles,
    isTagged = true,
  ): Promise<Typesetter> {
    const pdfLib = await loadPdfLib();
    document.registerFontkit(await loadSubsettingFontkit());
    // The name of each subset begins with six different letters (ISO 32000-1, 9.6.4).
    const embed = (file: Uint8Array, customName: string) =>
      document.embedFont(file, { subset: true, customName });
    const regular = await embed(files.regular, "AAAAAA+NotoSans-Regular");
    const bold = await embed(files.bold, "AAAAAB+NotoSans-Bold");
    return new Typesetter(
      document,
      { regular, bold },
      pdfLib.rgb,
      isTagged ? new StructureTree(pdfLib) : null,
    );
  }

  get width(): number {
    return PAGE_LAYOUT.width - 2 * PAGE_LAYOUT.margin;
  }

  /** Moves to the next page unless this much fits above the footer. */
  ensureSpace(height: number): void {
    if (this.y - height < PAGE_LAYOUT.margin + this.footerHeight) this.addPage();
  }

  addPage(): void {
    this.#page = this.#document.addPage([PAGE_LAYOUT.width, PAGE_LAYOUT.height]);
    this.y = PAGE_LAYOUT.height - PAGE_LAYOUT.margin;
    this.onNewPage?.();
  }

  /**
   * One line of text, without moving down.
   *
   * @param x - left end, or right end of right-aligned text; from the left margin
   * @param y - upper edge of the line; default: the current position
   */
  drawText(text: string, x: number, style: TextStyle, y = this.y): void {
    if (text === "") return;
    const grey = style.grey ?? 0;
    const left = style.align === "right" ? x - this.measureWidth(text, style) : x;
    this.#drawInParagraph(() =>
      this.#drawMarked(() =>
        this.#page.drawText(text, {
          x: PAGE_LAYOUT.margin + left,
          y: y - style.size,
          size: style.size,
          font: style.bold ? this.#fonts.bold : this.#fonts.regular,
          color: this.#rgb(grey, grey, grey),
        }),
      ),
    );
  }

  /**
   * Tags what is set by a function as one element of the document's structure. Text that is set outside
   * of any is a paragraph.
   *
   * @param columns - that a cell spans
   */
  drawTagged(tag: StructureTag, set: () => void, columns = 1): void {
    if (this.#structure) this.#structure.runInElement(tag, set, columns);
    else set();
  }

  /** Keeps what a function sets out of the structure: what repeats on each page. */
  drawUntagged(set: () => void): void {
    if (this.#structure) this.#structure.runAsArtifact(set);
    else set();
  }

  /** Writes the structure into the document, once everything is set. */
  writeTags(): void {
    this.#structure?.writeTo(this.#document);
  }

  #drawInParagraph(set: () => void): void {
    if (this.#structure) this.#structure.runInAnyElement("P", set);
    else set();
  }

  #drawMarked(draw: () => void): void {
    const marks = this.#structure?.createMarkOperators(this.#page);
    if (marks) this.#page.pushOperators(marks.begin);
    draw();
    if (marks) this.#page.pushOperators(marks.end);
  }

  /**
   * Text broken into lines of at most a width, moving down; continues on new pages as needed. It is
   * smaller than its style says where it could not be broken otherwise.
   */
  drawParagraph(text: string, x: number, width: number, requested: TextStyle): void {
    const style = this.fitStyle(text, width, requested);
    this.#drawInParagraph(() => {
      for (const line of this.wrapText(text, width, style)) {
        this.ensureSpace(computeLineHeight(style));
        this.drawText(line, style.align === "right" ? x + width : x, style);
        this.y -= computeLineHeight(style);
      }
    });
  }

  /** The style of a text whose unbreakable parts must fit a line: smaller where one would not. */
  fitStyle(text: string, width: number, style: TextStyle): TextStyle {
    const parts = text.split(/[ \n]/).flatMap((word) => this.#splitWord(word, width, style));
    const widest = Math.max(...parts.map((part) => this.measureWidth(part, style)));
    return widest <= width ? style : { ...style, size: (style.size * width) / widest };
  }

  /** Breaks text into lines at spaces, and inside words that are too long for a line: see `fitStyle`. */
  wrapText(text: string, width: number, style: TextStyle): string[] {
    return text.split("\n").flatMap((paragraph) => {
      const lines: string[] = [];
      let line = "";
      for (const word of paragraph
        .split(" ")
        .flatMap((one) => this.#splitWord(one, width, style))) {
        const longer = line === "" ? word : `${line} ${word}`;
        if (line === "" || this.measureWidth(longer, style) <= width) {
          line = longer;
        } else {
          lines.push(line);
          line = word;
        }
      }
      return [...lines, line];
    });
  }

  /** A word, or the parts of one wider than a line. */
  #splitWord(word: string, width: number, style: TextStyle): string[] {
    if (this.measureWidth(word, style) <= width) return [word];
    const pieces: string[] = [];
    let piece = "";
    for (const part of word.split(BREAK_PATTERNS[style.breaks ?? "letters"])) {
      if (piece !== "" && this.measureWidth(piece + part, style) > width) {
        pieces.push(piece);
        piece = "";
      }
      piece += part;
    }
    return [...pieces, piece];
  }

  /** The sum of its words' and spaces' widths: words repeat, so each is measured once. */
  measureWidth(text: string, { size, bold }: TextStyle): number {
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

  /** A horizontal line at the current position. */
  drawRule(x: number, width: number, thickness: number, grey: number): void {
    this.drawBox(x, this.y, width, thickness, grey);
  }

  /** A filled box; `y` is its upper edge. Draw it before the text on it. */
  drawBox(x: number, y: number, width: number, height: number, grey: number): void {
    this.drawUntagged(() =>
      this.#drawMarked(() =>
        this.#page.drawRectangle({
          x: PAGE_LAYOUT.margin + x,
          y: y - height,
          width,
          height,
          color: this.#rgb(grey, grey, grey),
        }),
      ),
    );
  }

  /** Runs once for every page, when all pages exist. */
  forEachPage(run: (page: number, pages: number) => void): void {
    const pages = this.#document.getPages();
    for (const [index, page] of pages.entries()) {
      this.#page = page;
      run(index + 1, pages.length);
    }
  }
}

/** The distance from one line to the next. */
export function computeLineHeight({ size }: TextStyle): number {
  return size * 1.4;
}

type Fontkit = Parameters<PDFDocument["registerFontkit"]>[0];
type Font = ReturnType<Fontkit["create"]>;

/** The stream that pdf-lib reads a subset from: it only listens. */
interface SubsetStream {
  on(event: string, listener: (bytes?: Uint8Array) => void): SubsetStream;
}

/**
 * Adapts fontkit 2 to pdf-lib 1.17, which was made for a fork of fontkit 1. Subsets of that fork lose
 * outlines. Subsets of fontkit 2 are correct, but are bytes where pdf-lib reads a stream.
 */
export async function loadSubsettingFontkit(): Promise<Fontkit> {
  const fontkit = await loadFontkit();
  return {
    create(bytes: Uint8Array): Font {
      const font = fontkit.create(bytes as Parameters<typeof fontkit.create>[0]);
      if (!("createSubset" in font)) throw new Error("a font collection is no font");
      const createSubset = font.createSubset.bind(font);
      return Object.assign(font, {
        // `requireGlyphs` lets only text through that needs no shaping, which would take most of the time.
        layout: (text: string) => ({
          glyphs: Array.from(text, (one) => font.glyphForCodePoint(one.codePointAt(0) ?? 0)),
        }),
        createSubset() {
          const subset = createSubset();
          return Object.assign(subset, {
            encodeStream: () => createSubsetStream(() => subset.encode()),
          });
        },
      }) as unknown as Font;
    },
  };
}

/** Everything in one chunk, once the listeners are attached. */
function createSubsetStream(encode: () => Uint8Array): SubsetStream {
  const listeners = new Map<string, (bytes?: Uint8Array) => void>();
  queueMicrotask(() => {
    try {
      listeners.get("data")?.(encode());
      listeners.get("end")?.();
    } catch (error) {
      listeners.get("error")?.(error as Uint8Array);
    }
  });
  const stream: SubsetStream = {
    on(event, listener) {
      listeners.set(event, listener);
      return stream;
    },
  };
  return stream;
}
