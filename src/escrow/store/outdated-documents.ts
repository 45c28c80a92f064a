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

/**
 * SQL of two columns: the stored text, or of a row that another version of `render.ts` wrote all
 * that it is rendered from. Both come from one read, so that a record is shown at the place that the
 * page gives it.
 */
export const DOC_OR_OUTDATED_SQL = `iif(doc_version = ${DOC_VERSION}, doc, NULL) AS doc,
  iif(doc_version = ${DOC_VERSION}, NULL, ${jsonRowSql(ESCROW_COLUMNS)}) AS outdated`;

/** Renders a row that another version wrote; until the job has passed, each read does so. */
export function renderOutdated(row: string): string {
  return renderRecord(toEscrowRecord(parseJsonRow<EscrowRow>(ESCROW_COLUMNS, row)));
}
