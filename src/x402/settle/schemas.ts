/** Bodies, parameters and responses of settlements, and of the resources that are paid for. */
import * as z from "zod";
import {
  described,
  idField,
  named,
  settingWarnings,
  textField,
  timestampField,
} from "../../http/openapi/fields.ts";
import { optionalTextParameter, textParameter } from "../../http/openapi/parameters.ts";
import { MAX_RESOURCE_BYTES } from "../attempts/attempt-row.ts";
import {
  addressResponse,
  amountResponse,
  attemptRecord,
  caip2,
  caip2Filter,
  EXAMPLE_ASSET,
  EXAMPLE_ATTEMPT_ID,
  EXAMPLE_PAY_TO,
  EXAMPLE_RESOURCE_URL,
  EXAMPLE_SOURCE_ID,
  EXAMPLE_TX_HASH,
  evmAddress,
  expectedOutcome,
  nullableText,
  paymentPayload,
  paymentRequirements,
  paymentScheme,
  strictRequirements,
  timeoutSeconds,
  tokenAddress,
  tokenAmount,
  txHash,
} from "../model/schemas.ts";
import { BAZAAR_EXTENSION, discoveryEntry } from "./discovery-entry.ts";

export const verifyBody = z.object({
  supportedPaymentSourceId: described(
    textParameter(),
    "Id of the registered resource.",
    EXAMPLE_SOURCE_ID,
  ),
  paymentPayload,
  paymentRequirements: described(
    named(
      "X402StatedRequirements",
      "Terms of one payment, for a resource without a fixed price.",
      strictRequirements,
    ).optional(),
    "Terms of the payment. Required for a resource without a fixed price, and ignored for others.",
  ),
});

/** A payment for a registered resource, whose terms are its price or stated with the payment. */
export const settleBody = verifyBody.extend({
  amount: described(
    tokenAmount(0n).optional(),
    "Of the scheme `upto`: the charge, at most the amount that the buyer accepted. Default: that amount.",
    "2500",
  ),
});

export type SourcePayment = z.output<typeof settleBody>;

const urlText = "URL of the resource.";
const noteText = "Note of the resource's owner.";
const discoveryText =
  "What the public catalog says of the resource. Null: the catalog does not have the resource.";

