import { jsonRowSql, parseJsonRow } from "../../db/json-row.ts";
import type { DocumentTable } from "../../db/render-outdated.ts";
import { ESCROW_COLUMNS, type EscrowRow, toEscrowRecord } from "./escrow-row.ts";
import { DOC_VERSION, renderRecord } from "./render-record.ts";

/** The documents of payments and purchases, for the job that renders outdated ones again. */
export const ESCROW_DOCUMENTS: DocumentTable = {
  table: "escrow",
  version: DOC_VERSION,
  columns: ESCROW_COLUMNS,
  render: renderOutdated,
};

const HAS_DOC_SQL = `doc_version = ${DOC_VERSION} AND doc IS NOT NULL`;

/**
 * SQL of two columns: the stored text, or all that it is rendered from. The latter of an ended escrow,
 * and of a row that another version of `render-record.ts` wrote. Both come from one read, so that a record
 * is shown at the place that the page gives it.
 */
export const DOC_OR_OUTDATED_SQL = `iif(${HAS_DOC_SQL}, doc, NULL) AS doc,
  iif(${HAS_DOC_SQL}, NULL, ${jsonRowSql(ESCROW_COLUMNS)}) AS outdated`;

/** A row of `DOC_OR_OUTDATED_SQL`. */
export interface StoredDocument {
  doc: string | null;
  outdated: string | null;
}

/** The text of a record, with placeholders. */
export function readDocument({ doc, outdated }: StoredDocument): string {
  return doc ?? renderOutdated(outdated ?? "[]");
}

function renderOutdated(row: string): string {
  return renderRecord(toEscrowRecord(parseJsonRow<EscrowRow>(ESCROW_COLUMNS, row)));
}
