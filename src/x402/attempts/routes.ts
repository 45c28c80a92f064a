import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { described, idField, named, textField } from "../../http/openapi/fields.ts";
import {
  booleanFilter,
  cursorParameter,
  pageParametersWithTake,
  textParameter,
  timeParameter,
  timeZoneParameter,
  wholeNumberParameter,
} from "../../http/openapi/parameters.ts";
import {
  amountResponse,
  attemptDirection,
  attemptRecord,
  attemptSide,
  attemptStatus,
  caip2,
  caip2Filter,
  countRecord,
  EXAMPLE_ASSET,
  EXAMPLE_ATTEMPT_ID,
  EXAMPLE_PAYLOAD_HASH,
  settlementFields,
} from "../model/schemas.ts";
import { countAttempts, countSettlements, listAttempts, listSettlements } from "./list-attempts.ts";
import { sumAttempts } from "./sum-attempts.ts";

const attemptFields = {
  attemptId: idField("the attempt", EXAMPLE_ATTEMPT_ID),
  paymentPayloadHash: textField("SHA-256 of the payment in canonical form.", EXAMPLE_PAYLOAD_HASH),
};

const createdFrom = described(timeParameter().optional(), "Only attempts at or after this time.");
const createdTo = described(timeParameter().optional(), "Only attempts before this time.");

/** Filters of payment attempts. */
export const attemptFilters = {
  status: described(attemptStatus.optional(), "Only attempts in this status.", "Settled"),
  direction: described(
    attemptDirection.optional(),
    "Only attempts in this direction.",
    "InboundSettle",
  ),
  caip2Network: caip2Filter,
  paymentPayloadHash: described(
    textParameter(64).optional(),
    "Only attempts of this payment.",
    EXAMPLE_PAYLOAD_HASH,
  ),
  side: described(
    attemptSide.optional(),
    "Only outbound payments (`buy`), or only others (`sell`). `direction` overrides it.",
    "sell",
  ),
  isStuck: described(
    booleanFilter(),
    "Only settlements (`true`) that have had no outcome for a day. This filter overrides `status`.",
  ),
  createdFrom,
  createdTo,
};

const settlementFilters = {
  caip2Network: caip2Filter,
  success: described(booleanFilter(), "Only payments that were made (`true`), or only others."),
};

const settlement = named(
  "X402Settlement",
  "A settled payment.",
  z.object({
    ...settlementFields,
    ...attemptFields,
    caip2Network: textField("EVM chain, as a CAIP-2 id.", "eip155:8453"),
    asset: textField("Address of the token.", EXAMPLE_ASSET),
  }),
);

export const tokenTotals = z.array(
  named(
    "X402TokenTotal",
    "The sum of payments in one token.",
    z.object({
      caip2Network: caip2,
      asset: textField("Address of the token.", EXAMPLE_ASSET),
      amount: amountResponse("Sum"),
    }),
  ),
);

const totalFields = {
  Income: described(tokenTotals, "What sellers received, by chain and token."),
  Spending: described(tokenTotals, "What managed wallets signed, by chain and token."),
};
/** A month, and a day of it. */
export const monthFields = {
  year: described(z.int(), "The year.", 2026),
  month: described(z.int().min(1).max(12), "The month, from 1.", 11),
};
export const dayFields = {
  ...monthFields,
  day: described(z.int().min(1).max(31), "The day of the month.", 22),
};

