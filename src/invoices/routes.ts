import * as z from "zod";
import { openDb } from "../db/client.ts";
import { commitWithAudit } from "../http/audit.ts";
import { requireNetwork } from "../http/authenticate.ts";
import type { AppContext } from "../http/context.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { toIsoTime } from "../http/envelope.ts";
import { runIdempotently } from "../http/idempotency.ts";
import { described } from "../http/openapi/fields.ts";
import { listRemovedSources } from "../sources/find-source.ts";
import { listScopedVkeys } from "../wallets/managed/find-wallet.ts";
import { issueMonthlyInvoice } from "./issue/issue-monthly.ts";
import { listInvoices, listUninvoicedPayments } from "./issue/list-invoices.ts";
import { toRatePerMinorUnit } from "./model/fractions.ts";
import {
  invoiceRecord,
  issuedInvoice,
  rateRecord,
  uninvoicedPayment,
} from "./model/response-schemas.ts";
import {
  internalInvoiceBody,
  invoiceListQuery,
  PARTY_FIELDS,
  rateBody,
  ratesQuery,
  signedInvoiceBody,
  uninvoicedQuery,
} from "./model/schemas.ts";
import { verifyBuyer } from "./model/verify-buyer.ts";
import { loadFonts } from "./pdf/fonts.ts";
import { requireGlyphs } from "./pdf/glyphs.ts";
import { listRates, upsertRate } from "./rates/rates.ts";
import { requirePlausibleRate } from "./rates/require-plausible-rates.ts";

const ERROR_DESCRIPTIONS = {
  402: "The API key has no usage credits left.",
  404: "No payments are billable for this month and wallet.",
  409: "The buyer bought from several sellers and the request names none, or the month is too large for one invoice.",
  502: "The price source failed.",
  504: "The price source did not answer in time.",
};

const ADMIN_RULES = { access: "Admin", scope: "admin", tag: "Invoices" } as const;

/** Operations of which clients of other services omit the network. */
export const INVOICE_ENDPOINTS = {
  issueInternal: {
    ...ADMIN_RULES,
    method: "post",
    operationId: "createInternalMonthlyInvoice",
    path: "/invoice/monthly/internal",
    summary: "Generates an invoice for the operator's own books, without the buyer's signature",
    body: internalInvoiceBody,
    idempotent: true,
    data: issuedInvoice,
    errors: ERROR_DESCRIPTIONS,
  },
  list: {
    method: "get",
    operationId: "listMonthlyInvoices",
    isConditional: true,
    path: "/invoice/monthly",
    access: "+PAY",
    scope: "owner",
    tag: "Invoices",
    summary: "Lists the invoices of a month, newest first",
    description: "A key that is no Admin sees the invoices that it requested.",
    query: invoiceListQuery,
    data: z.object({ Invoices: described(z.array(invoiceRecord), "The items of the page.") }),
  },
  listMissing: {
    method: "get",
    operationId: "listUninvoicedPayments",
    isConditional: true,
    path: "/invoice/monthly/missing",
    access: "+PAY",
    scope: "wallets",
    names: { buyerWalletVkey: "filter" },
    tag: "Invoices",
    summary: "Lists payments of a month that are on no invoice, newest first",
    query: uninvoicedQuery,
    data: z.object({
      UninvoicedPayments: described(z.array(uninvoicedPayment), "The items of the page."),
    }),
  },
} as const;

