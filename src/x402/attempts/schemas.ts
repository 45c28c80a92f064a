/** Parameters and responses of the lists, counts and sums of attempts. */
import * as z from "zod";
import { described, named, textField } from "../../http/openapi/fields.ts";
import {
  booleanFilter,
  textParameter,
  timeParameter,
  timeZoneParameter,
} from "../../http/openapi/parameters.ts";
import {
  amountResponse,
  attemptDirection,
  attemptRecord,
  attemptSide,
  attemptStatus,
  caip2,
  caip2Filter,
  EXAMPLE_PAYLOAD_HASH,
  settlementFields,
} from "../model/schemas.ts";

const { id: attemptId, paymentPayloadHash, caip2Network, asset } = attemptRecord.shape;

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

export type AttemptFilter = z.output<z.ZodObject<typeof attemptFilters>>;

export const settlementFilters = {
  caip2Network: caip2Filter,
  success: described(booleanFilter(), "Only payments that were made (`true`), or only others."),
};

export type SettlementFilter = z.output<z.ZodObject<typeof settlementFilters>>;

export const settlement = named(
  "X402Settlement",
  "A settled payment.",
  z.object({
    ...settlementFields,
    attemptId,
    paymentPayloadHash,
    caip2Network,
    asset,
  }),
);

export const totalsQuery = z.object({
  createdFrom: described(createdFrom, "Start, inclusive. Omitted: 30 days before the end."),
  createdTo: described(createdTo, "End, exclusive. Omitted: now."),
  caip2Network: caip2Filter,
  timeZone: timeZoneParameter,
});

export const tokenTotals = z.array(
  named(
    "X402TokenTotal",
    "The sum of payments in one token.",
    z.object({ caip2Network: caip2, asset, amount: amountResponse("Sum") }),
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

export const attemptTotals = named(
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
            caip2Network,
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
export type AttemptTotals = z.output<typeof attemptTotals>;
