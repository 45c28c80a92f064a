/** Bodies, parameters and responses of payments to other resources, and of budgets. */
import * as z from "zod";
import { described, idField, named, textField, timestampField } from "../../http/openapi/fields.ts";
import {
  optionalTextParameter,
  pageParameters,
  textParameter,
} from "../../http/openapi/parameters.ts";
import { paymentIdentifier } from "../attempts/payment-identity.ts";
import {
  addressResponse,
  amountResponse,
  attemptRecord,
  caip2,
  EXAMPLE_ASSET,
  EXAMPLE_PAYER,
  EXAMPLE_RESOURCE_URL,
  EXAMPLE_WALLET_ID,
  evmAddress,
  MAX_URL_LENGTH,
  paymentRequirements,
  paymentScheme,
  tokenAmount,
} from "../model/schemas.ts";

const attempt = attemptRecord.shape;
const EXAMPLE_API_KEY_ID = "01m80ydzq23ssn602zk7bexfp7";

export const payBody = z.object({
  evmWalletId: optionalTextParameter(
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

export type PayBody = z.output<typeof payBody>;

export const signedPayment = z.object({
  attemptId: attempt.id,
  payer: addressResponse("Address of the payer.", EXAMPLE_PAYER),
  scheme: described(paymentScheme, "Scheme of the payment.", "exact"),
  caip2Network: caip2,
  asset: attempt.asset,
  amount: amountResponse("Amount of the payment; of `upto` the most that it may cost"),
  payTo: attempt.payTo,
  xPaymentHeader: textField("Value for the header PAYMENT-SIGNATURE.", "eyJ4NDAyVmVyc2lvbiI6Mn0="),
  paymentPayload: described(z.looseObject({}), "The payment as JSON.", { x402Version: 2 }),
  paymentPayloadHash: attempt.paymentPayloadHash,
  paymentIdentifier: attempt.paymentIdentifier,
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
    asset: attempt.asset,
    remainingAmount: amountResponse("Amount that may still be paid", "980000"),
    spentAmount: amountResponse("Amount paid", "20000"),
    isEnabled: described(z.boolean(), "Whether the budget is enabled.", true),
    createdById: idField("the API key that saved the budget first", "env-admin"),
    createdAt: timestampField("Time of creation."),
    updatedAt: timestampField("Time of the last change."),
  }),
);

export const budgetBody = z.strictObject({
  apiKeyId: described(textParameter(), "Id of the API key.", EXAMPLE_API_KEY_ID),
  evmWalletId: described(textParameter(), "Id of the wallet.", EXAMPLE_WALLET_ID),
  caip2Network: described(caip2.optional(), "EVM chain of the wallet, as a check.", "eip155:8453"),
  asset: described(evmAddress, "Address of the token.", EXAMPLE_ASSET),
  remainingAmount: described(
    tokenAmount(0n),
    "Amount that may still be paid, in minor units.",
    "1000000",
  ),
  isEnabled: described(z.boolean().default(true), "Whether the budget is enabled.", true),
});

export const budgetQuery = z.object({
  ...pageParameters,
  apiKeyId: optionalTextParameter("Only budgets of the API key with this id.", EXAMPLE_API_KEY_ID),
});