/** `/invoice` of the interface. */
export function createInvoiceRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "post",
      operationId: "createMonthlyInvoice",
      path: "/invoice/monthly",
      access: "+PAY",
      scope: "wallets",
      names: {
        walletAddress: "proved",
        buyerWalletVkey: "proved",
        sellerWalletVkey: "scopedWallet",
      },
      tag: "Invoices",
      summary: "Generates the invoice of a buyer wallet for a month",
      description:
        "The owner of the buyer wallet signs the request. A repeated request returns the same PDF. If the content changed, the service issues a new revision and the cancellation of the previous one. Only an Admin, or the API key that requested the invoice, can cause a new revision.",
      body: signedInvoiceBody,
      idempotent: true,
      data: issuedInvoice,
      status: "Success",
      errors: {
        ...ERROR_DESCRIPTIONS,
        403: "The API key lacks the permission or the network, or the invoice belongs to another API key.",
      },
    },
    async (c, { body }) => {
      const now = Date.now();
      const network = verifyBuyer(body, parseSentBuyer(c), now);
      requireNetwork(c.var.caller, network, "walletAddress");
      return issueMonthlyInvoice(c, network, body, now);
    },
  );

  serve(router, INVOICE_ENDPOINTS.issueInternal, async (c, { body }) =>
    issueMonthlyInvoice(c, body.network, body, Date.now()),
  );

  serve(router, INVOICE_ENDPOINTS.list, (c, { query }) => listMonthlyInvoices(c, query));

  serve(router, INVOICE_ENDPOINTS.listMissing, (c, { query }) => listMissingInvoices(c, query));

  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "get",
      operationId: "listInvoiceRates",
      isConditional: true,
      path: "/invoice/rates",
      summary: "Lists the stored end-of-month rates of a month",
      query: ratesQuery,
      data: z.object({ Rates: described(z.array(rateRecord), "The items of the page.") }),
    },
    async (c, { query }) => ({
      Rates: await listRates(openDb(c.env, undefined, { deadline: c.var.deadline }), query),
    }),
  );

  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "post",
      operationId: "storeInvoiceRate",
      path: "/invoice/rates",
      summary: "Stores the end-of-month rate of a unit and replaces an earlier rate",
      body: rateBody,
      idempotent: true,
      data: rateRecord,
    },
    async (c, { body }) => {
      const now = Date.now();
      const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
      return runIdempotently(c, database, now, async (remember) => {
        const { decimals, confirmRate, ...given } = body;
        await requireGlyphs([["source", body.source]], await loadFonts());
        const rate = { ...given, rate: toRatePerMinorUnit(body.rate, decimals) };
        if (!confirmRate) await requirePlausibleRate(database, rate);
        const record = { ...rate, updatedAt: toIsoTime(now) };
        const target = `${body.month} ${body.currency} ${body.unit}`;
        const entry = { action: "invoice-rate.store", target, detail: rate, now } as const;
        const statements = [...(await remember(record)), upsertRate(rate, now)];
        await commitWithAudit(c, database, entry, statements);
        return record;
      });
    },
  );

  return router;
}

/** `GET /invoice/monthly` */
export async function listMonthlyInvoices(c: AppContext, query: z.output<typeof invoiceListQuery>) {
  const { deadline } = c.var;
  const database = openDb(c.env, query.network, { writes: "idempotent", deadline });
  const core = openDb(c.env, undefined, { deadline });
  const sellerVkeys = await listScopedVkeys(core, c.var.caller, query.network);
  return { Invoices: await listInvoices(database, c.var.caller, sellerVkeys, query) };
}

/** `GET /invoice/monthly/missing` */
export async function listMissingInvoices(c: AppContext, query: z.output<typeof uninvoicedQuery>) {
  const { caller, deadline } = c.var;
  const database = openDb(c.env, query.network, { deadline });
  const removed = await listRemovedSources(openDb(c.env, undefined, { deadline }), query.network);
  const found = await listUninvoicedPayments(database, c.env, caller, query, removed, Date.now());
  return { UninvoicedPayments: found };
}

/** The buyer as sent, restricted to the members of a party: the signature covers that. */
function parseSentBuyer(c: AppContext): object {
  const { Buyer } = JSON.parse(c.var.bodyText) as { Buyer: Record<string, unknown> };
  return Object.fromEntries(
    Object.entries(Buyer).filter(([member]) => PARTY_FIELDS.includes(member)),
  );
}
