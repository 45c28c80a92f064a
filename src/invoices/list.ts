import type { z } from "@hono/zod-openapi";
import type { Network } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import type { Caller } from "../http/context.ts";
import { isoTime } from "../http/envelope.ts";
import {
  BILLABLE_COLUMNS,
  type BillableRow,
  billableOfRow,
  UNINVOICED,
  uninvoicedParams,
} from "./billing.ts";
import { DOCUMENT_COLUMNS, type DocumentRow, documentOfRow, pdfOf } from "./documents.ts";
import { parseMonth } from "./month.ts";
import type { invoiceRecord, listQuery, missingQuery, uninvoicedPayment } from "./schemas.ts";

/**
 * Papers of a month, newest first: the invoice that stands of each base, or all papers of one base.
 * A key that is no Admin sees those it asked for itself.
 *
 * @param database - with `writes: "idempotent"`: a paper that was never rendered is, when asked for
 */
export async function listInvoices(
  database: Database,
  caller: Caller,
  query: z.output<typeof listQuery>,
): Promise<z.input<typeof invoiceRecord>[]> {
  const params: unknown[] = [query.network, query.month];
  const where = ["invoice_base.network = ?1", "invoice_base.month = ?2"];
  const filter = (condition: string, value: unknown) => {
    params.push(value);
    where.push(`${condition} ?${params.length}`);
  };
  if (query.invoiceBaseId !== undefined) filter("invoice_base.id =", query.invoiceBaseId);
  else where.push("kind = 'Invoice'", `NOT ${IS_CANCELLED}`);
  if (caller.permission !== "Admin") filter("created_by_id =", caller.id);
  if (query.cursorId !== undefined) filter("invoice_document.id <", query.cursorId);
  params.push(query.limit);
  const rows = await database.all<
    DocumentRow & { month: string; buyerVkey: string; sellerVkey: string; isCancelled: number }
  >(
    `SELECT ${DOCUMENT_COLUMNS}, month, buyer_vkey AS buyerVkey,
       invoice_base.seller_vkey AS sellerVkey, ${IS_CANCELLED} AS isCancelled
       ${query.includePdf ? ", pdf" : ""}
     FROM invoice_base JOIN invoice_document ON invoice_document.base_id = invoice_base.id
     WHERE ${where.join(" AND ")}
     ORDER BY invoice_document.id DESC LIMIT ?${params.length}`,
    ...params,
  );
  const records: z.input<typeof invoiceRecord>[] = [];
  for (const row of rows) {
    const document = documentOfRow(row);
    const { content } = document;
    records.push({
      id: document.id,
      invoiceBaseId: document.baseId,
      kind: document.kind,
      revisionNumber: document.revision,
      invoiceNumber: document.number,
      isCancelled: row.isCancelled === 1,
      createdAt: isoTime(document.createdAt),
      network: query.network,
      month: row.month,
      invoiceDate: content.issueDate,
      buyerWalletVkey: row.buyerVkey,
      sellerWalletVkey: row.sellerVkey,
      invoiceCurrency: content.currency,
      vatRate: content.tax.rate,
      reverseCharge: content.tax.category === "AE",
      netTotal: content.totals.net,
      vatTotal: content.totals.vat,
      grossTotal: content.totals.gross,
      Seller: content.seller,
      Buyer: content.buyer,
      Items: content.lines,
      Conversions: content.conversions,
      Cancels: content.cancels,
      ...(query.includePdf && { pdf: await pdfOf(database, document) }),
    });
  }
  return records;
}

/** A later revision stands in its place; a cancellation itself is never cancelled. */
const IS_CANCELLED = `(kind = 'Invoice' AND EXISTS (SELECT 1 FROM invoice_document AS later
  WHERE later.base_id = invoice_document.base_id AND later.kind = 'Cancellation'
    AND later.revision = invoice_document.revision))`;

/**
 * Payments that became billable in a month and are on no invoice, newest first.
 *
 * @param removed - when sources of the network were removed, epoch milliseconds by id
 * @param now - epoch milliseconds: what becomes billable later is left out
 */
export async function listUninvoiced(
  database: Database,
  query: z.output<typeof missingQuery>,
  removed: Readonly<Record<string, number>>,
  now: number,
): Promise<z.input<typeof uninvoicedPayment>[]> {
  const month = parseMonth(query.month);
  if (month === null) return [];
  const params = uninvoicedParams(query.network, month, removed, now);
  const filter = (condition: string, value: unknown) => {
    if (value === undefined) return "";
    params.push(value);
    return `AND ${condition} ?${params.length}`;
  };
  const rows = await database.all<
    BillableRow & {
      blockchainIdentifier: string;
      onChainState: string;
      createdAt: number;
      buyerVkey: string;
      network: Network;
    }
  >(
    `SELECT ${BILLABLE_COLUMNS}, NULL AS baseId, blockchain_identifier AS blockchainIdentifier,
       on_chain_state AS onChainState, escrow.created_at AS createdAt,
       terms->>'buyerVkey' AS buyerVkey
     FROM escrow ${query.buyerWalletVkey === undefined ? "" : "INDEXED BY escrow_billable"}
     WHERE ${UNINVOICED}
       ${filter("terms->>'buyerVkey' =", query.buyerWalletVkey?.toLowerCase())}
       ${filter("escrow.id <", query.cursorId)}
     ORDER BY escrow.id DESC LIMIT ?${params.push(query.limit)}`,
    ...params,
  );
  return rows.map((row) => ({
    id: row.id,
    blockchainIdentifier: row.blockchainIdentifier,
    onChainState: row.onChainState,
    createdAt: isoTime(row.createdAt),
    billableAt: isoTime(row.billableAt),
    buyerWalletVkey: row.buyerVkey,
    sellerWalletVkey: row.sellerVkey,
    Funds: billableOfRow(row).funds.map(({ unit, amount }) => ({ unit, amount })),
  }));
}
