import * as z from "zod";
import { AGENT_IDENTIFIER, described, named, timestamp } from "../../../http/openapi/fields.ts";
import {
  givenAgentIdentifier,
  network,
  paymentSourceType,
  unit,
} from "../../../http/openapi/ledger.ts";
import { text, time } from "../../../http/openapi/parameters.ts";
import { calendarOf } from "./account.ts";

const bound = (what: string) =>
  described(time().nullable().optional(), `${what} Null is as if left out.`);

/** What both books take. */
export const booksBody = z
  .object({
    agentIdentifier: described(
      givenAgentIdentifier.nullable(),
      "The agent whose escrows count, policy id and asset name in hex; null: those of all agents.",
      AGENT_IDENTIFIER,
    ),
    startDate: bound("Begin of the period, the first moment of it; left out: 2020 in UTC."),
    endDate: bound("End of the period, the first moment after it; left out: now."),
    timeZone: described(
      text()
        .default("Etc/UTC")
        .refine((name) => calendarOf(name) !== null, "must be the name of an IANA time zone")
        .meta({ format: "time-zone" }),
      "Time zone whose days and months are shown: a name of the IANA database.",
      "Europe/Berlin",
    ),
    network,
    filterPaymentSourceType: described(
      paymentSourceType.optional(),
      "Only escrows of this generation of the contract; without it, of all.",
    ),
  })
  .refine(
    ({ startDate, endDate }) => startDate == null || endDate == null || startDate <= endDate,
    {
      path: ["startDate"],
      message: "must not be after endDate",
    },
  );

const amountText = (what: string, example: string) =>
  described(z.string().regex(/^-?\d+$/), `${what}, in minor units.`, example);

const unitTotal = named(
  "BookedUnit",
  "What escrows came to in one unit.",
  z.object({
    unit,
    amount: described(
      z.number(),
      "The same as `gross`, as a number: all digits are there, which not every JSON parser keeps.",
      30000000,
    ),
    amountText: amountText("The same as text", "30000000"),
    gross: amountText("The amounts before any fee", "30000000"),
    protocolFee: amountText("What the contract's operator took of them; sellers pay it", "4305690"),
    networkFee: amountText("What the network took of this side for its steps", "1456286"),
    net: amountText(
      "What is left: of income what the seller keeps, of spending what it cost the buyer, of refunds what came back, or for sellers what the steps cost them, below zero",
      "24238024",
    ),
  }),
);

const totals = {
  Units: described(z.array(unitTotal), "By unit, the native coin first."),
  blockchainFees: described(
    z.number(),
    "What the network took of this side, in minor units of the native coin.",
    1456286,
  ),
  blockchainFeesText: amountText("The same as text", "1456286"),
};
const total = named("BookedTotal", "What escrows of a period came to.", z.object(totals));
const month = {
  month: described(z.int().min(1).max(12), "The month, from 1.", 11),
  year: described(z.int(), "The year.", 2026),
};
const daily = named(
  "BookedDay",
  "What escrows of a day came to.",
  z.object({
    day: described(z.int().min(1).max(31), "The day of the month.", 22),
    ...month,
    ...totals,
  }),
);
const monthly = named(
  "BookedMonth",
  "What escrows of a month came to.",
  z.object({ ...month, ...totals }),
);

/**
 * The answer of one of the books.
 *
 * @param gained - what is booked, as fields are called: `Income`
 * @param what - the same for people
 */
export function books<Gained extends "Income" | "Spend">(gained: Gained, what: string) {
  const of = (kind: string, about: string) => ({
    [`Total${kind}`]: described(total, `${about}.`),
    [`Daily${kind}`]: described(z.array(daily), `${about}, by day; days without any are left out.`),
    [`Monthly${kind}`]: described(
      z.array(monthly),
      `${about}, by month; months without any are left out.`,
    ),
  });
  return z.object({
    agentIdentifier: described(
      z.string().nullable(),
      "The requested agent; null: all.",
      AGENT_IDENTIFIER,
    ),
    periodStart: timestamp("Begin of the period.", "2020-01-01T00:00:00.000Z"),
    periodEnd: timestamp("End of the period."),
    totalTransactions: described(z.int().min(0), "How many escrows are counted.", 3),
    ...of(gained, what),
    ...of("Refunded", "What went back to buyers"),
    ...of("Pending", "What is locked and went to nobody yet"),
  });
}
