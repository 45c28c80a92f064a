import * as z from "zod";
import {
  network,
  paymentSourceType,
  requestAgentIdentifier,
  unit,
} from "../../../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_AGENT_IDENTIFIER,
  named,
  timestampField,
} from "../../../http/openapi/fields.ts";
import { timeParameter, timeZoneParameter } from "../../../http/openapi/parameters.ts";

const periodBoundParameter = (what: string) =>
  described(timeParameter().nullable().optional(), what);

/** What both books take. */
export const booksBody = z
  .object({
    agentIdentifier: described(
      requestAgentIdentifier.nullable(),
      "Only escrows of this agent: policy id and asset name in hex. Null: all agents.",
      EXAMPLE_AGENT_IDENTIFIER,
    ),
    startDate: periodBoundParameter(
      "Start of the period, inclusive. Omitted or null: 2020 in UTC.",
    ),
    endDate: periodBoundParameter("End of the period, exclusive. Omitted or null: now."),
    timeZone: timeZoneParameter,
    network,
    filterPaymentSourceType: described(
      paymentSourceType.optional(),
      "Only escrows of this contract generation. Omitted: all.",
    ),
  })
  .refine(
    ({ startDate, endDate }) => startDate == null || endDate == null || startDate <= endDate,
    {
      path: ["startDate"],
      message: "must not be after endDate",
    },
  );

const amountField = (what: string, example: string) =>
  described(z.string().regex(/^-?\d+$/), `${what}, in minor units.`, example);

const unitTotal = named(
  "BookedUnit",
  "Sums in one unit.",
  z.object({
    unit,
    amount: described(
      z.number(),
      "`gross` as a number with all digits, which some JSON parsers round.",
      30000000,
    ),
    amountText: amountField("Decimal text of the same figure", "30000000"),
    gross: amountField("Amount before all fees", "30000000"),
    protocolFee: amountField(
      "Fee of the contract's operator, which sellers pay when the escrow has ended",
      "4305690",
    ),
    networkFee: amountField("Network fees of this side for its steps", "1456286"),
    net: amountField(
      "Net amount: what the seller keeps (in `TotalPending` before the contract's fee), what the buyer pays or gets back, or the negative cost of a seller's steps",
      "24238024",
    ),
  }),
);

const totalFields = {
  Units: described(z.array(unitTotal), "Sums by unit, the native coin first."),
  blockchainFees: described(
    z.number(),
    "Network fees of this side, in minor units of the native coin.",
    1456286,
  ),
  blockchainFeesText: amountField("Decimal text of the same figure", "1456286"),
};
const periodTotal = named("BookedTotal", "Sums of a period.", z.object(totalFields));
const monthFields = {
  month: described(z.int().min(1).max(12), "The month, from 1.", 11),
  year: described(z.int(), "The year.", 2026),
};
const dayTotal = named(
  "BookedDay",
  "Sums of a day.",
  z.object({
    day: described(z.int().min(1).max(31), "The day of the month.", 22),
    ...monthFields,
    ...totalFields,
  }),
);
const monthTotal = named(
  "BookedMonth",
  "Sums of a month.",
  z.object({ ...monthFields, ...totalFields }),
);

/**
 * The answer of one of the books.
 *
 * @param gained - what is booked, as fields are called: `Income`
 * @param what - the same for people
 */
export function createBooksResponseSchema<Gained extends "Income" | "Spend">(
  gained: Gained,
  what: string,
) {
  const accountFields = (kind: string, about: string) => ({
    [`Total${kind}`]: described(periodTotal, `${about}.`),
    [`Daily${kind}`]: described(z.array(dayTotal), `${about}, by day, without empty days.`),
    [`Monthly${kind}`]: described(z.array(monthTotal), `${about}, by month, without empty months.`),
  });
  return z.object({
    agentIdentifier: described(
      z.string().nullable(),
      "The requested agent. Null: all agents.",
      EXAMPLE_AGENT_IDENTIFIER,
    ),
    periodStart: timestampField("Start of the period.", "2020-01-01T00:00:00.000Z"),
    periodEnd: timestampField("End of the period."),
    totalTransactions: described(z.int().min(0), "Number of counted escrows.", 3),
    ...accountFields(gained, what),
    ...accountFields("Refunded", "Refunds to buyers"),
    ...accountFields("Pending", "Locked funds that nobody has received yet"),
  });
}
