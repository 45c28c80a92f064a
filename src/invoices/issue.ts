import type { Network } from "../chain/network.ts";
import { type Database, db } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { idempotently, type Remember } from "../http/idempotency.ts";
import { type Billable, billablePayments } from "./billing.ts";
import { contentOf, itemsToBill, printedFields, requireVatNumbers } from "./compose.ts";
import { fingerprintOf } from "./content.ts";
import { findDocument, pdfOf } from "./documents.ts";
import { bundledFonts } from "./fonts.ts";
import { requireGlyphs } from "./glyphs.ts";
import { type Month, parseMonth } from "./month.ts";
import { ratesFor } from "./rates.ts";
import { commitRevision, type Issued, readBase } from "./revision.ts";
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
 * @throws ApiError 400, 402, 404 (nothing to bill), 409 (several sellers, too much for one paper)
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
  const database = db(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  const issued = await idempotently<Issued>(c, database, now, async (remember) => {
    for (let attempt = 1; ; attempt++) {
      const result = await issueOnce(c, { database, network, month, request, remember, now });
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
  network: Network;
  month: Month;
  request: BillingRequest;
  remember: Remember;
  now: number;
}

async function issueOnce(c: AppContext, attempt: Attempt): Promise<Issued | "stale"> {
  const { database, network, month, request, remember, now } = attempt;
  const buyerVkey = request.buyerWalletVkey.toLowerCase();
  const billable = await billablePayments(database, { network, buyerVkey, month }, now);
  const { sellerVkey, payments } = ofOneSeller(billable, request);
  const base = await readBase(database, { network, buyerVkey, sellerVkey, month });

  const items = itemsToBill(payments);
  const rates = await ratesFor(
    c.env,
    db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline }),
    [...new Set(items.map(({ unit }) => unit))],
    request.CurrencyConversion,
    { currency: request.invoiceCurrency, month },
    now,
  );
  const content = contentOf(request, sellerVkey, items, rates, now);
  const { date = null, idPrefix: prefix = null } = request.Invoice;
  const ids = payments.map(({ id }) => id);
  const fingerprint = fingerprintOf(content, date, prefix, ids);
  if (base?.active?.fingerprint === fingerprint && !request.forceRegenerate)
    return { invoiceId: base.active.id, cancellationId: null };

  // Before anything is issued: a paper that cannot be printed gets no number.
  await requireGlyphs(printedFields(request, content), await bundledFonts());
  const revision = { network, base, content, prefix, ids, fingerprint };
  return commitRevision(c, database, revision, remember, now);
}

/** @throws ApiError 404, 409 */
function ofOneSeller(
  billable: readonly Billable[],
  { sellerWalletVkey }: BillingRequest,
): { sellerVkey: string; payments: Billable[] } {
  const wanted = sellerWalletVkey?.toLowerCase();
  const payments = billable.filter(
    ({ sellerVkey }) => wanted === undefined || sellerVkey === wanted,
  );
  const [first, ...others] = new Set(payments.map(({ sellerVkey }) => sellerVkey));
  if (first === undefined)
    throw new ApiError(404, "No billable payments were found for this month and wallet");
  if (others.length > 0)
    throw new ApiError(
      409,
      `sellerWalletVkey: is required, the buyer bought from several sellers: ${[first, ...others].join(", ")}`,
    );
  return { sellerVkey: first, payments };
}
