/**
 * The logical structure of a tagged PDF (ISO 32000-1, 14.7 and 14.8): headings, paragraphs and cells,
 * in reading order. `pdf-lib` has the objects for it, but builds no structure.
 */
import type { PDFDocument, PDFOperator, PDFPage, PDFRef } from "pdf-lib";

/** Standard structure types (14.8.4). */
export type StructureTag = "H1" | "H2" | "P" | "Table" | "TR" | "TH" | "TD";

interface StructureElement {
  tag: StructureTag | "Document";
  kids: (StructureElement | MarkedContent)[];
  /** Of a cell: the columns it spans. */
  columnSpan: number;
}

/** A part of a page's content, numbered from 0 on each page. */
interface MarkedContent {
  page: PDFPage;
  id: number;
}

type PdfLib = Pick<typeof import("pdf-lib"), "PDFName" | "PDFOperator" | "PDFOperatorNames">;

/** Builds the structure while the pages are set. */
export class StructureTree {
  readonly #lib: PdfLib;
  readonly #root: StructureElement = { tag: "Document", kids: [], columnSpan: 1 };
  #openElement = this.#root;
  #isArtifact = false;
  /** The element of each marked content, by page. */
  readonly #elementsByPage = new Map<PDFPage, StructureElement[]>();

  constructor(lib: PdfLib) {
    this.#lib = lib;
  }

  /** Puts what runs into a new element of the one that is open. */
  runInElement(tag: StructureTag, run: () => void, columns = 1): void {
    if (this.#isArtifact) {
      run();
      return;
    }
    const outer = this.#openElement;
    const element: StructureElement = { tag, kids: [], columnSpan: columns };
    outer.kids.push(element);
    this.#openElement = element;
    run();
    this.#openElement = outer;
  }

  /** Like `runInElement`, unless an element is open already: text is always in one. */
  runInAnyElement(tag: StructureTag, run: () => void): void {
    if (this.#openElement === this.#root) this.runInElement(tag, run);
    else run();
  }

  /** Keeps out of the structure what runs: it belongs to the page, not to what the document says. */
  runAsArtifact(run: () => void): void {
    const outer = this.#isArtifact;
    this.#isArtifact = true;
    run();
    this.#isArtifact = outer;
  }

  /** The operators around content of a page. */
  createMarkOperators(page: PDFPage): { begin: PDFOperator; end: PDFOperator } {
    const { PDFName, PDFOperator, PDFOperatorNames: Names } = this.#lib;
    const end = PDFOperator.of(Names.EndMarkedContent);
    if (this.#isArtifact)
      return { begin: PDFOperator.of(Names.BeginMarkedContent, [PDFName.of("Artifact")]), end };
    const owners = this.#elementsByPage.get(page) ?? [];
    this.#elementsByPage.set(page, owners);
    const id = owners.push(this.#openElement) - 1;
    this.#openElement.kids.push({ page, id });
    const properties = [PDFName.of(this.#openElement.tag), `<</MCID ${id}>>`];
    return { begin: PDFOperator.of(Names.BeginMarkedContentSequence, properties), end };
  }

  /** Writes the structure into a document, once all its pages are set. */
  writeTo({ context, catalog }: PDFDocument): void {
    const { PDFName } = this.#lib;
    const root = context.nextRef();
    const refs = new Map<StructureElement, PDFRef>();
    const assignRefs = (element: StructureElement, parent: PDFRef): PDFRef => {
      const ref = context.nextRef();
      refs.set(element, ref);
      const { tag: S, kids, columnSpan: ColSpan } = element;
      const page = kids.flatMap((kid) => ("page" in kid ? [kid.page] : []))[0];
      const K = kids.map((kid) => {
        if ("tag" in kid) return assignRefs(kid, ref);
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
    const K = [assignRefs(this.#root, root)];
    const pages = [...this.#elementsByPage];
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
