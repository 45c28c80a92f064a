import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { described } from "../../http/openapi/fields.ts";
import {
  cursorParameter,
  pageParametersWithTake,
  wholeNumberParameter,
} from "../../http/openapi/parameters.ts";
import { ADMIN_RULES, OWNER_RULES } from "../model/endpoint-rules.ts";
import { attemptRecord, countRecord } from "../model/schemas.ts";
import { countAttempts, countSettlements, listAttempts, listSettlements } from "./list-attempts.ts";
import {
  attemptFilters,
  attemptTotals,
  settlement,
  settlementFilters,
  totalsQuery,
} from "./schemas.ts";
import { sumAttempts } from "./sum-attempts.ts";

/** The records of payments: lists, counts and totals. */
export function registerAttemptRoutes(router: Router): void {
  serve(
    router,
    {
      ...OWNER_RULES,
      method: "get",
      operationId: "listX402PaymentAttempts",
      isConditional: true,
      path: "/x402/payments",
      names: { paymentPayloadHash: "filter" },
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
      ...OWNER_RULES,
      method: "get",
      operationId: "listX402Settlements",
      isConditional: true,
      path: "/x402/settlements",
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
      ...OWNER_RULES,
      method: "get",
      operationId: "countX402PaymentAttempts",
      path: "/x402/payments/count",
      names: { paymentPayloadHash: "filter" },
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
      ...OWNER_RULES,
      method: "get",
      operationId: "countX402Settlements",
      path: "/x402/settlements/count",
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
      ...ADMIN_RULES,
      method: "get",
      operationId: "sumX402Payments",
      path: "/x402/totals",
      summary: "Sums payments by day, month, chain and token",
      description:
        "`Income` is what settlements of this service paid to sellers. `Spending` is what managed wallets signed, but for what failed. A payment counts at the time of its attempt, in a period of at most 400 days.",
      query: totalsQuery,
      data: attemptTotals,
    },
    (c, { query }) => sumAttempts(c, query, Date.now()),
  );
}
