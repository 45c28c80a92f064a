import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { described, idField, named, textField, timestampField } from "../../http/openapi/fields.ts";
import { pageParameters, textParameter } from "../../http/openapi/parameters.ts";
import { paymentIdentifier } from "../attempts/payment-identity.ts";
import {
  addressResponse,
  amountResponse,
  caip2,
  EXAMPLE_ASSET,
  EXAMPLE_ATTEMPT_ID,
  EXAMPLE_PAY_TO,
  EXAMPLE_PAYER,
  EXAMPLE_PAYLOAD_HASH,
  EXAMPLE_RESOURCE_URL,
  EXAMPLE_WALLET_ID,
  evmAddress,
  MAX_URL_LENGTH,
  nullableText,
  paymentRequirements,
  paymentScheme,
  tokenAmount,
} from "../model/schemas.ts";
import { listBudgets, saveBudget } from "./budgets.ts";
import { pay } from "./pay.ts";

const EXAMPLE_API_KEY_ID = "01m80ydzq23ssn602zk7bexfp7";

const payBody = z.object({
  evmWalletId: described(
    textParameter().optional(),
    "Id of the wallet that pays. Default: a wallet for which the key has a budget that covers terms.",
    EXAMPLE_WALLET_ID,
  ),
  paymentRequired: described(
    z.object({
      x402Version: described(
        z
          .int()
          .refine((version) => version === 2, "must be 2")
          .meta({ wire: { type: "integer", const: 2 } }),
        "Version of x402.",
        2,
      ),
      resource: described(
        z.looseObject({
          url: described(
            textParameter(MAX_URL_LENGTH),
            "URL of the resource.",
            EXAMPLE_RESOURCE_URL,
          ),
        }),
        "The resource that the payment is for.",
      ),
      accepts: described(
        z.array(paymentRequirements).min(1).max(20),
        "The terms that the resource offers.",
      ),
      extensions: described(
        z.record(z.string(), z.unknown()).nullish(),
        "Extensions of x402 that the resource accepts.",
        { "payment-identifier": { info: { required: false } } },
      ),
    }),
    "The 402 response of the resource.",
  ),
  preferredNetwork: described(caip2.optional(), "Only terms on this EVM chain."),
  preferredAsset: described(evmAddress.optional(), "Only terms in this token.", EXAMPLE_ASSET),
  preferredScheme: described(
    paymentScheme.optional(),
    "Only terms of this scheme. Default: `upto` only if the wallet can pay none of `exact`.",
    "upto",
  ),
  paymentIdentifier: described(
    paymentIdentifier.optional(),
    "The payer's identifier of the payment.",
    "order_2026_11_22_0001",
  ),
});

const signedPayment = z.object({
  attemptId: idField("the attempt", EXAMPLE_ATTEMPT_ID),
  payer: addressResponse("Address of the payer.", EXAMPLE_PAYER),
  scheme: described(paymentScheme, "Scheme of the payment.", "exact"),
  caip2Network: caip2,
  asset: textField("Address of the token.", EXAMPLE_ASSET),
  amount: amountResponse("Amount of the payment; of `upto` the most that it may cost"),
  payTo: textField("Address of the payee.", EXAMPLE_PAY_TO),
  xPaymentHeader: textField("Value for the header PAYMENT-SIGNATURE.", "eyJ4NDAyVmVyc2lvbiI6Mn0="),
  paymentPayload: described(z.looseObject({}), "The payment as JSON.", { x402Version: 2 }),
  paymentPayloadHash: textField("SHA-256 of the payment in canonical form.", EXAMPLE_PAYLOAD_HASH),
  paymentIdentifier: nullableText(
    "The payer's identifier of the payment. Null: none.",
    "order_2026_11_22_0001",
  ),
});

export const budgetRecord = named(
  "X402Budget",
  "Spending limit of a key for a wallet and a token.",
  z.object({
    id: idField("the budget", "01m80ydzqd49s9f4q60c6csmg1"),
    apiKeyId: idField("the API key", EXAMPLE_API_KEY_ID),
    evmWalletId: idField("the wallet", EXAMPLE_WALLET_ID),
    evmWalletAddress: addressResponse("Address of the wallet.", EXAMPLE_PAYER),
    caip2Network: caip2,
    asset: textField("Address of the token.", EXAMPLE_ASSET),
    remainingAmount: amountResponse("Amount that may still be paid", "980000"),
    spentAmount: amountResponse("Amount paid", "20000"),
    isEnabled: described(z.boolean(), "Whether the budget is enabled.", true),
    createdById: idField("the API key that saved the budget first", "env-admin"),
    createdAt: timestampField("Time of creation."),
    updatedAt: timestampField("Time of the last change."),
  }),
);

/** The operation that signs a payment. */
export const PAY_ENDPOINT = {
  method: "post",
  operationId: "payX402Resource",
  path: "/x402/pay",
  access: "+PAY",
  scope: "owner",
  names: { evmWalletId: "budget", paymentRequired: "budget" },
  tag: "x402",
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
      method: "get",
      operationId: "listX402Budgets",
      isConditional: true,
      path: "/x402/budgets",
      access: "Admin",
      scope: "admin",
      tag: "x402",
      summary: "Lists budgets, newest first",
      query: z.object({
        ...pageParameters,
        apiKeyId: described(
          textParameter().optional(),
          "Only budgets of the API key with this id.",
          EXAMPLE_API_KEY_ID,
        ),
      }),
      data: z.object({ Budgets: described(z.array(budgetRecord), "The budgets.") }),
    },
    async (c, { query }) => ({ Budgets: await listBudgets(c, query) }),
  );

  serve(
    router,
    {
      method: "post",
      operationId: "saveX402Budget",
      path: "/x402/budgets",
      access: "Admin",
      scope: "admin",
      tag: "x402",
      summary: "Sets what a key may still pay from a wallet in a token",
      description: "The call does not change `spentAmount`.",
      body: z.strictObject({
        apiKeyId: described(textParameter(), "Id of the API key.", EXAMPLE_API_KEY_ID),
        evmWalletId: described(textParameter(), "Id of the wallet.", EXAMPLE_WALLET_ID),
        caip2Network: described(
          caip2.optional(),
          "EVM chain of the wallet, as a check.",
          "eip155:8453",
        ),
        asset: described(evmAddress, "Address of the token.", EXAMPLE_ASSET),
        remainingAmount: described(
          tokenAmount(0n),
          "Amount that may still be paid, in minor units.",
          "1000000",
        ),
        isEnabled: described(z.boolean().default(true), "Whether the budget is enabled.", true),
      }),
      idempotent: true,
      data: budgetRecord,
      errors: {
        404: "There is no such key or wallet.",
      },
    },
    (c, { body }) => saveBudget(c, body, Date.now()),
  );
}
