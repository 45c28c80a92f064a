import { jsonRowSql, parseJsonRow } from "../../db/json-row.ts";
import type { DocumentTable } from "../../db/render-outdated.ts";
import {
  ARCHIVED_ESCROW_COLUMNS,
  ESCROW_COLUMNS,
  type EscrowRow,
  toEscrowRecord,
} from "./escrow-row.ts";
import { DOC_VERSION, renderRecord } from "./render-record.ts";

/** The documents of payments and purchases, for the job that renders outdated ones again. */
export const ESCROW_DOCUMENTS: DocumentTable = {
  table: "escrow_open",
  version: DOC_VERSION,
  row: `(SELECT ${jsonRowSql(ESCROW_COLUMNS)} FROM escrow WHERE id = escrow_open.id)`,
  render: renderRow,
};

/**
 * SQL of the text of the record `page.id`: the stored document, a JSON object, or else the array of all
 * that it is rendered from. The latter of an ended escrow, and of one that another version of
 * `render-record.ts` wrote. Both come from the page's read, so that a record is shown at its place.
 */
export const DOC_OR_ROW_SQL = `coalesce(
  (SELECT doc FROM escrow_open WHERE id = page.id AND doc_version = ${DOC_VERSION}),
  (SELECT ${jsonRowSql(ESCROW_COLUMNS)} FROM escrow WHERE id = page.id)) AS document`;

/** SQL of all that a row of `escrow` is rendered from, in an archive. */
export const ARCHIVED_ROW_SQL = `${jsonRowSql(ARCHIVED_ESCROW_COLUMNS)} AS document`;

/** A row of `DOC_OR_ROW_SQL`. */
export interface StoredDocument {
  document: string;
}

/** The text of a record, with placeholders. */
export function readDocument({ document }: StoredDocument): string {
  return document.startsWith("[") ? renderRow(document) : document;
}

function renderRow(row: string): string {
  return renderRecord(toEscrowRecord(parseJsonRow<EscrowRow>(ESCROW_COLUMNS, row)));
}
