import type * as z from "zod";
import type { AppContext } from "../../../http/context.ts";
import { createRouter, serve } from "../../../http/endpoint.ts";
import { toEnvelope, toExactNumber, toIsoTime } from "../../../http/envelope.ts";
import { createJsonResponse, openReadSession } from "../../../http/session.ts";
import { createCalendar } from "../../../local-date.ts";
import type { Side } from "../../model/escrow-record.ts";
import { MAX_TIMESTAMP_MS } from "../../model/windows.ts";
import {
  type AccountBucket,
  type AccountTotal,
  type BookAccount,
  buildAccount,
} from "./build-account.ts";
import { booksBody, createBooksResponseSchema } from "./schemas.ts";
import { ACCOUNT_KINDS, readSums } from "./sums.ts";

const BOOK_ENDPOINTS = {
  payment: {
    path: "/payment/income",
    operationId: "sumPaymentIncome",
    tag: "Payments",
    names: { gained: "Income", refunded: "Refunded", pending: "Pending" },
    summary: "Sums up the income from payments",
    data: createBooksResponseSchema("Income", "Income of sellers"),
  },
  purchase: {
    path: "/purchase/spending",
    operationId: "sumPurchaseSpending",
    tag: "Purchases",
    names: { gained: "Spend", refunded: "Refunded", pending: "Pending" },
    summary: "Sums up the cost of purchases",
    data: createBooksResponseSchema("Spend", "Spending of buyers"),
  },
} as const;

const BOOKS_DESCRIPTION = `An escrow counts at the block time of its newest transaction, in the days and months of \`timeZone\`. A withdrawal counts with its price, a settled dispute with the funds that each side received. Escrows with invalid funds do not count.`;

/** Begin of a period that names none, epoch milliseconds. */
const DEFAULT_PERIOD_START_MS = Date.UTC(2020, 0, 1);

/** A bound within the times that blocks and answers have, epoch milliseconds. */
const clampTime = (time: number) => Math.min(Math.max(time, 0), MAX_TIMESTAMP_MS);

/** `POST /payment/income` and `POST /purchase/spending`. */
export function createBooksRoutes() {
  const router = createRouter();
  for (const side of ["payment", "purchase"] as const) {
    const { names: _, ...declared } = BOOK_ENDPOINTS[side];
    serve(
      router,
      {
        ...declared,
        method: "post",
        access: "User",
        scope: "wallets",
        isConditional: true,
        takesBookmark: true,
        description: BOOKS_DESCRIPTION,
        body: booksBody,
      },
      (c, { body }) => respondWithBooks(c, side, body),
    );
  }
  return router;
}

async function respondWithBooks(
  c: AppContext,
  side: Side,
  body: z.output<typeof booksBody>,
): Promise<Response> {
  const { network, agentIdentifier, startDate, endDate, timeZone } = body;
  const { caller } = c.var;
  // A period that has only one bound is none that ends before it begins.
  const from = clampTime(
    startDate ?? Math.min(DEFAULT_PERIOD_START_MS, endDate ?? DEFAULT_PERIOD_START_MS),
  );
  const session = openReadSession(c, network);
  const { escrows, sums } = await readSums(session, side, {
    network,
    agentIdentifier,
    startAt: from,
    endAt: typeof endDate === "number" ? clampTime(endDate) : null,
    sourceType: body.filterPaymentSourceType,
    walletIds: caller.permission === "Admin" ? null : (caller.scope?.walletIds ?? null),
    env: c.env,
  });
  const dateOf = createCalendar(timeZone);
  if (dateOf === null) throw new Error(`there is no time zone ${timeZone}`);
  const { names } = BOOK_ENDPOINTS[side];
  const accounts = ACCOUNT_KINDS.map((kind) =>
    toAccountResponse(names[kind], buildAccount(side, kind, sums, dateOf)),
  );
  const data = {
    agentIdentifier,
    periodStart: toIsoTime(from),
    periodEnd: toIsoTime(clampTime(endDate ?? Math.max(from, Date.now()))),
    totalTransactions: escrows,
    ...Object.assign({}, ...accounts),
  };
  return createJsonResponse(c, JSON.stringify(toEnvelope(data)), session);
}

function toAccountResponse(
  name: string,
  { total, dailyBuckets: daily, monthlyBuckets: monthly }: BookAccount,
) {
  const toBucketResponse = ({ day, month, year, ...bucket }: AccountBucket) => ({
    ...(day !== undefined && { day }),
    month,
    year,
    ...toTotalResponse(bucket),
  });
  return {
    [`Total${name}`]: toTotalResponse(total),
    [`Daily${name}`]: daily.map(toBucketResponse),
    [`Monthly${name}`]: monthly.map(toBucketResponse),
  };
}

function toTotalResponse({ unitTotals: units, networkFee }: AccountTotal) {
  return {
    Units: units.map(({ unit, gross, protocolFee, networkFee, net }) => ({
      unit,
      amount: toExactNumber(gross),
      amountText: String(gross),
      gross: String(gross),
      protocolFee: String(protocolFee),
      networkFee: String(networkFee),
      net: String(net),
    })),
    blockchainFees: toExactNumber(networkFee),
    blockchainFeesText: String(networkFee),
  };
}
