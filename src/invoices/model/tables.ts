import {
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";

/** What one buyer bought from one seller in one month: the subject of its invoices. Ledger. */
export const invoiceBase = sqliteTable(
  "invoice_base",
  {
    id: text("id").primaryKey(),
    network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
    /** Payment key hashes, hex. */
    buyerVkey: text("buyer_vkey").notNull(),
    sellerVkey: text("seller_vkey").notNull(),
    /** `YYYY-MM`, UTC. */
    month: text("month").notNull(),
    /** Guards every issuing batch: one that read an older value aborts. 1 at the first revision. */
    version: integer("version").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (table) => [
    uniqueIndex("invoice_base_subject").on(
      table.network,
      table.buyerVkey,
      table.month,
      table.sellerVkey,
    ),
    index("invoice_base_month").on(table.network, table.month, table.id),
  ],
);

/** The last number issued: gapless per seller and calendar year of the issue date. Ledger. */
export const invoiceSeries = sqliteTable(
  "invoice_series",
  {
    network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
    sellerVkey: text("seller_vkey").notNull(),
    year: integer("year").notNull(),
    last: integer("last").notNull(),
  },
  (table) => [primaryKey({ columns: [table.network, table.sellerVkey, table.year] })],
);

/** An issued document: an invoice, or the cancellation of one. Only `pdf` ever changes. Ledger. */
export const invoiceDocument = sqliteTable(
  "invoice_document",
  {
    id: text("id").primaryKey(),
    baseId: text("base_id").notNull(),
    kind: text("kind", { enum: ["Invoice", "Cancellation"] }).notNull(),
    /** 1, 2, 3 … per base; a cancellation has that of the invoice it cancels. */
    revision: integer("revision").notNull(),
    network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
    sellerVkey: text("seller_vkey").notNull(),
    year: integer("year").notNull(),
    sequence: integer("sequence").notNull(),
    number: text("number").notNull(),
    /** `InvoiceContent` as JSON: everything printed except the numbers. */
    content: text("content").notNull(),
    /** SHA-256 of all the invoice's inputs, hex: an equal request gets this document. */
    fingerprint: text("fingerprint").notNull(),
    createdById: text("created_by_id").notNull(),
    createdAt: integer("created_at").notNull(),
    /** Base64. Rendered from the other columns; null until then. */
    pdf: text("pdf"),
  },
  (table) => [
    uniqueIndex("invoice_document_revision").on(table.baseId, table.revision, table.kind),
    uniqueIndex("invoice_document_number").on(
      table.network,
      table.sellerVkey,
      table.year,
      table.sequence,
    ),
  ],
);

/**
 * The one base that bills a payment. The payment is identified as on the chain: a source created
 * again makes another record of it. Ledger.
 */
export const invoicedPayment = sqliteTable(
  "invoiced_payment",
  {
    /** As in `escrow`. */
    identifierHash: text("identifier_hash").notNull(),
    network: text("network", { enum: ["Preprod", "Mainnet"] }).notNull(),
    contractAddress: text("contract_address").notNull(),
    baseId: text("base_id").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.identifierHash, table.network, table.contractAddress] }),
    index("invoiced_payment_base").on(table.baseId),
  ],
);

/** End-of-month rates: invoice currency per unit that amounts are counted in. Core. */
export const invoiceRate = sqliteTable(
  "invoice_rate",
  {
    month: text("month").notNull(),
    currency: text("currency").notNull(),
    /** `""` is the native coin. */
    unit: text("unit").notNull(),
    /** Decimal text. */
    rate: text("rate").notNull(),
    /** Its source, as the invoice prints it. */
    source: text("source").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.month, table.currency, table.unit] })],
);
