import * as z from "zod";
import { type Router, serve } from "../http/endpoint.ts";
import { described, timestampField } from "../http/openapi/fields.ts";
import {
  booleanFilter,
  cursorParameter,
  optionalTextParameter,
  textParameter,
  timeParameter,
  wholeNumberParameter,
} from "../http/openapi/parameters.ts";
import { createCalendar } from "../local-date.ts";
import { countAttempts, listAttempts } from "../x402/attempts/list-attempts.ts";
import { attemptFilters, dayFields, monthFields, tokenTotals } from "../x402/attempts/schemas.ts";
import { sumAttempts } from "../x402/attempts/sum-attempts.ts";
import { ADMIN_RULES, OWNER_RULES } from "../x402/model/endpoint-rules.ts";
import {
  attemptRecord,
  caip2Filter,
  countRecord,
  EXAMPLE_ATTEMPT_ID,
  EXAMPLE_PAYER,
  EXAMPLE_TX_HASH,
  nullableText,
  txHash,
} from "../x402/model/schemas.ts";
import { reconcileAttempt } from "../x402/settle/reconcile-attempt.ts";
import { RECONCILE_ERRORS } from "../x402/settle/routes.ts";

const filters = {
  ...attemptFilters,
  filterNeedsManualAction: described(
    booleanFilter(),
    "Another name of `isStuck`: settlements that have had no outcome for a day.",
  ),
};
interface StuckFilter {
  isStuck?: boolean | undefined;
  filterNeedsManualAction?: boolean | undefined;
}
const toFilter = <Query extends StuckFilter>(query: Query) => ({
  ...query,
  isStuck: query.filterNeedsManualAction ?? query.isStuck,
});

const totals = {
  Income: described(tokenTotals, "What sellers received, by chain and token."),
  Spend: described(tokenTotals, "What managed wallets signed, by chain and token."),
};

const externalAttempt = attemptRecord.extend({
  facilitator: described(
    z
      .object({
        mode: described(
          z.enum(["self_hosted", "remote", "unknown"]),
          "`self_hosted`: a wallet of this service settles. `remote`: another facilitator does.",
          "self_hosted",
        ),
        address: nullableText("Address of the wallet. Null: none.", EXAMPLE_PAYER),
      })
      .nullable(),
    "What settles. Null: the attempt is no settlement.",
  ),
});

function toExternalFacilitator({ direction, facilitator }: z.output<typeof attemptRecord>) {
  if (direction !== "InboundSettle") return null;
  if (facilitator === null) return { mode: "unknown" as const, address: null };
  return facilitator.startsWith("0x")
    ? { mode: "self_hosted" as const, address: facilitator }
    : { mode: "remote" as const, address: null };
}

const reconcileBody = z
  .strictObject({
    attemptId: described(textParameter(), "Id of the attempt.", EXAMPLE_ATTEMPT_ID),
    resolution: described(z.enum(["settled", "failed"]), "The outcome.", "settled"),
    txHash: described(txHash.optional(), "Transaction of a settlement.", EXAMPLE_TX_HASH),
  })
  .refine((body) => (body.resolution === "settled") === (body.txHash !== undefined), {
    path: ["txHash"],
    message: "is required for settled, and must be omitted for failed",
  });

/** Lists and sums of x402 payments in the form that clients of other services call. */
export function registerX402RecordRoutes(router: Router): void {
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
      query: z.object({
        take: wholeNumberParameter({ min: 1, max: 100, default: 20 }),
        cursorId: cursorParameter(550),
        ...filters,
      }),
      data: z.object({ PaymentAttempts: described(z.array(externalAttempt), "The attempts.") }),
    },
    async (c, { query }) => {
      const attempts = await listAttempts(c, toFilter(query));
      return {
        PaymentAttempts: attempts.map((one) => ({
          ...one,
          facilitator: toExternalFacilitator(one),
        })),
      };
    },
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
      query: z.object(filters),
      data: countRecord,
    },
    async (c, { query }) => ({ total: await countAttempts(c, toFilter(query)) }),
  );

  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "post",
      operationId: "reconcileX402Payment",
      path: "/x402/payments/reconcile",
      summary: "Records the outcome of a settlement, if the chain shows it",
      body: reconcileBody,
      data: z.object({ attemptId: attemptRecord.shape.id, status: attemptRecord.shape.status }),
      errors: RECONCILE_ERRORS,
    },
    async (c, { body: { attemptId, resolution, txHash } }) => {
      const expected = resolution === "settled" ? "Settled" : "Failed";
      const { id, status } = await reconcileAttempt(c, { attemptId, expected, txHash }, Date.now());
      return { attemptId: id, status };
    },
  );

  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "post",
      operationId: "analyzeX402Payments",
      path: "/x402/analytics",
      summary: "Sums payments by day, month, chain and token",
      description: "The answer of `GET /x402/totals` under other names.",
      body: z.object({
        startDate: described(timeParameter().optional(), "Start. Omitted: 30 days before the end."),
        endDate: described(timeParameter().optional(), "End, exclusive. Omitted: now."),
        caip2Network: caip2Filter,
        timeZone: optionalTextParameter("IANA time zone. Unknown: UTC.", "UTC"),
      }),
      data: z.object({
        periodStart: timestampField("Start of the period."),
        periodEnd: timestampField("End of the period."),
        incomeCount: described(z.int(), "How many payments `TotalIncome` sums.", 3),
        spendCount: described(z.int(), "How many payments `TotalSpend` sums.", 2),
        TotalIncome: totals.Income,
        TotalSpend: totals.Spend,
        Daily: described(z.array(z.object({ ...dayFields, ...totals })), "Sums by day."),
        Monthly: described(z.array(z.object({ ...monthFields, ...totals })), "Sums by month."),
      }),
    },
    async (c, { body: { startDate, endDate, caip2Network, timeZone = "UTC" } }) => {
      const query = { createdFrom: startDate, createdTo: endDate, caip2Network };
      const sums = await sumAttempts(
        c,
        { ...query, timeZone: createCalendar(timeZone) ? timeZone : "UTC" },
        Date.now(),
      );
      const rename = <Sum extends { Spending: unknown }>({ Spending, ...sum }: Sum) => ({
        ...sum,
        Spend: Spending as Sum["Spending"],
      });
      return {
        periodStart: sums.createdFrom,
        periodEnd: sums.createdTo,
        incomeCount: sums.incomeCount,
        spendCount: sums.spendingCount,
        TotalIncome: sums.Income,
        TotalSpend: sums.Spending,
        Daily: sums.Days.map(rename),
        Monthly: sums.Months.map(rename),
      };
    },
  );
}
