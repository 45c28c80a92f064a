import * as z from "zod";
import { type Router, serve } from "../../http/endpoint.ts";
import { ApiError } from "../../http/errors.ts";
import { described, idField, named, textField, timestampField } from "../../http/openapi/fields.ts";
import { pageParameters, textParameter } from "../../http/openapi/parameters.ts";
import { MAX_RESOURCE_BYTES } from "../attempts/attempt-row.ts";
import {
  addressResponse,
  attemptOutcome,
  attemptRecord,
  caip2,
  EXAMPLE_ASSET,
  EXAMPLE_ATTEMPT_ID,
  EXAMPLE_PAY_TO,
  EXAMPLE_PAYER,
  EXAMPLE_PAYLOAD_HASH,
  EXAMPLE_RESOURCE_URL,
  EXAMPLE_SOURCE_ID,
  EXAMPLE_TX_HASH,
  evmAddress,
  expectedOutcome,
  nullableText,
  paymentPayload,
  paymentRequirements,
  paymentScheme,
  settleResponse,
  strictRequirements,
  timeoutSeconds,
  tokenAddress,
  tokenAmount,
  txHash,
} from "../model/schemas.ts";
import { NoSettlementNetworkError } from "../networks/settlement-network.ts";
import { verifyOrder } from "../verify/verify-order.ts";
import { discoveryEntry } from "./discovery-entry.ts";
import { createPaymentSource, listPaymentSources } from "./payment-sources.ts";
import { reconcileAttempt } from "./reconcile-attempt.ts";
import { createSourceOrder, SETTLE_DEADLINE_MS, settleForSource } from "./settle-order.ts";

const verifyBody = z.object({
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

const settleBody = verifyBody.extend({
  amount: described(
    tokenAmount(0n).optional(),
    "Of the scheme `upto`: the charge, at most the amount that the buyer accepted. Default: that amount.",
    "2500",
  ),
});

const urlText = "URL of the resource.";
const noteText = "Note of the resource's owner.";
const discoveryText =
  "What the public catalog says of the resource. Null: the catalog does not have the resource.";

const sourceBody = z.object({
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
        name: described(textParameter().optional(), "Name of the domain.", "Test Dollar"),
        version: described(textParameter().optional(), "Version of the domain.", "1"),
      })
      .optional(),
    "EIP-712 domain of the token, when the token does not provide it.",
  ),
  registryRequestId: described(textParameter().nullable().default(null), noteText, "agent-7"),
  discovery: described(discoveryEntry.nullable().default(null), discoveryText),
});

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

const newSource = named(
  "X402NewPaymentSource",
  "A newly registered resource.",
  sourceRecord.extend({
    Warnings: described(
      z.array(textField("A warning.")),
      "Warnings about settings that are allowed but not advisable.",
      [],
    ),
  }),
);

const attemptFields = {
  attemptId: idField("the attempt", EXAMPLE_ATTEMPT_ID),
  paymentPayloadHash: textField("SHA-256 of the payment in canonical form.", EXAMPLE_PAYLOAD_HASH),
};

const paymentIdentifier = nullableText(
  "The payer's identifier of the payment. Null: none.",
  "order_2026_11_22_0001",
);

const settleResult = z.object({
  ...attemptFields,
  paymentIdentifier,
  replay: described(
    z.boolean(),
    "Whether another request settles or has settled the payment.",
    false,
  ),
  settleResponse: described(settleResponse, "Result of the settlement."),
});

const verifyResult = z.object({
  ...attemptFields,
  paymentIdentifier,
  isValid: described(z.boolean(), "Whether the payment would settle.", true),
  payer: nullableText("Address of the payer. Null: the payment names none.", EXAMPLE_PAYER),
  invalidReason: nullableText(
    "Reason code of x402. Null: the payment would settle.",
    "insufficient_funds",
  ),
  invalidMessage: nullableText(
    "Explanation of the reason. Null: the payment would settle.",
    "The payer holds too little",
  ),
});

const ERRORS = {
  404: "There is no such payment source, or its network cannot settle.",
  502: "The RPC node failed.",
  504: "The RPC node did not answer in time.",
};

