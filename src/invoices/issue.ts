import type { Network } from "../chain/network.ts";
import { type Database, db } from "../db/client.ts";
import type { AppContext, Caller } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { idempotently, type Remember } from "../http/idempotency.ts";
import { removedSources } from "../sources/active.ts";
import {
  type Billable,
  type BillableRow,
  billableOfRow,
  type Purchases,
  selectBillable,
} from "./billing.ts";
import { contentOf, itemsToBill, printedFields, requireVatNumbers } from "./compose.ts";
import { fingerprintOf } from "./content.ts";
import { findDocument, type IssuedDocument, pdfOf } from "./documents.ts";
import { bundledFonts } from "./fonts.ts";
import { requireGlyphs } from "./glyphs.ts";
import { parseMonth } from "./month.ts";
import { ratesFor } from "./rates.ts";
import {
  type Base,
  type BaseRow,
  baseOfRow,
  commitRevision,
  type Issued,
  selectBases,
} from "./revision.ts";
import type { BillingRequest } from "./schemas.ts";

/** What a request gives: PDFs in base64. */
export interface MonthlyInvoice {
  invoice: string;
  cancellationInvoice?: string;
}

/** Attempts at a month that others issue at the same time; each loser finds the winner's invoice. */
const ATTEMPTS = 8;

/**
 * The invoice of a buyer's month. The one that stands when nothing has changed since; else a new
 * revision, and the cancellation of the one before. Numbers, revision, the payments it covers, the
 * charge and the audit row are one batch: all of it is there, or nothing.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 403 (another key's invoice would change), 404 (nothing to bill), 409
 *   (several sellers, too much for one paper)
 */
export async function issueMonthly(
  c: AppContext,
  network: Network,
  request: BillingRequest,
  now: number,
): Promise<MonthlyInvoice> {
  requireVatNumbers(request);
  const month = parseMonth(request.month);
  if (month === null) throw new ApiError(400, "month: must be a month, YYYY-MM");
  const { deadline } = c.var;
  const database = db(c.env, network, { writes: "idempotent", deadline });
  const core = db(c.env, undefined, { writes: "idempotent", deadline });
  const purchases = {
    network,
    buyerVkey: request.buyerWalletVkey.toLowerCase(),
    sellerVkey: request.sellerWalletVkey?.toLowerCase() ?? null,
    month,
  };
  const issued = await idempotently<Issued>(c, database, now, async (remember) => {
    const removed = await removedSources(core, network);
    const work = { database, core, purchases, removed, request, remember, now };
    for (let attempt = 1; ; attempt++) {
      const result = await issueOnce(c, work);
      if (result !== "stale") return result;
      if (attempt === ATTEMPTS)
        throw new ApiError(503, "Too many requests for this invoice at once", { retryAfter: 1 });
    }
  });
  const pdf = async (id: string) => {
    const document = await findDocument(database, id);
    if (document === null) throw new Error(`invoice document ${id} is gone`);
    return pdfOf(database, document);
  };
  const invoice = await pdf(issued.invoiceId);
  if (issued.cancellationId === null) return { invoice };
  return { invoice, cancellationInvoice: await pdf(issued.cancellationId) };
}

interface Attempt {
  database: Database;
  core: Database;
  purchases: Purchases;
  /** When sources of the network were removed, epoch milliseconds by id. */
  removed: Readonly<Record<string, number>>;
  request: BillingRequest;
  remember: Remember;
  now: number;
}

async function issueOnce(c: AppContext, attempt: Attempt): Promise<Issued | "stale"> {
  const { database, core, purchases, request, remember, now } = attempt;
  const { network, month } = purchases;
  const { base, payments, sellerVkey } = await readPurchases(attempt);

  const items = itemsToBill(payments);
  const rates = await ratesFor(
    c.env,
    core,
    [...new Set(items.map(({ unit }) => unit))],
    request.CurrencyConversion,
    { currency: request.invoiceCurrency, month },
    now,
    c.var.deadline,
  );
  const content = contentOf(request, sellerVkey, items, rates, now);
  const { date = null, idPrefix: prefix = null } = request.Invoice;
  const identities = payments.map(({ identity }) => identity);
  const fingerprint = fingerprintOf(content, date, prefix, identities);
  if (base?.active.fingerprint === fingerprint && !request.forceRegenerate)
    return { invoiceId: base.active.id, cancellationId: null };
  if (base !== null && !mayChange(c.var.caller, base.active))
    throw new ApiError(403, "The invoice that would change was asked for with another API key");

  // Before anything is issued: a paper that cannot be printed gets no number.
  await requireGlyphs(printedFields(request, content), await bundledFonts());
  const revision = { network, base, content, prefix, payments, fingerprint };
  return commitRevision(c, database, revision, remember, now);
}

function mayChange({ id, permission }: Caller, { createdById }: IssuedDocument): boolean {
  return permission === "Admin" || id === createdById;
}

/**
 * What is to be billed and what was, as of one moment: an invoice that is issued after it makes the
 * base's version too old to commit with.
 *
 * @throws ApiError 404, 409
 */
async function readPurchases({ database, purchases, removed, now }: Attempt): Promise<{
  base: Base | null;
  payments: Billable[];
  sellerVkey: string;
}> {
  const [bases, billable] = await database.batch([
    selectBases(purchases),
    selectBillable(purchases, removed, now),
  ]);
  const payments = ((billable?.results ?? []) as BillableRow[]).map(billableOfRow);
  const sellerVkey = onlySeller(payments);
  const row = ((bases?.results ?? []) as BaseRow[]).find((one) => one.sellerVkey === sellerVkey);
  return { base: row ? baseOfRow(row) : null, payments, sellerVkey };
}

/** @throws ApiError 404, 409 */
function onlySeller(payments: readonly Billable[]): string {
  const [first, ...others] = new Set(payments.map(({ sellerVkey }) => sellerVkey));
  if (first === undefined)
    throw new ApiError(404, "No billable payments were found for this month and wallet");
  if (others.length > 0)
    throw new ApiError(
      409,
      `sellerWalletVkey: is required, the buyer bought from several sellers: ${[first, ...others].join(", ")}`,
    );
  return first;
}
