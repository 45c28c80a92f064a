import type * as z from "zod";
import type { Database } from "../../db/client.ts";
import { Conditions } from "../../db/conditions.ts";
import { unpackHexSql } from "../../db/hex-column.ts";
import { buildScopeCondition } from "../../escrow/queries/scope-condition.ts";
import { BILLABLE_AT_SQL, BUYER_VKEY_SQL, ENDED_CONDITION } from "../../escrow/store/predicates.ts";
import type { Caller } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import type { InvoiceContent } from "../model/invoice-content.ts";
import { parseMonth } from "../model/month.ts";
import type { invoiceRecord, uninvoicedPayment } from "../model/response-schemas.ts";
import type { invoiceListQuery, uninvoicedQuery } from "../model/schemas.ts";
import { findXmlOmissionReason } from "../pdf/invoice-xml.ts";
import { readPayments } from "./archived-payments.ts";
import {
  BILLABLE_COLUMNS,
  type BillableRow,
  toBillablePayment,
  toUninvoicedParams,
  UNINVOICED_CONDITION,
} from "./billable-payments.ts";
import {
  DOCUMENT_COLUMNS,
  type DocumentRow,
  loadOrRenderPdf,
  toDocument,
} from "./issued-document.ts";

/**
 * Documents of a month, newest first: the current invoice of each base, or all documents of one
 * base. A key that is not an Admin's sees those it requested, of the sellers that it may bill for.
 *
 * @param sellerVkeys - the only sellers, by payment key hash; null: any
 * @param database - with `writes: "idempotent"`: a document not yet rendered is rendered when
 *   requested
 */
export async function listInvoices(
  database: Database,
  caller: Caller,
  sellerVkeys: readonly string[] | null,
  query: z.output<typeof invoiceListQuery>,
): Promise<z.input<typeof invoiceRecord>[]> {
  const where = new Conditions();
  where.add("invoice_base.network = ?", query.network);
  where.add("invoice_base.month = ?", query.month);
  where.add("invoice_base.id = ?", query.invoiceBaseId);
  if (query.invoiceBaseId === undefined)
    where.add(`kind = 'Invoice' AND NOT ${CANCELLED_CONDITION}`);
  if (caller.permission !== "Admin") where.add("created_by_id = ?", caller.id);
  where.add(
    "invoice_base.seller_vkey IN (SELECT value FROM json_each(?))",
    sellerVkeys ? JSON.stringify(sellerVkeys) : undefined,
  );
  where.add("invoice_document.id < ?", query.cursorId);
  const rows = await database.all<
    DocumentRow & { month: string; buyerVkey: string; sellerVkey: string; isCancelled: number }
  >(
    `SELECT ${DOCUMENT_COLUMNS}, month, buyer_vkey AS buyerVkey,
       invoice_base.seller_vkey AS sellerVkey, ${CANCELLED_CONDITION} AS isCancelled
       ${query.includePdf ? ", pdf" : ""}
     FROM invoice_base JOIN invoice_document ON invoice_document.base_id = invoice_base.id
     WHERE ${where.toSql()}
     ORDER BY invoice_document.id DESC LIMIT ${query.limit}`,
    ...where.params,
  );
  const records: z.input<typeof invoiceRecord>[] = [];
  for (const row of rows) {
    const document = toDocument(row);
    const { content } = document;
    records.push({
      id: document.id,
      invoiceBaseId: document.baseId,
      kind: document.kind,
      revisionNumber: document.revision,
      invoiceNumber: document.number,
      isCancelled: row.isCancelled === 1,
      createdAt: toIsoTime(document.createdAt),
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
      roundingAmount: content.totals.rounding,
      paidTotal: content.totals.paid,
      language: content.language,
      localizationFormat: content.format,
      title: content.texts.title,
      description: content.texts.description,
      Seller: content.seller,
      Buyer: content.buyer,
      Items: content.lines.map(({ subject: bought, ...line }) => ({ ...line, ...bought })),
      Conversions: content.conversions,
      CoveredPayments: toCoveredPayments(content),
      xmlOmitted: findXmlOmissionReason(content),
      Cancels: content.cancels,
      ...(query.includePdf && { pdf: await loadOrRenderPdf(database, document) }),
    });
  }
  return records;
}

