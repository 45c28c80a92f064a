import * as z from "zod";
import {
  described,
  minorUnits,
  named,
  recordId,
  timestamp,
  walletAddress,
  walletVkey,
} from "../../http/openapi/fields.ts";
import { givenUnit, network, unit } from "../../http/openapi/ledger.ts";
import { page, text } from "../../http/openapi/parameters.ts";

const WALLET_ID = "01m80ydypnw7zfztc441hghgzn";

const amount = described(
  z.string().regex(/^\d{1,20}$/, "must be a whole number of minor units as text"),
  "Minor units; less than this is low.",
  "50000000",
);
const enabled = "Whether the balance is checked.";

export const ruleListQuery = z.object({
  ...page,
  walletId: described(text().optional(), "Only rules of this wallet.", WALLET_ID),
});

export const newRuleBody = z.strictObject({
  walletId: described(text(), "Id of the wallet.", WALLET_ID),
  unit: givenUnit.default(""),
  thresholdAmount: amount,
  enabled: described(z.boolean().default(true), enabled, true),
});

export type NewRuleBody = z.output<typeof newRuleBody>;

const ruleId = "01m80ye0a9x3fy0b7m2c5v8k1q";

export const ruleChangeBody = z.strictObject({
  id: described(text(), "Id of the rule.", ruleId),
  thresholdAmount: amount.optional(),
  enabled: described(z.boolean().optional(), enabled, true),
});

export type RuleChangeBody = z.output<typeof ruleChangeBody>;

export const ruleDeletion = z.strictObject({ id: described(text(), "Id of the rule.", ruleId) });

export const balanceState = described(
  named(
    "BalanceState",
    "What the last check of a balance found.",
    z.enum(["Unknown", "Healthy", "Low"]),
  ),
  "`Unknown` until the first check after the rule was created or changed.",
  "Healthy",
);

export const ruleRecord = named(
  "LowBalanceRule",
  "A rule that watches a wallet's balance.",
  z.object({
    id: recordId("the rule", ruleId),
    walletId: recordId("the wallet", WALLET_ID),
    unit,
    thresholdAmount: minorUnits("Minor units; less than this is low.", "50000000"),
    enabled: described(z.boolean(), enabled, true),
    status: balanceState,
    balance: described(
      minorUnits("").nullable(),
      "Minor units at the last check; null before it.",
      "3999947282560",
    ),
    checkedAt: described(
      timestamp("").nullable(),
      "When it was last checked; null before.",
      "2026-11-22T06:17:26.922Z",
    ),
    createdAt: timestamp("When it was made."),
    updatedAt: timestamp("When it was last changed."),
  }),
);

export type RuleRecord = z.infer<typeof ruleRecord>;

/** `data` of WALLET_LOW_BALANCE. */
export const lowBalance = named(
  "WalletLowBalance",
  "A balance that fell below its threshold.",
  z.object({
    ruleId: recordId("the rule", ruleId),
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
