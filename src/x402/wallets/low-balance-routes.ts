import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { described, idField, named, textField, timestampField } from "../../http/openapi/fields.ts";
import { booleanFilter, pageParameters, textParameter } from "../../http/openapi/parameters.ts";
import {
  addressResponse,
  caip2,
  EXAMPLE_PAYER,
  EXAMPLE_WALLET_ID,
  evmAddress,
  nullableText,
  tokenAmount,
} from "../model/schemas.ts";
import {
  changeBalanceRule,
  deleteBalanceRule,
  listBalanceRules,
  saveBalanceRule,
} from "./low-balance.ts";

const nativeOrToken = z.union([z.literal("native"), evmAddress], {
  error: "must be native or a token's address",
});
const assetText = "`native`, or the address of the token.";
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
    evmWalletId: idField("the wallet", EXAMPLE_WALLET_ID),
    caip2Network: caip2,
    address: addressResponse("Address of the wallet.", EXAMPLE_PAYER),
    asset: textField(assetText, "native"),
    threshold: textField(thresholdText, "50000000"),
    enabled: described(z.boolean(), enabledText, true),
    state: described(ruleState, "What the last check found.", "Healthy"),
    balance: nullableText("Balance at the last check, in minor units. Null: none.", "60000000"),
    checkedAt: described(
      timestampField("").nullable(),
      "When it was last checked; null before.",
      "2026-11-22T06:17:26.922Z",
    ),
    createdAt: timestampField("Time of creation."),
    updatedAt: timestampField("Time of the last change."),
  }),
);

/** `data` of X402_WALLET_LOW_BALANCE. */
const lowBalance = named(
  "X402WalletLowBalance",
  "A balance that fell below its threshold.",
  z.object({
    evmWalletId: idField("the wallet", EXAMPLE_WALLET_ID),
    caip2Network: caip2,
    address: addressResponse("Address of the wallet.", EXAMPLE_PAYER),
    walletNote: described(z.string().nullable(), "The wallet's note. Null: none.", "shop"),
    asset: textField(assetText, "native"),
    threshold: textField("The threshold, in minor units.", "50000000"),
    balance: textField("What it holds, in minor units.", "49000000"),
  }),
);

const SHARED = {
  path: "/x402/low-balance",
  access: "Admin",
  scope: "admin",
  tag: "x402",
} as const;
const ruleId = described(textParameter(), "Id of the rule.", EXAMPLE_RULE_ID);
const UNKNOWN_RULE_ERRORS = { 404: "There is no such rule." };

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

/** `/x402/low-balance`: the rules that watch balances of EVM wallets. */
export function registerBalanceRuleRoutes(router: Router): void {
  router.events.push({
    kind: "X402_WALLET_LOW_BALANCE",
    summary: "The balance of an EVM wallet fell below its threshold",
    data: lowBalance,
  });
  serve(
    router,
    {
      ...SHARED,
      method: "get",
      operationId: "listX402BalanceRules",
      isConditional: true,
      summary: "Lists the rules that watch wallet balances, newest first",
      query: z.object({
        ...pageParameters,
        evmWalletId: described(
          textParameter().optional(),
          "Only rules about the wallet with this id.",
          EXAMPLE_WALLET_ID,
        ),
        state: described(ruleState.optional(), "Only rules in this state.", "Low"),
        enabled: described(booleanFilter(), "Only enabled rules (`true`), or only others."),
      }),
      data: z.object({ Rules: described(z.array(balanceRule), "The rules.") }),
    },
    async (c, { query }) => ({ Rules: await listBalanceRules(c, query) }),
  );

  serve(
    router,
    {
      ...SHARED,
      method: "post",
      operationId: "saveX402BalanceRule",
      summary: "Creates or changes the rule for a wallet and an asset",
      description:
        "A balance that falls below the threshold causes one X402_WALLET_LOW_BALANCE event.",
      body: z.strictObject(balanceRuleFields),
      idempotent: true,
      data: balanceRule,
      errors: { 404: "There is no such wallet." },
    },
    (c, { body }) => saveBalanceRule(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...SHARED,
      method: "patch",
      operationId: "updateX402BalanceRule",
      summary: "Changes a rule",
      description: "The next check compares the balance with the new threshold.",
      body: z.strictObject({
        id: ruleId,
        threshold: described(tokenAmount().optional(), thresholdText, "50000000"),
        enabled: described(z.boolean().optional(), enabledText, true),
      }),
      data: balanceRule,
      errors: UNKNOWN_RULE_ERRORS,
    },
    (c, { body }) => changeBalanceRule(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...SHARED,
      method: "delete",
      operationId: "deleteX402BalanceRule",
      summary: "Deletes a rule, and returns it as it was",
      body: z.strictObject({ id: ruleId }),
      data: balanceRule,
      errors: UNKNOWN_RULE_ERRORS,
    },
    (c, { body }) => deleteBalanceRule(c, body.id, Date.now()),
  );
}
