import type * as z from "zod";
import type { AppContext } from "../../../http/context.ts";
import { createRouter, serve } from "../../../http/endpoint.ts";
import { envelope, exactNumber, isoTime } from "../../../http/envelope.ts";
import { readSession, textAnswer } from "../../../http/session.ts";
import type { Side } from "../../model/record.ts";
import { type Account, accountOf, type Bucket, calendarOf, type Total } from "./account.ts";
import { books, booksBody } from "./schemas.ts";
import { KINDS, readSums } from "./sums.ts";

const BOOKS = {
  payment: {
    path: "/payment/income",
    operationId: "sumPaymentIncome",
    tag: "Payments",
    gained: "Income",
    summary: "Sums up the income from payments",
    data: books("Income", "Income of sellers"),
  },
  purchase: {
    path: "/purchase/spending",
    operationId: "sumPurchaseSpending",
    tag: "Purchases",
    gained: "Spend",
    summary: "Sums up the cost of purchases",
    data: books("Spend", "Spending of buyers"),
  },
} as const;

const DESCRIPTION = `An escrow counts at the block time of its newest transaction, in the days and months of \`timeZone\`. A withdrawal counts with its price, a settled dispute with the funds that each side received. Escrows with invalid funds do not count.`;

/** Begin of a period that names none, epoch milliseconds. */
const FIRST_START = Date.UTC(2020, 0, 1);
/** No block is later, and no later time is printed. */
const LAST_END = Date.UTC(10_000, 0, 1) - 1;

/** A bound within the times that blocks and answers have, epoch milliseconds. */
const within = (time: number) => Math.min(Math.max(time, 0), LAST_END);

/** `POST /payment/income` and `POST /purchase/spending`. */
export function booksRoutes() {
  const router = createRouter();
  for (const side of ["payment", "purchase"] as const) {
    const { path, operationId, tag, summary, data } = BOOKS[side];
    serve(
      router,
      {
        method: "post",
        path,
        operationId,
        access: "User",
        scope: "wallets",
        isConditional: true,
        takesBookmark: true,
        tag,
        summary,
        description: DESCRIPTION,
        body: booksBody,
        data,
      },
      (c, { body }) => answer(c, side, body),
    );
  }
  return router;
}

async function answer(
  c: AppContext,
  side: Side,
  body: z.output<typeof booksBody>,
): Promise<Response> {
  const { network, agentIdentifier, startDate, endDate, timeZone } = body;
  const { caller } = c.var;
  // A period that has only one bound is none that ends before it begins.
  const from = within(startDate ?? Math.min(FIRST_START, endDate ?? FIRST_START));
  const session = readSession(c, network);
  const { escrows, sums } = await readSums(session, side, {
    network,
    agentIdentifier,
    from,
    to: typeof endDate === "number" ? within(endDate) : null,
    sourceType: body.filterPaymentSourceType,
    walletIds: caller.permission === "Admin" ? null : (caller.scope?.walletIds ?? null),
  });
  const dateOf = calendarOf(timeZone);
  if (dateOf === null) throw new Error(`there is no time zone ${timeZone}`);
  const accounts = KINDS.map((kind) => {
    const name =
      kind === "gained" ? BOOKS[side].gained : kind === "refunded" ? "Refunded" : "Pending";
    return toAccountResponse(name, accountOf(side, kind, sums, dateOf));
  });
  const data = {
    agentIdentifier,
    periodStart: isoTime(from),
    periodEnd: isoTime(within(endDate ?? Math.max(from, Date.now()))),
    totalTransactions: escrows,
    ...Object.assign({}, ...accounts),
  };
  return textAnswer(c, JSON.stringify(envelope(data)), session);
}

function toAccountResponse(name: string, { total, daily, monthly }: Account) {
  const toBucketResponse = ({ day, month, year, ...bucket }: Bucket) => ({
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

function toTotalResponse({ units, networkFee }: Total) {
  return {
    Units: units.map(({ unit, gross, protocolFee, networkFee, net }) => ({
      unit,
      amount: exactNumber(gross),
      amountText: String(gross),
      gross: String(gross),
      protocolFee: String(protocolFee),
      networkFee: String(networkFee),
      net: String(net),
    })),
    blockchainFees: exactNumber(networkFee),
    blockchainFeesText: String(networkFee),
  };
}
