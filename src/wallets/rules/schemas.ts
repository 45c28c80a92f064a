import * as z from "zod";
import { network, requestUnit, unit } from "../../http/openapi/chain-fields.ts";
import {
  described,
  idField,
  minorUnitsField,
  named,
  nullableTextField,
  nullableTimestampField,
  textField,
  timestampField,
  walletAddressField,
  walletVkeyField,
} from "../../http/openapi/fields.ts";
import {
  optionalTextParameter,
  pageParameters,
  textParameter,
} from "../../http/openapi/parameters.ts";

const EXAMPLE_WALLET_ID = "01m80ydypnw7zfztc441hghgzn";
const EXAMPLE_LOW_BALANCE_RULE_ID = "01m80ye0a9x3fy0b7m2c5v8k1q";
const EXAMPLE_TOP_UP_RULE_ID = "01m80yj5n8e3v7q2d9w4x6c1kz";

export const ruleListQuery = z.object({
  ...pageParameters,
  walletId: optionalTextParameter("Only rules of this wallet.", EXAMPLE_WALLET_ID),
});

const ruleId = (example: string) => described(textParameter(), "Id of the rule.", example);
const amount = (what: string, example: string) =>
  described(
    z.string().regex(/^\d{1,20}$/, "must be a whole number of minor units as text"),
    what,
    example,
  );
const timestamps = {
  createdAt: timestampField("When it was made."),
  updatedAt: timestampField("When it was last changed."),
};
const lastBalance = (example: string) =>
  described(
    minorUnitsField("").nullable(),
    "Minor units at the last check; null before it.",
    example,
  );
const lastCheck = (what: string, example: string) =>
  nullableTimestampField(`${what}; null before.`, example);

const threshold = amount("Minor units; less than this is low.", "50000000");
const lowBalanceEnabledText = "Whether the balance is checked.";

export const newLowBalanceBody = z.strictObject({
  walletId: described(textParameter(), "Id of the wallet.", EXAMPLE_WALLET_ID),
  unit: requestUnit.default(""),
  thresholdAmount: threshold,
  enabled: described(z.boolean().default(true), lowBalanceEnabledText, true),
});

export type NewLowBalanceBody = z.output<typeof newLowBalanceBody>;

export const lowBalanceChangeBody = z.strictObject({
  id: ruleId(EXAMPLE_LOW_BALANCE_RULE_ID),
  thresholdAmount: threshold.optional(),
  enabled: described(z.boolean().optional(), lowBalanceEnabledText, true),
});

export type LowBalanceChangeBody = z.output<typeof lowBalanceChangeBody>;

export const lowBalanceRecord = named(
  "LowBalanceRule",
  "A rule that watches a wallet's balance.",
  z.object({
    id: idField("the rule", EXAMPLE_LOW_BALANCE_RULE_ID),
    walletId: idField("the wallet", EXAMPLE_WALLET_ID),
    unit,
    thresholdAmount: minorUnitsField("Minor units; less than this is low.", "50000000"),
    enabled: described(z.boolean(), lowBalanceEnabledText, true),
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
    ...timestamps,
  }),
);

export type LowBalanceRecord = z.infer<typeof lowBalanceRecord>;

/** `data` of WALLET_LOW_BALANCE. */
export const lowBalanceEventData = named(
  "WalletLowBalance",
  "A balance that fell below its threshold.",
  z.object({
    ruleId: idField("the rule", EXAMPLE_LOW_BALANCE_RULE_ID),
    walletId: idField("the wallet", EXAMPLE_WALLET_ID),
    walletVkey: walletVkeyField("the wallet"),
    walletAddress: walletAddressField("the wallet"),
    walletNote: textField("The wallet's note.", "main buyer"),
    network,
    paymentSourceId: idField("its payment source", "01m80ydypnk4jnwav628wda9nd"),
    unit,
    thresholdAmount: minorUnitsField("The threshold, in minor units.", "50000000"),
    balance: minorUnitsField("What it holds, in minor units.", "49000000"),
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
const topUpEnabledText = "Whether the wallet is topped up.";

export const newTopUpBody = z.strictObject({
  walletId: described(textParameter(), "Id of the wallet that is topped up.", EXAMPLE_WALLET_ID),
  unit: requestUnit.default(""),
  below: belowAmount,
  upTo: upToAmount,
  perDay: perDayAmount.default(null),
  enabled: described(z.boolean().default(true), topUpEnabledText, true),
});

export type NewTopUpBody = z.output<typeof newTopUpBody>;

export const topUpChangeBody = z.strictObject({
  id: ruleId(EXAMPLE_TOP_UP_RULE_ID),
  below: belowAmount.optional(),
  upTo: upToAmount.optional(),
  perDay: perDayAmount.optional(),
  enabled: described(z.boolean().optional(), topUpEnabledText, true),
});

export type TopUpChangeBody = z.output<typeof topUpChangeBody>;

export const topUpRecord = named(
  "TopUpRule",
  "A rule by which a Funding wallet fills up another wallet.",
  z.object({
    id: idField("the rule", EXAMPLE_TOP_UP_RULE_ID),
    walletId: idField("the wallet that is topped up", EXAMPLE_WALLET_ID),
    unit,
    below: minorUnitsField("Minor units; a balance of less is filled up.", "20000000"),
    upTo: minorUnitsField("Minor units to which it is filled up.", "60000000"),
    perDay: minorUnitsField("Minor units that are sent in any 24 hours at the most.", "200000000"),
    enabled: described(z.boolean(), topUpEnabledText, true),
    balance: lastBalance("18300000"),
    checkedAt: lastCheck("When the balance was last checked", "2026-11-22T06:20:01.377Z"),
    waitsFor: nullableTextField(
      "What a low balance waited for at the last check; null: it was not low, or a top-up was requested.",
      "a Funding wallet: the payment source has none that may be driven",
    ),
    ...timestamps,
  }),
);

export type TopUpRecord = z.infer<typeof topUpRecord>;
