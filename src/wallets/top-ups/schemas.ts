import * as z from "zod";
import { described, minorUnits, named, recordId, timestamp } from "../../http/openapi/fields.ts";
import { givenUnit, unit } from "../../http/openapi/ledger.ts";
import { page, text } from "../../http/openapi/parameters.ts";

const WALLET_ID = "01m80ydypnw7zfztc441hghgzn";
const RULE_ID = "01m80yj5n8e3v7q2d9w4x6c1kz";

const amount = (what: string, example: string) =>
  described(
    z.string().regex(/^\d{1,20}$/, "must be a whole number of minor units as text"),
    what,
    example,
  );
const below = amount("Minor units; a balance of less is filled up.", "20000000");
const upTo = amount(
  "Minor units to which it is filled up; of the native coin at least 2000000 more than `below`.",
  "60000000",
);
const perDay = described(
  amount("", "200000000").nullable(),
  "Minor units that are sent in any 24 hours at the most, at least `upTo` − `below`; null: five times that.",
  "200000000",
);
const enabled = "Whether the wallet is topped up.";

export const topUpListQuery = z.object({
  ...page,
  walletId: described(text().optional(), "Only rules of this wallet.", WALLET_ID),
});

export const newTopUpBody = z.strictObject({
  walletId: described(text(), "Id of the wallet that is topped up.", WALLET_ID),
  unit: givenUnit.default(""),
  below,
  upTo,
  perDay: perDay.default(null),
  enabled: described(z.boolean().default(true), enabled, true),
});

export type NewTopUpBody = z.output<typeof newTopUpBody>;

export const topUpChangeBody = z.strictObject({
  id: described(text(), "Id of the rule.", RULE_ID),
  below: below.optional(),
  upTo: upTo.optional(),
  perDay: perDay.optional(),
  enabled: described(z.boolean().optional(), enabled, true),
});

export type TopUpChangeBody = z.output<typeof topUpChangeBody>;

export const topUpDeletion = z.strictObject({ id: described(text(), "Id of the rule.", RULE_ID) });

export const topUpRecord = named(
  "TopUpRule",
  "A rule by which a Funding wallet fills up another wallet.",
  z.object({
    id: recordId("the rule", RULE_ID),
    walletId: recordId("the wallet that is topped up", WALLET_ID),
    unit,
    below: minorUnits("Minor units; a balance of less is filled up.", "20000000"),
    upTo: minorUnits("Minor units to which it is filled up.", "60000000"),
    perDay: minorUnits("Minor units that are sent in any 24 hours at the most.", "200000000"),
    enabled: described(z.boolean(), enabled, true),
    balance: described(
      minorUnits("").nullable(),
      "Minor units at the last check; null before it.",
      "18300000",
    ),
    checkedAt: described(
      timestamp("").nullable(),
      "When the balance was last checked; null before.",
      "2026-11-22T06:20:01.377Z",
    ),
    waitsFor: described(
      z.string().nullable(),
      "What a low balance waited for at the last check; null: it was not low, or a top-up was requested.",
      "a Funding wallet: the payment source has none that may be driven",
    ),
    createdAt: timestamp("When it was made."),
    updatedAt: timestamp("When it was last changed."),
  }),
);

export type TopUpRecord = z.infer<typeof topUpRecord>;