/** What a document covers, each payment with its amounts; null when it does not list them. */
function toCoveredPayments({
  payments,
  lines,
}: InvoiceContent): z.input<typeof invoiceRecord>["CoveredPayments"] {
  if (payments === undefined) return null;
  return payments.map(({ day, txHash, line }) => {
    const parts = lines.slice(line - 1, line - 1 + (lines[line - 1]?.subject.parts ?? 1));
    return {
      line,
      date: day,
      txHash,
      agentIdentifier: parts[0]?.subject.agentIdentifier ?? "",
      Funds: parts.map(({ subject: { unit, amount } }) => ({ unit, amount })),
    };
  });
}

/** A later revision replaces it; a cancellation itself is never cancelled. */
const CANCELLED_CONDITION = `(kind = 'Invoice' AND EXISTS (SELECT 1 FROM invoice_document AS later
  WHERE later.base_id = invoice_document.base_id AND later.kind = 'Cancellation'
    AND later.revision = invoice_document.revision))`;

interface UninvoicedRow extends BillableRow {
  blockchainIdentifier: string;
  onChainState: string;
  createdAt: number;
  buyerVkey: string;
}

/**
 * Uninvoiced payments that became billable in a month, newest first, within the API key's wallets.
 *
 * @param removed - removal times of the network's sources, epoch milliseconds by id
 * @param now - epoch milliseconds; later payments are omitted
 */
export async function listUninvoicedPayments(
  database: Database,
  env: Parameters<typeof readPayments>[1],
  { scope }: Pick<Caller, "scope">,
  query: z.output<typeof uninvoicedQuery>,
  removed: Readonly<Record<string, number>>,
  now: number,
): Promise<z.input<typeof uninvoicedPayment>[]> {
  const month = parseMonth(query.month);
  const params = toUninvoicedParams(query.network, month, removed, now);
  const filter = (condition: string, value: unknown) => {
    if (value === undefined) return "";
    params.push(value);
    return `AND ${condition} ?${params.length}`;
  };
  const permitted = buildScopeCondition(scope, (ids) => `?${params.push(ids)}`);
  const columns = `${BILLABLE_COLUMNS}, NULL AS baseId,
    ${unpackHexSql("blockchain_identifier")} AS blockchainIdentifier, on_chain_state AS onChainState,
    escrow.created_at AS createdAt, ${BUYER_VKEY_SQL} AS buyerVkey`;
  const buyer = query.buyerWalletVkey?.toLowerCase();
  const filters = `${permitted === null ? "" : `AND ${permitted}`}
    ${filter(`${BUYER_VKEY_SQL} =`, buyer)} ${filter("escrow.id <", query.cursorId)}`;
  const { hot, archived } = await readPayments<UninvoicedRow>(
    database,
    env,
    query.network,
    {
      sql: `SELECT ${columns} FROM escrow ${buyer === undefined ? "" : "INDEXED BY escrow_billed"}
        WHERE ${UNINVOICED_CONDITION} ${filters} ORDER BY escrow.id DESC LIMIT ${query.limit}`,
      params,
    },
    {
      columns,
      // The end of an escrow of an archive is when it became billable.
      ids: `SELECT id FROM escrow INDEXED BY escrow_ended
        WHERE side = 'payment' AND network = ?1 AND ${ENDED_CONDITION} AND block_time >= ?2 / 1000
          AND block_time < ?3 / 1000 + 1 AND ${BILLABLE_AT_SQL} >= ?2 AND ${BILLABLE_AT_SQL} < ?3
          AND ?4 IS NOT NULL ${filters}`,
      params,
    },
  );
  const rows = [...hot, ...archived.filter(({ baseId }) => baseId === null)]
    .sort((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, query.limit);
  return rows.map((row) => ({
    id: row.id,
    blockchainIdentifier: row.blockchainIdentifier,
    onChainState: row.onChainState,
    createdAt: toIsoTime(row.createdAt),
    billableAt: toIsoTime(row.billableAt),
    buyerWalletVkey: row.buyerVkey,
    sellerWalletVkey: row.sellerVkey,
    Funds: toBillablePayment(row, month).funds.map(({ unit, amount }) => ({ unit, amount })),
  }));
}