const reconcileBody = z.object({
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

export const RECONCILE_ERRORS = {
  404: "There is no such attempt.",
  409: "The attempt has an outcome, or the chain shows none, or another one than expected.",
  502: ERRORS[502],
  504: ERRORS[504],
};

/** Settling, verifying, their records, and the registered resources. */
export function registerPaymentRoutes(router: Router): void {
  router.events.push(
    { kind: "X402_PAYMENT_SETTLED", summary: "A payment was settled", data: attemptOutcome },
    { kind: "X402_PAYMENT_FAILED", summary: "A payment was not settled", data: attemptOutcome },
  );
  serve(
    router,
    {
      method: "post",
      operationId: "settleX402Payment",
      mayAskToRetry: true,
      path: "/x402/settle",
      access: "+PAY",
      scope: "owner",
      names: { amount: "terms", paymentPayload: "proved", paymentRequirements: "terms" },
      tag: "x402",
      summary: "Settles a buyer's payment on the chain for a registered resource",
      description:
        "The endpoint is idempotent per payment payload. A repeated payload returns the first settlement and `replay: true`. " +
        "If no block includes the transaction in time, the answer is `settlement_pending` with the transaction hash and Retry-After.",
      body: settleBody,
      data: settleResult,
      errors: {
        ...ERRORS,
        402: "The API key has no usage credits left.",
        409: "The authorization belongs to another attempt. The message names the attempt.",
      },
      deadlineMs: SETTLE_DEADLINE_MS,
    },
    (c, { body }) => settleForSource(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "post",
      operationId: "verifyX402Payment",
      path: "/x402/verify",
      access: "+PAY",
      scope: "owner",
      names: { paymentPayload: "proved", paymentRequirements: "terms" },
      tag: "x402",
      summary: "Verifies a buyer's payment without settling it",
      body: verifyBody,
      data: verifyResult,
      errors: { ...ERRORS, 429: "Too many calls, or too many open settlements; see Retry-After." },
    },
    async (c, { body }) => {
      const now = Date.now();
      const order = await createSourceOrder(c, body, now);
      const verification = await verifyOrder(c, order, now).catch((error: unknown) => {
        throw error instanceof NoSettlementNetworkError ? new ApiError(404, error.message) : error;
      });
      const { attemptId, payloadHash: paymentPayloadHash, paymentIdentifier } = order;
      return { attemptId, paymentPayloadHash, paymentIdentifier, ...verification };
    },
  );

  serve(
    router,
    {
      method: "post",
      operationId: "reconcileX402Payment",
      path: "/x402/payments/reconcile",
      access: "Admin",
      scope: "admin",
      tag: "x402",
      summary: "Asks the chain for the outcome of a settlement now, and records it",
      description:
        "The service does so by itself, too. The outcome is always that of the chain: `Settled` needs the agreed transfer by the payment's authorization, and `Failed` an authorization that is over, or was used otherwise.",
      body: reconcileBody,
      data: attemptRecord,
      errors: RECONCILE_ERRORS,
      deadlineMs: SETTLE_DEADLINE_MS,
    },
    (c, { body }) => reconcileAttempt(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "post",
      operationId: "createX402PaymentSource",
      path: "/x402/payment-sources",
      access: "+PAY",
      scope: "owner",
      names: { amount: "terms", payTo: "terms" },
      tag: "x402",
      summary: "Registers a paid resource",
      description:
        "`requirements` is what a buyer must accept. `Warnings` says when the token's " +
        "EIP-712 domain is not the one of `extra`: payments by EIP-3009 would fail.",
      body: sourceBody,
      idempotent: true,
      data: newSource,
      errors: {
        404: "There is no such enabled network.",
        502: ERRORS[502],
        504: ERRORS[504],
      },
    },
    (c, { body }) => createPaymentSource(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "get",
      operationId: "listX402PaymentSources",
      isConditional: true,
      path: "/x402/payment-sources",
      access: "+PAY",
      scope: "owner",
      tag: "x402",
      summary: "Lists registered resources, newest first",
      description: "A key that is no Admin sees the resources that it registered.",
      query: z.object(pageParameters),
      data: z.object({ PaymentSources: described(z.array(sourceRecord), "The resources.") }),
    },
    async (c, { query }) => ({ PaymentSources: await listPaymentSources(c, query) }),
  );
}
