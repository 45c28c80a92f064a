import { createHash } from "node:crypto";
import type { Network } from "../../chain/network.ts";
import { type Database, statement } from "../../db/client.ts";
import type { InvoiceContent } from "../model/invoice-content.ts";
import type { invoiceDocument } from "../model/tables.ts";
import { loadFonts } from "../pdf/fonts.ts";

/** A row of `invoice_document`, its content parsed. */
export type IssuedDocument = Omit<
  typeof invoiceDocument.$inferSelect,
  "content" | "network" | "sellerVkey" | "year" | "sequence"
> & { content: InvoiceContent };

/** The columns of `DocumentRow`, for SELECT; `pdf` is asked for where it is needed. */
export const DOCUMENT_COLUMNS = `invoice_document.id, invoice_document.base_id AS baseId, kind,
  revision, number, content, fingerprint, created_by_id AS createdById,
  invoice_document.created_at AS createdAt`;

/** A row of `DOCUMENT_COLUMNS`. */
export type DocumentRow = Omit<IssuedDocument, "content" | "pdf"> & {
  content: string;
  pdf?: string | null;
};

export function toDocument(row: DocumentRow): IssuedDocument {
  return { ...row, content: JSON.parse(row.content) as InvoiceContent, pdf: row.pdf ?? null };
}

/** An issued document by its id; null when there is none. */
export async function findDocument(database: Database, id: string): Promise<IssuedDocument | null> {
  const [row] = await database.all<DocumentRow>(
    `SELECT ${DOCUMENT_COLUMNS}, pdf FROM invoice_document WHERE id = ?`,
    id,
  );
  return row ? toDocument(row) : null;
}

/**
 * The PDF of an issued document in base64. It is rendered when first requested and stored: the same
 * bytes from then on. The issued document is complete without it, so a crash before this loses
 * nothing.
 *
 * @param database - with `writes: "idempotent"`
 */
export async function loadOrRenderPdf(
  database: Database,
  document: IssuedDocument,
): Promise<string> {
  if (document.pdf !== null) return document.pdf;
  const { renderPdf } = await import("../pdf/render-pdf.ts");
  const bytes = await renderPdf(document.number, document.content, await loadFonts());
  const pdf = Buffer.from(bytes).toString("base64");
  // Another request, or another version of the code, may have come first: its bytes stay.
  const [, kept] = await database.batch([
    statement("UPDATE invoice_document SET pdf = ? WHERE id = ? AND pdf IS NULL", pdf, document.id),
    statement("SELECT pdf FROM invoice_document WHERE id = ?", document.id),
  ]);
  return (kept?.results[0] as { pdf: string } | undefined)?.pdf ?? pdf;
}

/** Identifies a seller's wallet in its numbers: two wallets of a company must not share them. */
export function computeSellerCode(network: Network, sellerVkey: string): string {
  const mark = createHash("sha256").update(`${network}:${sellerVkey}`).digest("hex");
  return mark.slice(0, 6).toUpperCase();
}
