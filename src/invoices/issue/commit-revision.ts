import { chargeOperation, throwIfOutOfCredits } from "../../api-keys/credits.ts";
import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import type { StoreResponse } from "../../http/idempotency.ts";
import {
  findCancellationReasons,
  type InvoiceContent,
  toCancellation,
} from "../model/invoice-content.ts";
import { formatDay } from "../model/month.ts";
import {
  type BillablePaymentRecord,
  type BillingScope,
  updateInvoicedPayments,
} from "./billable-payments.ts";
import {
  computeSellerCode,
  DOCUMENT_COLUMNS,
  type DocumentRow,
  type IssuedDocument,
  toDocument,
} from "./issued-document.ts";

/** Ids of the documents that a request produced. */
export interface IssuedRevision {
  invoiceId: string;
  /** Null when nothing was cancelled for it. */
  cancellationId: string | null;
}

/** The billing state of a buyer's month with a seller. */
export interface InvoiceBase {
  id: string;
  version: number;
  sellerVkey: string;
  /** The current invoice. */
  currentInvoice: IssuedDocument;
  /** How many payments it covers. */
  covered: number;
}

/** A row of `selectInvoiceBases`. */
export type InvoiceBaseRow = DocumentRow & Omit<InvoiceBase, "id" | "currentInvoice">;

/** The bases of a buyer's month, those of all sellers or of one. Rows: `InvoiceBaseRow`. */
export function selectInvoiceBases({
  network,
  buyerVkey,
  sellerVkey,
  month,
}: BillingScope): Statement {
  return statement(
    `SELECT ${DOCUMENT_COLUMNS}, version, invoice_base.seller_vkey AS sellerVkey,
       (SELECT count(*) FROM invoiced_payment WHERE base_id = invoice_base.id) AS covered
     FROM invoice_base JOIN invoice_document ON invoice_document.base_id = invoice_base.id
     WHERE invoice_base.network = ?1 AND buyer_vkey = ?2 AND month = ?3
       AND (?4 IS NULL OR invoice_base.seller_vkey = ?4) AND kind = 'Invoice'
       AND revision = (SELECT max(revision) FROM invoice_document AS other
         WHERE other.base_id = invoice_base.id)`,
    network,
    buyerVkey,
    month.text,
    sellerVkey,
  );
}

/** Reads a row of `selectInvoiceBases`. */
export function toInvoiceBase({
  version,
  sellerVkey,
  covered,
  ...document
}: InvoiceBaseRow): InvoiceBase {
  return {
    id: document.baseId,
    version,
    sellerVkey,
    covered,
    currentInvoice: toDocument(document),
  };
}

/** A revision to be issued. */
export interface InvoiceRevision {
  network: Network;
  base: InvoiceBase | null;
  content: InvoiceContent;
  /** Of its number. */
  prefix: string | null;
  /** What it covers, read together with the base. */
  payments: readonly BillablePaymentRecord[];
  fingerprint: string;
}

/**
 * Issues a revision, and the cancellation of the previous one, in one batch.
 *
 * @param now - epoch milliseconds
 * @returns `stale` when another request issued this month or billed a payment meanwhile
 * @throws ApiError 402
 */
export async function commitRevision(
  c: AppContext,
  database: Database,
  revision: InvoiceRevision,
  remember: StoreResponse,
  now: number,
): Promise<IssuedRevision | "stale"> {
  const { network, base, content, prefix, payments, fingerprint } = revision;
  const { buyerVkey, sellerVkey, month } = content;
  const baseId = base?.id ?? newId(now);
  const issued: IssuedRevision = {
    invoiceId: newId(now),
    cancellationId: base === null ? null : newId(now),
  };
  const common = { baseId, network, prefix, createdById: c.var.caller.id, now };
  const documents: Statement[] = [];
  if (base !== null && issued.cancellationId !== null) {
    const { currentInvoice } = base;
    const coversOthers =
      payments.length !== base.covered || payments.some((payment) => payment.baseId !== base.id);
    const reasons = findCancellationReasons(currentInvoice.content, content, coversOthers);
    documents.push(
      ...insertDocument({
        ...common,
        id: issued.cancellationId,
        kind: "Cancellation",
        revision: currentInvoice.revision,
        content: toCancellation(
          currentInvoice.content,
          currentInvoice.number,
          formatDay(now),
          reasons,
        ),
        fingerprint: currentInvoice.fingerprint,
      }),
    );
  }
  documents.push(
    ...insertDocument({
      ...common,
      id: issued.invoiceId,
      kind: "Invoice",
      revision: (base?.currentInvoice.revision ?? 0) + 1,
      content,
      fingerprint,
    }),
  );
  const detail = { base: baseId, month, cancellation: issued.cancellationId };
  try {
    const entry = { action: "invoice.issue", target: issued.invoiceId, detail, now } as const;
    await commitWithAudit(c, database, entry, [
      ...(await remember(issued)),
      statement(
        `INSERT INTO invoice_base (id, network, buyer_vkey, seller_vkey, month, version, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, 1, ?7)
         ON CONFLICT (network, buyer_vkey, seller_vkey, month)
         DO UPDATE SET version = iif(version = ?6, version + 1, NULL)`,
        baseId,
        network,
        buyerVkey,
        sellerVkey,
        month,
        base?.version ?? 0,
        now,
      ),
      ...documents,
      ...updateInvoicedPayments(
        baseId,
        network,
        payments.map(({ identity }) => identity),
      ),
      ...chargeOperation(c.var.caller, "invoice-monthly"),
    ]);
  } catch (error) {
    const isStale =
      violates(error, "invoice_base.version") || violates(error, "invoiced_payment.base_id");
    if (isStale) return "stale";
    throwIfOutOfCredits(error);
  }
  return issued;
}

interface NewDocument extends Omit<IssuedDocument, "number" | "createdAt" | "pdf"> {
  network: Network;
  /** Of the number. */
  prefix: string | null;
  now: number;
}

/**
 * Takes the next number of the seller's year and writes the document with it. Only this batch
 * advances the series, so no number is lost or issued twice.
 */
function insertDocument(document: NewDocument): Statement[] {
  const { network, content, prefix } = document;
  const { sellerVkey } = content;
  const year = Number(content.issueDate.slice(0, 4));
  const start = `${prefix === null ? "" : `${prefix}-`}${year}-${computeSellerCode(network, sellerVkey)}-`;
  return [
    statement(
      `INSERT INTO invoice_series (network, seller_vkey, year, last) VALUES (?, ?, ?, 1)
       ON CONFLICT (network, seller_vkey, year) DO UPDATE SET last = last + 1`,
      network,
      sellerVkey,
      year,
    ),
    statement(
      `INSERT INTO invoice_document (id, base_id, kind, revision, network, seller_vkey, year,
         sequence, number, content, fingerprint, created_by_id, created_at)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, last, ?8 || printf('%04d', last), ?9, ?10, ?11, ?12
       FROM invoice_series WHERE network = ?5 AND seller_vkey = ?6 AND year = ?7`,
      document.id,
      document.baseId,
      document.kind,
      document.revision,
      network,
      sellerVkey,
      year,
      start,
      JSON.stringify(content),
      document.fingerprint,
      document.createdById,
      document.now,
    ),
  ];
}
