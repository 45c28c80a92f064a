import * as z from "zod";
import { type Router, serve } from "../http/endpoint.ts";
import { toIsoTime } from "../http/envelope.ts";
import { described, textField, timestampField } from "../http/openapi/fields.ts";
import { booleanFilter, optionalTextParameter, textParameter } from "../http/openapi/parameters.ts";
import { ADMIN_RULES } from "../x402/model/endpoint-rules.ts";
import { EXAMPLE_WALLET_ID, tokenAmount } from "../x402/model/schemas.ts";
import {
  changeBalanceRule,
  deleteBalanceRule,
  listBalanceRules,
  saveBalanceRule,
} from "../x402/wallets/low-balance.ts";
import { balanceRule, balanceRuleFields } from "../x402/wallets/schemas.ts";

type Rule = z.output<typeof balanceRule>;

const SHARED = { ...ADMIN_RULES, path: "/x402/low-balance" } as const;
const MAX_RULES = 1_000;
const ruleId = described(textParameter(), "Id of the rule.", "01m80ye3b5d7f9h1k3m6p8r0t2");
const thresholdAmount = described(
  tokenAmount(),
  "Another name of `threshold`. Less is low.",
  "50000000",
);
const errors = { 404: "There is no such rule or wallet." };

const externalRule = balanceRule.extend({
  evmWalletAddress: balanceRule.shape.address,
  thresholdAmount: balanceRule.shape.threshold,
  status: balanceRule.shape.state,
  lastKnownAmount: balanceRule.shape.balance,
  lastCheckedAt: balanceRule.shape.checkedAt,
  lastAlertedAt: described(z.null(), "Always null: the event has the time of an alert.", null),
});

const toExternalRule = (rule: Rule) => ({
  ...rule,
  evmWalletAddress: rule.address,
  thresholdAmount: rule.threshold,
  status: rule.state,
  lastKnownAmount: rule.balance,
  lastCheckedAt: rule.checkedAt,
  lastAlertedAt: null,
});

/** `/x402/low-balance` with the names that clients of other services have, beside ours. */
export function registerX402BalanceRuleRoutes(router: Router): void {
  serve(
    router,
    {
      ...SHARED,
      method: "get",
      operationId: "listX402BalanceRules",
      isConditional: true,
      summary: "Lists the rules that watch wallet balances, newest first, without pages",
      query: z.object({
        evmWalletId: optionalTextParameter("Only of this wallet.", EXAMPLE_WALLET_ID),
        onlyLow: described(booleanFilter(), "Only rules that are low."),
        includeDisabled: described(booleanFilter(), "Disabled rules too."),
      }),
      data: z.object({ Rules: described(z.array(externalRule), "The rules, at most 1,000.") }),
    },
    async (c, { query: { evmWalletId, onlyLow, includeDisabled } }) => {
      const rules = await listBalanceRules(c, {
        limit: MAX_RULES,
        evmWalletId,
        state: onlyLow ? "Low" : undefined,
        enabled: includeDisabled ? undefined : true,
      });
      return { Rules: rules.map(toExternalRule) };
    },
  );

  serve(
    router,
    {
      ...SHARED,
      method: "post",
      operationId: "saveX402BalanceRule",
      summary: "Creates or changes the rule for a wallet and an asset",
      body: z
        .strictObject({
          ...balanceRuleFields,
          threshold: balanceRuleFields.threshold.optional(),
          thresholdAmount: thresholdAmount.optional(),
        })
        .refine(({ threshold, thresholdAmount: other }) => (threshold ?? other) !== undefined, {
          path: ["thresholdAmount"],
          message: "is required",
        }),
      idempotent: true,
      data: externalRule,
      errors,
    },
    async (c, { body: { thresholdAmount: other = "", threshold = other, ...body } }) =>
      toExternalRule(await saveBalanceRule(c, { ...body, threshold }, Date.now())),
  );

  serve(
    router,
    {
      ...SHARED,
      method: "patch",
      operationId: "updateX402BalanceRule",
      summary: "Changes a rule",
      body: z.strictObject({
        ruleId,
        thresholdAmount: thresholdAmount.optional(),
        enabled: balanceRuleFields.enabled,
      }),
      data: externalRule,
      errors,
    },
    async (c, { body: { ruleId: id, thresholdAmount: threshold, enabled } }) =>
      toExternalRule(await changeBalanceRule(c, { id, threshold, enabled }, Date.now())),
  );

  serve(
    router,
    {
      ...SHARED,
      method: "delete",
      operationId: "deleteX402BalanceRule",
      summary: "Deletes a rule",
      body: z.strictObject({ ruleId }),
      data: z.object({
        ruleId: textField("Id of the rule.", "01m80ye3b5d7f9h1k3m6p8r0t2"),
        deletedAt: timestampField("Time of the deletion."),
      }),
      errors,
    },
    async (c, { body: { ruleId } }) => {
      const now = Date.now();
      await deleteBalanceRule(c, ruleId, now);
      return { ruleId, deletedAt: toIsoTime(now) };
    },
  );
}
