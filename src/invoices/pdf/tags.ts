/**
 * The logical structure of a tagged PDF (ISO 32000-1, 14.7 and 14.8): headings, paragraphs and cells,
 * in reading order. `pdf-lib` has the objects for it, but builds no structure.
 */
import type { PDFDocument, PDFOperator, PDFPage, PDFRef } from "pdf-lib";

/** Standard structure types (14.8.4). */
export type Tag = "H1" | "H2" | "P" | "Table" | "TR" | "TH" | "TD";

interface Element {
  tag: Tag | "Document";
  kids: (Element | MarkedContent)[];
  /** Of a cell: the columns it spans. */
  columns: number;
}

/** A part of a page's content, numbered from 0 on each page. */
interface MarkedContent {
  page: PDFPage;
  id: number;
}

type PdfLib = Pick<typeof import("pdf-lib"), "PDFName" | "PDFOperator" | "PDFOperatorNames">;

/** Builds the structure while the pages are set. */
export class Tags {
  readonly #lib: PdfLib;
  readonly #document: Element = { tag: "Document", kids: [], columns: 1 };
  #open = this.#document;
  #isArtifact = false;
  /** The element of each marked content, by page. */
  readonly #owners = new Map<PDFPage, Element[]>();

  constructor(lib: PdfLib) {
    this.#lib = lib;
  }

  /** Puts what runs into a new element of the one that is open. */
  within(tag: Tag, run: () => void, columns = 1): void {
    if (this.#isArtifact) {
      run();
      return;
    }
    const outer = this.#open;
    const element: Element = { tag, kids: [], columns };
    outer.kids.push(element);
    this.#open = element;
    run();
    this.#open = outer;
  }

  /** Like `within`, unless an element is open already: text is always in one. */
  withinAny(tag: Tag, run: () => void): void {
    if (this.#open === this.#document) this.within(tag, run);
    else run();
  }

  /** Keeps out of the structure what runs: it belongs to the page, not to what the document says. */
  artifact(run: () => void): void {
    const outer = this.#isArtifact;
    this.#isArtifact = true;
    run();
    this.#isArtifact = outer;
  }

  /** The operators around content of a page. */
  around(page: PDFPage): { begin: PDFOperator; end: PDFOperator } {
    const { PDFName, PDFOperator, PDFOperatorNames: Names } = this.#lib;
    const end = PDFOperator.of(Names.EndMarkedContent);
    if (this.#isArtifact)
      return { begin: PDFOperator.of(Names.BeginMarkedContent, [PDFName.of("Artifact")]), end };
    const owners = this.#owners.get(page) ?? [];
    this.#owners.set(page, owners);
    const id = owners.push(this.#open) - 1;
    this.#open.kids.push({ page, id });
    const properties = [PDFName.of(this.#open.tag), `<</MCID ${id}>>`];
    return { begin: PDFOperator.of(Names.BeginMarkedContentSequence, properties), end };
  }

  /** Writes the structure into a document, once all its pages are set. */
  write({ context, catalog }: PDFDocument): void {
    const { PDFName } = this.#lib;
    const root = context.nextRef();
    const refs = new Map<Element, PDFRef>();
    const assign = (element: Element, parent: PDFRef): PDFRef => {
      const ref = context.nextRef();
      refs.set(element, ref);
      const { tag: S, kids, columns: ColSpan } = element;
      const page = kids.flatMap((kid) => ("page" in kid ? [kid.page] : []))[0];
      const K = kids.map((kid) => {
        if ("tag" in kid) return assign(kid, ref);
        return kid.page === page ? kid.id : { Type: "MCR", Pg: kid.page.ref, MCID: kid.id };
      });
      const attributes = {
        ...(page && { Pg: page.ref }),
        ...(S === "TH" && { A: { O: "Table", Scope: "Column" } }),
        ...(ColSpan > 1 && { A: { O: "Table", ColSpan } }),
      };
      context.assign(
        ref,
        context.obj({
          Type: "StructElem",
          S,
          P: parent,
          K: K.length === 1 ? K[0] : K,
          ...attributes,
        }),
      );
      return ref;
    };
    const K = [assign(this.#document, root)];
    const pages = [...this.#owners];
    const Nums = pages.flatMap(([, owners], key) => [
      key,
      owners.map((owner) => refs.get(owner) ?? null),
    ]);
    for (const [key, [page]] of pages.entries()) {
      page.node.set(PDFName.of("StructParents"), context.obj(key));
      page.node.set(PDFName.of("Tabs"), PDFName.of("S"));
    }
    const ParentTree = context.register(context.obj({ Nums }));
    const tree = { Type: "StructTreeRoot", K, ParentTree, ParentTreeNextKey: pages.length };
    context.assign(root, context.obj(tree));
    catalog.set(PDFName.of("StructTreeRoot"), root);
    catalog.set(PDFName.of("MarkInfo"), context.obj({ Marked: true }));
  }
}
