/** The database of the service that an import reads: PostgreSQL, in one read-only transaction. */
import postgres from "postgres";

/** A row as it was read: a BIGINT is decimal text, and a time is epoch milliseconds. */
export type PeerRow = Record<string, unknown>;

/** The last migration of the version whose tables the import knows. */
export const KNOWN_MIGRATION = "20260720030000_source_owned_registry_pricing";

/** Tables that are read whole, the oldest row first. */
const TABLES = [
  "PaymentSource",
  "PaymentSourceConfig",
  "AdminWallet",
  "HotWallet",
  "WalletSecret",
  "ApiKey",
  "ApiKeyWalletScope",
  "UnitValue",
  "HotWalletLowBalanceRule",
  "RegistryRequest",
  "SupportedPaymentSource",
  "AgentPricing",
  "AgentFixedPricing",
  "ExampleOutput",
  "AgentVerification",
  "InboxAgentRegistrationRequest",
  "PaymentRequest",
  "PaymentActionData",
  "PurchaseRequest",
  "PurchaseActionData",
  "Transaction",
  "WalletBase",
  "X402Network",
  "X402WalletSecret",
  "X402EvmWallet",
  "X402WalletBudget",
  "X402EvmWalletLowBalanceRule",
  "WebhookEndpoint",
  "InvoiceBase",
] as const;

/** What an import leaves out as a whole: a count, and why. */
const OMITTED = [
  [
    "fund distributions under way",
    `SELECT count(*) FROM "FundDistributionRequest" WHERE status::text IN ('Pending', 'Submitted')`,
    "they are not sent from here: let them end there",
  ],
  [
    "fund wallets' settings",
    `SELECT count(*) FROM "FundDistributionConfig"`,
    "the drives of a Funding wallet replaces them",
  ],
  [
    "fund transfers under way",
    `SELECT count(*) FROM "WalletFundTransfer" WHERE status::text = 'Pending'`,
    "they are not sent from here: let them end there",
  ],
  [
    "swaps under way",
    `SELECT count(*) FROM "SwapTransaction" WHERE "swapStatus"::text NOT IN ('Completed', 'CancelConfirmed')`,
    "their funds lie at an exchange: end them there",
  ],
  [
    "wallets with a pending transaction",
    `SELECT count(*) FROM "HotWallet" WHERE "pendingTransactionId" IS NOT NULL`,
    "it may still land: wait for its end before you set drives",
  ],
  [
    "x402 settlements without an outcome",
    `SELECT count(*) FROM "X402PaymentAttempt" a WHERE direction::text = 'InboundSettle'
       AND status::text = 'Verified' AND NOT EXISTS (
         SELECT 1 FROM "X402Settlement" s WHERE s."paymentAttemptId" = a.id)`,
    "look for their authorizations on the chain",
  ],
  [
    "x402 payments",
    `SELECT count(*) FROM "X402PaymentAttempt"`,
    "this history stays in the old database",
  ],
  [
    "webhook deliveries under way",
    `SELECT count(*) FROM "WebhookDelivery" WHERE status::text IN ('Pending', 'Retrying')`,
    "they are not sent from here",
  ],
  [
    "invoices",
    `SELECT count(*) FROM "InvoiceRevision"`,
    "their numbers belong to the old series: --invoices=FOLDER writes the PDFs",
  ],
] as const;

export type PeerTable = (typeof TABLES)[number] | keyof typeof EXTRA_TABLES;

/** Tables that are read in part. */
const EXTRA_TABLES = {
  HotWalletLimit: `SELECT "A" AS "hotWalletId", "B" AS "purchaseRequestId" FROM "_HotWalletLimit"`,
  TransactionHistory: `SELECT "A" AS "recordId", "B" AS "transactionId" FROM "_PaymentTransactionHistory"
    UNION ALL SELECT "A", "B" FROM "_PurchaseTransactionHistory"`,
  InvoiceRevision: `SELECT "invoiceBaseId", "revisionNumber", "isCancelled" FROM "InvoiceRevision"
    ORDER BY "revisionNumber"`,
};

export interface PeerData {
  tables: Record<PeerTable, PeerRow[]>;
  omitted: { name: string; count: number; reason: string }[];
}

/** A document to keep beside the database. */
export interface InvoiceFile {
  name: string;
  pdf: Uint8Array;
}

/**
 * Reads what an import needs.
 *
 * @param onInvoice - receives each PDF; left out: none is read
 * @throws Error when the database is of another version, or cannot be read
 */
export async function readPeerDatabase(
  url: string,
  onInvoice?: (file: InvoiceFile) => void,
): Promise<PeerData> {
  const sql = postgres(url, {
    max: 1,
    onnotice: () => {},
    // A TIMESTAMP without a zone is UTC; the driver would take the zone of this machine.
    types: {
      date: {
        to: 1114,
        from: [1114],
        serialize: (at: string) => at,
        parse: (text: string) => Date.parse(`${text.replace(" ", "T")}Z`),
      },
    } as never,
  });
  try {
    return (await sql.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY", async (transaction) => {
      const all = async (query: string): Promise<PeerRow[]> => [
        ...(await transaction.unsafe<PeerRow[]>(query)),
      ];
      await requireKnownVersion(all);
      const tables: Record<string, PeerRow[]> = {};
      for (const table of TABLES)
        tables[table] = await all(`SELECT * FROM "${table}" ORDER BY "createdAt", id`);
      for (const [table, query] of Object.entries(EXTRA_TABLES)) tables[table] = await all(query);
      const omitted: PeerData["omitted"] = [];
      for (const [name, query, reason] of OMITTED) {
        const [row] = await all(query);
        const count = Number(row?.count);
        if (count > 0) omitted.push({ name, count, reason });
      }
      if (onInvoice) await readInvoices(all, onInvoice);
      return { tables, omitted } as PeerData;
    })) as PeerData;
  } finally {
    await sql.end();
  }
}

type Query = (query: string) => Promise<PeerRow[]>;

async function requireKnownVersion(all: Query): Promise<void> {
  const [newest] = await all(
    `SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL
     AND rolled_back_at IS NULL ORDER BY migration_name DESC LIMIT 1`,
  );
  if (newest?.name !== KNOWN_MIGRATION)
    throw new Error(
      `The newest migration there is ${newest?.name ?? "none"}, and the import knows ${KNOWN_MIGRATION}. Bring the old service to that version first.`,
    );
}

/** One by one: each may have megabytes. */
async function readInvoices(all: Query, onInvoice: (file: InvoiceFile) => void): Promise<void> {
  const rows = await all(
    `SELECT r.id, b."invoiceId", r."revisionNumber", r."cancellationId" FROM "InvoiceRevision" r
     JOIN "InvoiceBase" b ON b.id = r."invoiceBaseId" ORDER BY r."createdAt", r.id`,
  );
  for (const { id, invoiceId, revisionNumber, cancellationId } of rows) {
    const [row] = await all(
      `SELECT "generatedPDFInvoice" AS invoice, "generatedCancelledInvoice" AS cancelled
       FROM "InvoiceRevision" WHERE id = '${String(id).replaceAll("'", "''")}'`,
    );
    const name = (text: string) => `${text.replace(/[^\w.-]/g, "_")}.pdf`;
    if (row?.invoice)
      onInvoice({ name: name(`${invoiceId}-${revisionNumber}`), pdf: row.invoice as Uint8Array });
    if (row?.cancelled)
      onInvoice({
        name: name(String(cancellationId ?? `${invoiceId}-${revisionNumber}-cancelled`)),
        pdf: row.cancelled as Uint8Array,
      });
  }
}
