import type * as z from "zod";
import { requireCredits } from "../../api-keys/credits.ts";
import type { Network } from "../../chain/network.ts";
import { type Database, openDb } from "../../db/client.ts";
import type { AppContext, Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently, type StoreResponse } from "../../http/idempotency.ts";
import { loadRegisteredNames } from "../../registry/entries/read-entries.ts";
import { listRemovedSources } from "../../sources/find-source.ts";
import { listScopedVkeys } from "../../wallets/managed/find-wallet.ts";
import { computeFingerprint } from "../model/invoice-content.ts";
import { parseMonth } from "../model/month.ts";
import { findUnprintableCharacter, nullIfBlank } from "../model/printable-text.ts";
import type { issuedInvoice } from "../model/response-schemas.ts";
import type { BillingRequest } from "../model/schemas.ts";
import { shortenName } from "../model/token-names.ts";
import { loadFonts } from "../pdf/fonts.ts";
import { findMissingGlyph, requireGlyphs } from "../pdf/glyphs.ts";
import { buildInvoiceXml, findXmlOmissionReason } from "../pdf/invoice-xml.ts";
import { findRates } from "../rates/rates.ts";
import { requirePlausibleRates } from "../rates/require-plausible-rates.ts";
import {
  type BillablePaymentRecord,
  type BillingScope,
  toBillablePayment,
} from "./billable-payments.ts";
import {
  commitRevision,
  type InvoiceBaseRow,
  type IssuedRevision,
  selectInvoiceBases,
  toInvoiceBase,
} from "./commit-revision.ts";
import {
  composeInvoice,
  listPrintedFields,
  requireVatNumbers,
  toInvoiceItems,
} from "./compose-invoice.ts";
import { findDocument, type IssuedDocument, loadOrRenderPdf } from "./issued-document.ts";
import { readBillablePayments } from "./read-billable-payments.ts";

/** Attempts at a month that is issued concurrently; each loser finds the winner's invoice. */
const MAX_ISSUE_ATTEMPTS = 8;

/**
 * The invoice of a buyer's month: the current one when nothing has changed since. Otherwise a new
 * revision is issued, and the previous one cancelled. One batch writes numbers, revision, covered
 * payments, charge and audit row.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 403 (another key's invoice would change), 404 (nothing to bill), 409
 *   (several sellers, too much for one document)
 */
export async function issueMonthlyInvoice(
  c: AppContext,
  network: Network,
  request: BillingRequest,
  now: number,
): Promise<z.input<typeof issuedInvoice>> {
  requireVatNumbers(request);
  const month = parseMonth(request.month);
  const { deadline } = c.var;
  const database = openDb(c.env, network, { writes: "idempotent", deadline });
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline });
  const billingScope = {
    network,
    buyerVkey: request.buyerWalletVkey.toLowerCase(),
    sellerVkey: request.sellerWalletVkey?.toLowerCase() ?? null,
    sellerVkeys: await listScopedVkeys(core, c.var.caller, network),
    month,
  };
  const issued = await runIdempotently<IssuedRevision>(c, database, now, async (storeResponse) => {
    const work = {
      database,
      core,
      billingScope,
      sourceRemovalTimes: await listRemovedSources(core, network),
      request,
      storeResponse,
      now,
    };
    for (let attempt = 1; ; attempt++) {
      const result = await tryIssueInvoice(c, work);
      if (result !== "stale") return result;
      if (attempt === MAX_ISSUE_ATTEMPTS)
        throw new ApiError(
          503,
          "Too many requests change this invoice at the same time. Try again.",
          { retryAfter: 1 },
        );
    }
  });
  const loadDocumentWithPdf = async (id: string) => {
    const document = await findDocument(database, id);
    if (document === null) throw new Error(`invoice document ${id} is gone`);
    return { document, pdf: await loadOrRenderPdf(database, document) };
  };
  const invoice = await loadDocumentWithPdf(issued.invoiceId);
  const { content } = invoice.document;
  const answer = {
    invoice: invoice.pdf,
    xml: buildInvoiceXml(invoice.document.number, content),
    xmlOmitted: findXmlOmissionReason(content),
    Conversions: content.conversions,
  };
  if (issued.cancellationId === null) return answer;
  const { pdf, document } = await loadDocumentWithPdf(issued.cancellationId);
  const cancellationXml = buildInvoiceXml(document.number, document.content);
  return { ...answer, cancellationInvoice: pdf, cancellationXml };
}

