import { jsonRow, parseJsonRow } from "../../db/json-row.ts";
import type { Documents } from "../../db/render-outdated.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "./escrow-row.ts";
import { DOC_VERSION, render } from "./render.ts";

/** The documents of payments and purchases, for the job that renders outdated ones again. */
export const ESCROW_DOCUMENTS: Documents = {
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
export const DOC_OR_OUTDATED = `iif(doc_version = ${DOC_VERSION}, doc, NULL) AS doc,
  iif(doc_version = ${DOC_VERSION}, NULL, ${jsonRow(ESCROW_COLUMNS)}) AS outdated`;

/** Renders a row that another version wrote; until the job has passed, each read does so. */
export function renderOutdated(row: string): string {
  return render(recordOfRow(parseJsonRow<EscrowRow>(ESCROW_COLUMNS, row)));
}
