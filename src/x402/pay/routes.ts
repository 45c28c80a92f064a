import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { described } from "../../http/openapi/fields.ts";
import { ADMIN_RULES, OWNER_RULES } from "../model/endpoint-rules.ts";
import { listBudgets, saveBudget } from "./budgets.ts";
import { pay } from "./pay.ts";
import { budgetBody, budgetQuery, budgetRecord, payBody, signedPayment } from "./schemas.ts";

/** The operation that signs a payment. */
export const PAY_ENDPOINT = {
  ...OWNER_RULES,
  method: "post",
  operationId: "payX402Resource",
  path: "/x402/pay",
  names: { evmWalletId: "budget", paymentRequired: "budget" },
  summary: "Signs a payment for a resource, within the key's budget",
  description:
    "The request needs an Idempotency-Key or a `paymentIdentifier`. A repeated request returns the same signature. " +
    "The service signs the first terms of `accepts` that the wallet can sign for and a budget covers, those of `exact` first. " +
    "Of the scheme `upto`, the budget is debited the maximum. The rest returns once the charge is final on the chain. " +
    "The wallet's owner and Admins need no budget for a token, " +
    "but an existing budget limits them. The service refuses a payment of more than 16 KiB, which would " +
    "not fit into a header. `xPaymentHeader` is the value for the header PAYMENT-SIGNATURE. The " +
    "service does not fetch the resource.",
  body: payBody,
  idempotent: true,
  data: signedPayment,
  errors: {
    402: "The budget, the wallet or its approval of Permit2 does not cover the payment.",
    404: "There is no such wallet, or no budget for it.",
    409: "The paymentIdentifier was used for another payment.",
  },
} as const;

/** Routes for payments to other resources, and for budgets. */
export function registerPayRoutes(router: Router): void {
  serve(router, PAY_ENDPOINT, (c, { body }) => pay(c, body, Date.now()));

  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "get",
      operationId: "listX402Budgets",
      isConditional: true,
      path: "/x402/budgets",
      summary: "Lists budgets, newest first",
      query: budgetQuery,
      data: z.object({ Budgets: described(z.array(budgetRecord), "The budgets.") }),
    },
    async (c, { query }) => ({ Budgets: await listBudgets(c, query) }),
  );

  serve(
    router,
    {
      ...ADMIN_RULES,
      method: "post",
      operationId: "saveX402Budget",
      path: "/x402/budgets",
      summary: "Sets what a key may still pay from a wallet in a token",
      description: "The call does not change `spentAmount`.",
      body: budgetBody,
      idempotent: true,
      data: budgetRecord,
      errors: {
        404: "There is no such key or wallet.",
      },
    },
    (c, { body }) => saveBudget(c, body, Date.now()),
  );
}