export const sourceBody = z.object({
  url: described(
    textParameter(MAX_RESOURCE_BYTES)
      .refine(
        (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
        "must be an http or https URL",
      )
      .meta({ format: "uri", pattern: "^[Hh][Tt][Tt][Pp][Ss]?://" })
      .nullable(),
    `${urlText} Null: any, so the URL of a payment is not compared.`,
    EXAMPLE_RESOURCE_URL,
  ),
  description: described(
    textParameter(500).nullable().default(null),
    "Description of the resource.",
    "Tomorrow's weather",
  ),
  scheme: described(
    paymentScheme.default("exact"),
    "Scheme of the payments. `upto`: the owner charges each payment at most `amount`.",
    "exact",
  ),
  caip2Network: caip2,
  asset: described(
    tokenAddress.optional(),
    "Address of the token; default: that of the network.",
    EXAMPLE_ASSET,
  ),
  amount: described(
    tokenAmount().nullable(),
    "Price of the resource, in minor units. Null: `paymentRequirements` of verify and settle state the price.",
    "10000",
  ),
  payTo: described(evmAddress, "Address of the payee.", EXAMPLE_PAY_TO),
  maxTimeoutSeconds: timeoutSeconds.default(300),
  extra: described(
    z
      .object({
        name: optionalTextParameter("Name of the domain.", "Test Dollar"),
        version: optionalTextParameter("Version of the domain.", "1"),
      })
      .optional(),
    "EIP-712 domain of the token, when the token does not provide it.",
  ),
  registryRequestId: described(textParameter().nullable().default(null), noteText, "agent-7"),
  discovery: described(discoveryEntry.nullable().default(null), discoveryText),
});

export type NewPaymentSource = z.output<typeof sourceBody>;

export const sourceRecord = named(
  "X402PaymentSource",
  "A paid resource.",
  z.object({
    id: idField("the resource", EXAMPLE_SOURCE_ID),
    supportedPaymentSourceId: textField("The same as `id`.", EXAMPLE_SOURCE_ID),
    url: nullableText(`${urlText} Null: any.`, EXAMPLE_RESOURCE_URL),
    description: nullableText("Description of the resource. Null: none.", "Tomorrow's weather"),
    registryRequestId: nullableText(noteText, "agent-7"),
    scheme: described(paymentScheme, "Scheme of the payments.", "exact"),
    requirements: described(
      paymentRequirements.nullable(),
      "What a buyer must accept. Null: `paymentRequirements` of each payment.",
    ),
    terms: described(
      z.object({
        caip2Network: caip2,
        asset: addressResponse("Address of the token.", EXAMPLE_ASSET),
        payTo: addressResponse("Address of the payee.", EXAMPLE_PAY_TO),
        amount: nullableText("Price, in minor units. Null: stated with each payment.", "10000"),
      }),
      "What is the same for all payments of the resource.",
    ),
    discovery: described(discoveryEntry.nullable(), discoveryText),
    createdById: idField("the API key that created it", "env-admin"),
    createdAt: timestampField("Time of creation."),
  }),
);

export const newSource = named(
  "X402NewPaymentSource",
  "A newly registered resource.",
  sourceRecord.extend({
    Warnings: settingWarnings,
  }),
);

const {
  id: attemptId,
  paymentPayloadHash,
  paymentIdentifier,
  payer,
  caip2Network,
} = attemptRecord.shape;
const paymentFields = { attemptId, paymentPayloadHash, paymentIdentifier };

const settleResponse = named(
  "X402SettleResponse",
  "Result of a settlement (x402 v2, specification §5).",
  z.object({
    success: described(z.boolean(), "Whether the payer paid.", true),
    payer,
    transaction: textField("Transaction hash. Empty: no transaction.", EXAMPLE_TX_HASH),
    network: caip2Network,
    amount: amountResponse("Amount paid"),
    errorReason: described(
      z.string().optional(),
      "Reason code of x402. Omitted without a failure.",
      "settlement_pending",
    ),
    errorMessage: described(
      z.string().optional(),
      "Explanation of the failure. Omitted without a failure.",
      "The transaction is not in a block yet",
    ),
  }),
);

export const settlePaymentResponse = z.object({
  ...paymentFields,
  replay: described(
    z.boolean(),
    "Whether another request settles or has settled the payment.",
    false,
  ),
  settleResponse: described(settleResponse, "Result of the settlement."),
});

export type SettlePaymentResponse = z.output<typeof settlePaymentResponse>;

export const verifyPaymentResponse = z.object({
  ...paymentFields,
  isValid: described(z.boolean(), "Whether the payment would settle.", true),
  payer,
  invalidReason: nullableText(
    "Reason code of x402. Null: the payment would settle.",
    "insufficient_funds",
  ),
  invalidMessage: nullableText(
    "Explanation of the reason. Null: the payment would settle.",
    "The payer holds too little",
  ),
});

export const reconcileBody = z.object({
  attemptId: described(textParameter(), "Id of the attempt.", EXAMPLE_ATTEMPT_ID),
  expected: described(
    expectedOutcome.optional(),
    "Outcome that the caller expects. If the chain shows another one, the answer is 409.",
    "Settled",
  ),
  txHash: described(
    txHash.optional(),
    "Transaction in which the caller expects the payment. If the chain shows another one, the answer is 409.",
    EXAMPLE_TX_HASH,
  ),
});

export type ReconcileRequest = z.output<typeof reconcileBody>;

/** Filters of the client of the x402 extension `bazaar`. */
export const catalogFilters = {
  type: described(
    textParameter(50).optional(),
    "Protocol of the resources. All of them have `http`.",
    "http",
  ),
  payTo: described(evmAddress.optional(), "Only resources of this payee.", EXAMPLE_PAY_TO),
  scheme: described(textParameter(50).optional(), "Only resources of this scheme.", "exact"),
  network: caip2Filter,
  extensions: described(
    textParameter(50).optional(),
    "Only resources that have the extension with this key.",
    BAZAAR_EXTENSION,
  ),
};

export type CatalogFilters = z.output<z.ZodObject<typeof catalogFilters>>;
