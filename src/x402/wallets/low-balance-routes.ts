import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { described } from "../../http/openapi/fields.ts";
import { ADMIN_RULES } from "../model/endpoint-rules.ts";
import {
  changeBalanceRule,
  deleteBalanceRule,
  listBalanceRules,
  saveBalanceRule,
} from "./low-balance.ts";
import {
  balanceRule,
  balanceRuleChange,
  balanceRuleFields,
  balanceRuleQuery,
  lowBalance,
  ruleId,
} from "./schemas.ts";

const SHARED = { ...ADMIN_RULES, path: "/x402/low-balance" } as const;
const UNKNOWN_RULE_ERRORS = { 404: "There is no such rule." };

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
      query: balanceRuleQuery,
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
      body: balanceRuleChange,
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