/** Registered names of agents that can be printed: anybody may register any text. */
async function readPrintableNames(
  database: Database,
  network: Network,
  agents: readonly string[],
): Promise<Map<string, string>> {
  const fonts = await loadFonts();
  const names = new Map<string, string>();
  for (const [agent, name] of await loadRegisteredNames(database, network, agents)) {
    const isPrinted =
      findUnprintableCharacter(name) === null && (await findMissingGlyph(name, fonts)) === null;
    if (isPrinted) names.set(agent, shortenName(name));
  }
  return names;
}

interface IssueContext {
  database: Database;
  core: Database;
  billingScope: BillingScope;
  /** When sources of the network were removed, epoch milliseconds by id. */
  sourceRemovalTimes: Readonly<Record<string, number>>;
  request: BillingRequest;
  storeResponse: StoreResponse;
  now: number;
}

async function tryIssueInvoice(
  c: AppContext,
  attempt: IssueContext,
): Promise<IssuedRevision | "stale"> {
  const { database, core, billingScope, request, storeResponse, now } = attempt;
  const { network, month } = billingScope;
  const { base, payments, sellerVkey } = await loadBillingState(c.env, attempt);
  // The current invoice is free, and only the rates decide whether it is still current.
  if (base === null) await requireCredits(core, c.var.caller, "invoice-monthly");

  const items = toInvoiceItems(payments);
  const units = [...new Set(items.map(({ unit }) => unit))];
  const lookup = { env: c.env, core, now, deadline: c.var.deadline };
  const at = { currency: request.invoiceCurrency, month };
  const rates = await findRates(lookup, units, request, at);
  const agents = new Set(items.map(({ agentIdentifier }) => agentIdentifier));
  const names = await readPrintableNames(database, network, [...agents]);
  const content = composeInvoice(request, sellerVkey, items, rates, names, now);
  const { date = null, idPrefix, itemNamePrefix, itemNameSuffix } = request.Invoice;
  const prefix = nullIfBlank(idPrefix);
  const naming = { issueDate: date, prefix, ofItems: [itemNamePrefix, itemNameSuffix] as const };
  const identities = payments.map(({ identity }) => identity);
  const fingerprint = computeFingerprint(content, naming, identities);
  if (base?.currentInvoice.fingerprint === fingerprint && !request.forceRegenerate)
    return { invoiceId: base.currentInvoice.id, cancellationId: null };
  if (base !== null && !canChangeInvoice(c.var.caller, base.currentInvoice))
    throw new ApiError(
      "not_owner",
      "Another API key requested the current invoice. Use that key or an Admin key to change it.",
    );

  // Before anything is issued: what is refused, or cannot be rendered, gets no number.
  if (!request.confirmRate)
    await requirePlausibleRates(lookup, content, month, base?.currentInvoice.content ?? null);
  await requireGlyphs(listPrintedFields(request, content), await loadFonts());
  const revision = { network, base, content, prefix, payments, fingerprint };
  return commitRevision(c, database, revision, storeResponse, now);
}

function canChangeInvoice({ id, permission }: Caller, { createdById }: IssuedDocument): boolean {
  return permission === "Admin" || id === createdById;
}

/**
 * What is to be billed and what was. The base is read first: an invoice issued later makes its version too old
 * to commit.
 *
 * @throws ApiError 404, 409
 */
async function loadBillingState(
  env: AppContext["env"],
  { database, billingScope, sourceRemovalTimes, now }: IssueContext,
) {
  const { sql, params } = selectInvoiceBases(billingScope);
  const bases = await database.all<InvoiceBaseRow>(sql, ...params);
  const rows = await readBillablePayments(database, env, billingScope, sourceRemovalTimes, now);
  const payments = rows.map((row) => toBillablePayment(row, billingScope.month));
  const sellerVkey = requireSingleSeller(payments);
  const row = bases.find((one) => one.sellerVkey === sellerVkey);
  return { base: row ? toInvoiceBase(row) : null, payments, sellerVkey };
}

/** @throws ApiError 404, 409 */
function requireSingleSeller(payments: readonly BillablePaymentRecord[]): string {
  const [first, ...others] = new Set(payments.map(({ sellerVkey }) => sellerVkey));
  if (first === undefined)
    throw new ApiError(404, "No payments are billable for this month and wallet. Check both.");
  if (others.length > 0)
    throw new ApiError(
      409,
      `sellerWalletVkey: is required, the buyer bought from several sellers: ${[first, ...others].join(", ")}`,
    );
  return first;
}
