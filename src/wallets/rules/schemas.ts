import * as z from "zod";
import { network, requestUnit, unit } from "../../http/openapi/chain-fields.ts";
import {
  described,
  minorUnits,
  named,
  recordId,
  timestamp,
  walletAddress,
  walletVkey,
} from "../../http/openapi/fields.ts";
import { page, text } from "../../http/openapi/parameters.ts";

const WALLET_ID = "01m80ydypnw7zfztc441hghgzn";
const LOW_BALANCE_ID = "01m80ye0a9x3fy0b7m2c5v8k1q";
const TOP_UP_ID = "01m80yj5n8e3v7q2d9w4x6c1kz";

export const ruleListQuery = z.object({
  ...page,
  walletId: described(text().optional(), "Only rules of this wallet.", WALLET_ID),
});

const ruleId = (example: string) => described(text(), "Id of the rule.", example);
const amount = (what: string, example: string) =>
  described(
    z.string().regex(/^\d{1,20}$/, "must be a whole number of minor units as text"),
    what,
    example,
  );
const times = {
  createdAt: timestamp("When it was made."),
  updatedAt: timestamp("When it was last changed."),
};
const lastBalance = (example: string) =>
  described(minorUnits("").nullable(), "Minor units at the last check; null before it.", example);
const lastCheck = (what: string, example: string) =>
  described(timestamp("").nullable(), `${what}; null before.`, example);

const threshold = amount("Minor units; less than this is low.", "50000000");
const isWatched = "Whether the balance is checked.";

export const newLowBalanceBody = z.strictObject({
  walletId: described(text(), "Id of the wallet.", WALLET_ID),
  unit: requestUnit.default(""),
  thresholdAmount: threshold,
  enabled: described(z.boolean().default(true), isWatched, true),
});

export type NewLowBalanceBody = z.output<typeof newLowBalanceBody>;

export const lowBalanceChangeBody = z.strictObject({
  id: ruleId(LOW_BALANCE_ID),
  thresholdAmount: threshold.optional(),
  enabled: described(z.boolean().optional(), isWatched, true),
});

export type LowBalanceChangeBody = z.output<typeof lowBalanceChangeBody>;

export const lowBalanceRecord = named(
  "LowBalanceRule",
  "A rule that watches a wallet's balance.",
  z.object({
    id: recordId("the rule", LOW_BALANCE_ID),
    walletId: recordId("the wallet", WALLET_ID),
    unit,
    thresholdAmount: minorUnits("Minor units; less than this is low.", "50000000"),
    enabled: described(z.boolean(), isWatched, true),
    status: described(
      named(
        "BalanceState",
        "What the last check of a balance found.",
        z.enum(["Unknown", "Healthy", "Low"]),
      ),
      "`Unknown` until the first check after the rule was created or changed.",
      "Healthy",
    ),
    balance: lastBalance("3999947282560"),
    checkedAt: lastCheck("When it was last checked", "2026-11-22T06:17:26.922Z"),
    ...times,
  }),
);

export type LowBalanceRecord = z.infer<typeof lowBalanceRecord>;

/** `data` of WALLET_LOW_BALANCE. */
export const lowBalance = named(
  "WalletLowBalance",
  "A balance that fell below its threshold.",
  z.object({
    ruleId: recordId("the rule", LOW_BALANCE_ID),
    walletId: recordId("the wallet", WALLET_ID),
    walletVkey: walletVkey("the wallet"),
    walletAddress: walletAddress("the wallet"),
    network,
    paymentSourceId: recordId("its payment source", "01m80ydypnk4jnwav628wda9nd"),
    unit,
    thresholdAmount: minorUnits("The threshold, in minor units.", "50000000"),
    balance: minorUnits("What it holds, in minor units.", "49000000"),
  }),
);

const belowAmount = amount("Minor units; a balance of less is filled up.", "20000000");
const upToAmount = amount(
  "Minor units to which it is filled up; of the native coin at least 2000000 more than `below`.",
  "60000000",
);
const perDayAmount = described(
  amount("", "200000000").nullable(),
  "Minor units that are sent in any 24 hours at the most, at least `upTo` − `below`; null: five times that.",
  "200000000",
);
const isToppedUp = "Whether the wallet is topped up.";

export const newTopUpBody = z.strictObject({
  walletId: described(text(), "Id of the wallet that is topped up.", WALLET_ID),
  unit: requestUnit.default(""),
  below: belowAmount,
  upTo: upToAmount,
  perDay: perDayAmount.default(null),
  enabled: described(z.boolean().default(true), isToppedUp, true),
});

export type NewTopUpBody = z.output<typeof newTopUpBody>;

export const topUpChangeBody = z.strictObject({
  id: ruleId(TOP_UP_ID),
  below: belowAmount.optional(),
  upTo: upToAmount.optional(),
  perDay: perDayAmount.optional(),
  enabled: described(z.boolean().optional(), isToppedUp, true),
});

export type TopUpChangeBody = z.output<typeof topUpChangeBody>;

export const topUpRecord = named(
  "TopUpRule",
  "A rule by which a Funding wallet fills up another wallet.",
  z.object({
    id: recordId("the rule", TOP_UP_ID),
    walletId: recordId("the wallet that is topped up", WALLET_ID),
    unit,
    below: minorUnits("Minor units; a balance of less is filled up.", "20000000"),
    upTo: minorUnits("Minor units to which it is filled up.", "60000000"),
    perDay: minorUnits("Minor units that are sent in any 24 hours at the most.", "200000000"),
    enabled: described(z.boolean(), isToppedUp, true),
    balance: lastBalance("18300000"),
    checkedAt: lastCheck("When the balance was last checked", "2026-11-22T06:20:01.377Z"),
    waitsFor: described(
      z.string().nullable(),
      "What a low balance waited for at the last check; null: it was not low, or a top-up was requested.",
      "a Funding wallet: the payment source has none that may be driven",
    ),
    ...times,
  }),
);

export type TopUpRecord = z.infer<typeof topUpRecord>;