const attemptTotals = named(
  "X402Totals",
  "Sums of payments in a period.",
  z.object({
    createdFrom: textField("Start of the period, inclusive.", "2026-10-23T06:17:26.922Z"),
    createdTo: textField("End of the period, exclusive.", "2026-11-22T06:17:26.922Z"),
    incomeCount: described(z.int(), "How many payments `Income` sums.", 3),
    spendingCount: described(z.int(), "How many payments `Spending` sums.", 2),
    ...totalFields,
    SponsoredGas: described(
      z.array(
        named(
          "X402SponsoredGas",
          "Gas of payments that approved Permit2 by a permit, on a chain.",
          z.object({
            caip2Network: textField("EVM chain, as a CAIP-2 id.", "eip155:8453"),
            amount: textField(
              "Cost in wei. A settlement without a known cost counts with the most that it may cost.",
              "84000000000000",
            ),
          }),
        ),
      ),
      "Gas of payments that approved Permit2 by a permit, reverted ones included.",
    ),
    Days: described(
      z.array(named("X402DayTotals", "Sums of a day.", z.object({ ...dayFields, ...totalFields }))),
      "Sums by day of the time zone, without empty days.",
    ),
    Months: described(
      z.array(
        named("X402MonthTotals", "Sums of a month.", z.object({ ...monthFields, ...totalFields })),
      ),
      "Sums by month of the time zone, without empty months.",
    ),
  }),
);

/** The records of payments: lists, counts and totals. */
export function registerAttemptRoutes(router: Router): void {
  serve(
    router,
    {
      method: "get",
      operationId: "listX402PaymentAttempts",
      isConditional: true,
      path: "/x402/payments",
      access: "+PAY",
      scope: "owner",
      names: { paymentPayloadHash: "filter" },
      tag: "x402",
      summary: "Lists x402 payment attempts with their settlement, newest first",
      description: "A key that is no Admin sees the resources that it registered.",
      query: z.object({
        take: wholeNumberParameter({ min: 1, max: 100, default: 20 }),
        cursorId: cursorParameter(550),
        ...attemptFilters,
      }),
      data: z.object({ PaymentAttempts: described(z.array(attemptRecord), "The attempts.") }),
    },
    async (c, { query }) => ({ PaymentAttempts: await listAttempts(c, query) }),
  );

  serve(
    router,
    {
      method: "get",
      operationId: "listX402Settlements",
      isConditional: true,
      path: "/x402/settlements",
      access: "+PAY",
      scope: "owner",
      tag: "x402",
      summary: "Lists settlements, newest first",
      description: "A key that is no Admin sees the settlements of its own attempts.",
      query: z.object({ ...pageParametersWithTake, ...settlementFilters }),
      data: z.object({ Settlements: described(z.array(settlement), "The settlements.") }),
    },
    async (c, { query: { take, ...query } }) => ({
      Settlements: await listSettlements(c, { ...query, limit: take ?? query.limit }),
    }),
  );

  serve(
    router,
    {
      method: "get",
      operationId: "countX402PaymentAttempts",
      path: "/x402/payments/count",
      access: "+PAY",
      scope: "owner",
      names: { paymentPayloadHash: "filter" },
      tag: "x402",
      summary: "Counts x402 payment attempts",
      description: "Counts the attempts of `GET /x402/payments`.",
      query: z.object(attemptFilters),
      data: countRecord,
    },
    async (c, { query }) => ({ total: await countAttempts(c, query) }),
  );

  serve(
    router,
    {
      method: "get",
      operationId: "countX402Settlements",
      path: "/x402/settlements/count",
      access: "+PAY",
      scope: "owner",
      tag: "x402",
      summary: "Counts settlements",
      description: "Counts the settlements of `GET /x402/settlements`.",
      query: z.object(settlementFilters),
      data: countRecord,
    },
    async (c, { query }) => ({ total: await countSettlements(c, query) }),
  );

  serve(
    router,
    {
      method: "get",
      operationId: "sumX402Payments",
      path: "/x402/totals",
      access: "Admin",
      scope: "admin",
      tag: "x402",
      summary: "Sums payments by day, month, chain and token",
      description:
        "`Income` is what settlements of this service paid to sellers. `Spending` is what managed wallets signed, but for what failed. A payment counts at the time of its attempt, in a period of at most 400 days.",
      query: z.object({
        createdFrom: described(createdFrom, "Start, inclusive. Omitted: 30 days before the end."),
        createdTo: described(createdTo, "End, exclusive. Omitted: now."),
        caip2Network: caip2Filter,
        timeZone: timeZoneParameter,
      }),
      data: attemptTotals,
    },
    (c, { query }) => sumAttempts(c, query, Date.now()),
  );
}
