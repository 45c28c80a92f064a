/** Bodies, parameters and responses of managed EVM wallets and of the rules that watch their balances. */
import * as z from "zod";
import {
  described,
  idField,
  named,
  nullableTimestampField,
  textField,
  timestampField,
} from "../../http/openapi/fields.ts";
import {
  booleanFilter,
  optionalTextParameter,
  pageParameters,
  textParameter,
} from "../../http/openapi/parameters.ts";
import {
  addressResponse,
  caip2,
  caip2Filter,
  EXAMPLE_PAYER,
  EXAMPLE_WALLET_ID,
  evmAddress,
  evmWalletType,
  nullableText,
  tokenAmount,
  walletFields,
} from "../model/schemas.ts";

const assetText = "`native`, or the address of the token.";
const EXAMPLE_PRIVATE_KEY = `0x${"4f7a".repeat(16)}`;

export const createWalletBody = z.object({
  caip2Network: caip2,
  type: evmWalletType,
  note: described(textParameter(250).nullable().default(null), "Note about the wallet.", "Buyer"),
  privateKey: described(
    z
      .string()
      .regex(/^0x[0-9a-fA-F]{64}$/, "must be 32 bytes in hex")
      .meta({ format: "secp256k1-key" })
      .optional(),
    "Key of the wallet to import. Without a key, the service creates a new wallet.",
    EXAMPLE_PRIVATE_KEY,
  ),
});

export type NewWallet = z.output<typeof createWalletBody>;

export const createdWallet = named(
  "CreatedX402Wallet",
  "A new managed EVM wallet.",
  z.object({
    ...walletFields,
    privateKey: nullableText(
      "Key of a new wallet. Only this response contains the key. Null: the wallet was imported.",
      EXAMPLE_PRIVATE_KEY,
    ),
  }),
);

const walletReference = {
  evmWalletId: idField("the wallet", EXAMPLE_WALLET_ID),
  caip2Network: caip2,
  address: addressResponse("Address of the wallet.", EXAMPLE_PAYER),
};

export const walletBalances = named(
  "X402WalletBalances",
  "Balances of a managed EVM wallet.",
  z.object({
    ...walletReference,
    readAt: nullableTimestampField(
      "Time of the reading, at most 30 seconds ago. Null: the reading failed.",
      "2026-11-22T06:17:26.922Z",
    ),
    error: nullableText(
      "Reason of the failed reading. Null: no failure.",
      "The network's RPC node did not answer",
    ),
    Assets: described(
      z.array(
        named(
          "X402AssetBalance",
          "Balance of one asset.",
          z.object({
            asset: textField(assetText, "native"),
            decimals: described(
              z.int().min(0).max(255).nullable(),
              "Decimals of the asset. Null: the token reports none.",
              18,
            ),
            amount: nullableText(
              "Balance in minor units. Null: the token reports none.",
              "49000000",
            ),
          }),
        ),
      ),
      "The native coin, the network's default asset and the assets of the wallet's rules; at most eight tokens.",
    ),
  }),
);

export const walletIdFilter = optionalTextParameter(
  "Only the wallet with this id.",
  EXAMPLE_WALLET_ID,
);

export const walletFilters = {
  caip2Network: caip2Filter,
  networkId: optionalTextParameter(
    "Only wallets of the network with this id.",
    "01m80ydys10y2a8emavwntdfzj",
  ),
  type: described(evmWalletType.optional(), "Only wallets of this type.", "Purchasing"),
};

/** Wallets to list: at most `limit`. */
export type WalletQuery = Partial<z.output<z.ZodObject<typeof walletFilters>>> & {
  limit: number;
  id?: string | undefined;
  cursorId?: string | undefined;
};

export const walletNote = described(
  textParameter(250).nullable(),
  "Note about the wallet. Null: none.",
  "Buyer",
);

export const walletId = described(textParameter(), "Id of the wallet.", EXAMPLE_WALLET_ID);

const nativeOrToken = z.union([z.literal("native"), evmAddress], {
  error: "must be native or a token's address",
});
const thresholdText = "Minor units; less than this is low.";

const ruleState = named(
  "X402BalanceState",
  "What the last check of a wallet on an EVM chain found.",
  z.enum(["Unknown", "Healthy", "Low"]),
);
const EXAMPLE_RULE_ID = "01m80ye3b5d7f9h1k3m6p8r0t2";
const enabledText = "Whether the rule is checked.";

export const balanceRule = named(
  "X402BalanceRule",
  "A rule that watches an EVM wallet's balance.",
  z.object({
    id: idField("the rule", EXAMPLE_RULE_ID),
    ...walletReference,
    asset: textField(assetText, "native"),
    threshold: textField(thresholdText, "50000000"),
    enabled: described(z.boolean(), enabledText, true),
    state: described(ruleState, "What the last check found.", "Healthy"),
    balance: nullableText("Balance at the last check, in minor units. Null: none.", "60000000"),
    checkedAt: nullableTimestampField(
      "When it was last checked; null before.",
      "2026-11-22T06:17:26.922Z",
    ),
    createdAt: timestampField("Time of creation."),
    updatedAt: timestampField("Time of the last change."),
  }),
);

/** `data` of X402_WALLET_LOW_BALANCE. */
export const lowBalance = named(
  "X402WalletLowBalance",
  "A balance that fell below its threshold.",
  z.object({
    ...walletReference,
    walletNote: described(z.string().nullable(), "The wallet's note. Null: none.", "shop"),
    asset: textField(assetText, "native"),
    threshold: textField("The threshold, in minor units.", "50000000"),
    balance: textField("What it holds, in minor units.", "49000000"),
  }),
);

/** The fields of a new rule. */
export const balanceRuleFields = {
  evmWalletId: described(textParameter(), "Id of the wallet.", EXAMPLE_WALLET_ID),
  caip2Network: described(caip2.optional(), "Chain of the wallet, as a check."),
  asset: described(nativeOrToken.default("native"), assetText, "native"),
  threshold: described(tokenAmount(), thresholdText, "50000000"),
  enabled: described(
    z.boolean().optional(),
    `${enabledText} Omitted: a new rule is, and another one stays as it is.`,
    true,
  ),
};

export type BalanceRuleBody = z.output<z.ZodObject<typeof balanceRuleFields>>;

export const ruleId = described(textParameter(), "Id of the rule.", EXAMPLE_RULE_ID);

export const balanceRuleChange = z.strictObject({
  id: ruleId,
  threshold: described(tokenAmount().optional(), thresholdText, "50000000"),
  enabled: described(z.boolean().optional(), enabledText, true),
});

export const balanceRuleQuery = z.object({
  ...pageParameters,
  evmWalletId: optionalTextParameter(
    "Only rules about the wallet with this id.",
    EXAMPLE_WALLET_ID,
  ),
  state: described(ruleState.optional(), "Only rules in this state.", "Low"),
  enabled: described(booleanFilter(), "Only enabled rules (`true`), or only others."),
});

export type BalanceRuleQuery = Partial<z.output<typeof balanceRuleQuery>> & { limit: number };
