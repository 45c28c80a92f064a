import * as z from "zod";
import { openDb } from "../../db/client.ts";
import { requireNetwork } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { type Router, serve } from "../../http/endpoint.ts";
import { described, textField } from "../../http/openapi/fields.ts";
import { PAYMENT_IDENTIFIER_EXTENSION } from "../attempts/payment-identity.ts";
import { EIP2612_EXTENSION } from "../evm/eip2612.ts";
import { SETTLE_ERRORS, VERIFY_ERRORS } from "../model/endpoint-rules.ts";
import type { PaymentReply, SettleOrder } from "../model/messages.ts";
import { EXAMPLE_PAYER } from "../model/schemas.ts";
import { isVersion1, toNetworkName, toVersion1Reason } from "../model/version-1.ts";
import type { NetworkRecord } from "../networks/network-record.ts";
import { listNetworks } from "../networks/save-network.ts";
import { listFacilitators, NoSettlementNetworkError } from "../networks/settlement-network.ts";
import { listUptoChains } from "../networks/upto-networks.ts";
import { verifyOrder } from "../verify/verify-order.ts";
import { BAZAAR_EXTENSION } from "./discovery-entry.ts";
import {
  type FacilitatorBody,
  facilitatorBody,
  type MalformedRequest,
  readFacilitatorBody,
} from "./facilitator-body.ts";
import { recordReply } from "./record-reply.ts";
import { createOrder, SETTLE_DEADLINE_MS, settleOrder } from "./settle-order.ts";

const networkText = "EVM chain, as a CAIP-2 id. In version 1, its name there, such as `base`.";
const reasonText = "Reason code of x402. Omitted without a failure.";
const messageText = "Explanation of the reason.";
const payer = described(
  z.string().optional(),
  "Address of the payer. Omitted when unknown.",
  EXAMPLE_PAYER,
);

const facilitatorVerifyResponse = z.object({
  isValid: described(z.boolean(), "Whether the payment would settle.", true),
  invalidReason: described(z.string().optional(), reasonText, "insufficient_funds"),
  invalidMessage: described(z.string().optional(), messageText, "The payer holds too little"),
  payer,
});

const facilitatorSettleResponse = z.object({
  success: described(z.boolean(), "Whether the payer paid.", true),
  errorReason: described(z.string().optional(), reasonText, "settlement_pending"),
  errorMessage: described(
    z.string().optional(),
    messageText,
    "The transaction is not in a block yet",
  ),
  payer,
  transaction: textField(
    "Transaction hash. Empty: no transaction.",
    "0x56bd51156cc41b5ab4c2a750d53f6e6914ae9c60baa416ea2688a351ec0ee95c",
  ),
  network: textField(networkText, "eip155:8453"),
  amount: described(z.string().optional(), "Amount paid, in minor units.", "10000"),
});

const supportedResponse = z.object({
  kinds: described(
    z.array(
      z.object({
        x402Version: described(z.int(), "Version of x402.", 2),
        scheme: textField("Scheme of the payment.", "exact"),
        network: textField(networkText, "eip155:8453"),
        extra: described(
          z
            .object({
              facilitatorAddress: textField("Address that the payer must name.", EXAMPLE_PAYER),
            })
            .optional(),
          "Of the scheme `upto`: what the resource server adds to its terms. Omitted for `exact`.",
        ),
      }),
    ),
    "Kinds of payment that the service settles.",
  ),
  extensions: described(
    z.array(textField("Key of an extension.", PAYMENT_IDENTIFIER_EXTENSION)),
    "Extensions of x402 that the service has a part in.",
  ),
  signers: described(
    z.record(z.string(), z.array(textField("An address.", EXAMPLE_PAYER))),
    "Addresses of the facilitator wallets, by networks.",
    { "eip155:*": [EXAMPLE_PAYER] },
  ),
});

/** The interface of an x402 facilitator, for any resource server (x402 v1; x402 v2, specification §7). */
export function registerFacilitatorRoutes(router: Router): void {
  serve(
    router,
    {
      method: "get",
      operationId: "listX402FacilitatorKinds",
      path: "/x402/facilitator/supported",
      access: "+PAY",
      scope: "network",
      tag: "x402 facilitator",
      summary: "Lists the kinds of payment that the service settles",
      isUnwrapped: true,
      data: supportedResponse,
    },
    async (c) => {
      const { networkLimit } = c.var.caller;
      const networks = (await listNetworks(c.env, c.var.deadline)).filter(
        ({ isEnabled, canSettle, caip2Id }) =>
          isEnabled && canSettle && (networkLimit?.includes(caip2Id) ?? true),
      );
      const core = openDb(c.env, undefined, { deadline: c.var.deadline });
      const chains = new Set(networks.map(({ caip2Id }) => caip2Id));
      const facilitators = (await listFacilitators(core, null)).filter(({ caip2Id }) =>
        chains.has(caip2Id),
      );
      const uptoChains = await listUptoChains(c.env, core, facilitators, c.var.deadline);
      return {
        kinds: networks.flatMap(({ caip2Id: network }) => {
          const name = toNetworkName(network);
          const scheme = "exact";
          const wallets = facilitators.filter(({ caip2Id }) => caip2Id === network);
          const extra = uptoChains.has(network) ? toUptoExtra(wallets) : null;
          return [
            { x402Version: 2, scheme, network },
            ...(name === null ? [] : [{ x402Version: 1, scheme, network: name }]),
            ...(extra === null ? [] : [{ x402Version: 2, scheme: "upto", network, extra }]),
          ];
        }),
        extensions: [
          PAYMENT_IDENTIFIER_EXTENSION,
          BAZAAR_EXTENSION,
          ...(networks.some(isSponsoring) ? [EIP2612_EXTENSION] : []),
        ],
        signers: { "eip155:*": [...new Set(facilitators.map(({ address }) => address))] },
      };
    },
  );

  serve(
    router,
    {
      method: "post",
      operationId: "verifyAsX402Facilitator",
      path: "/x402/facilitator/verify",
      access: "+PAY",
      scope: "owner",
      names: { paymentPayload: "proved", paymentRequirements: "terms" },
      tag: "x402 facilitator",
      summary: "Verifies a payment without settling it",
      description:
        "`GET /x402/payments` then lists an `InboundVerify` attempt, unless the body is no payment or the network cannot settle. " +
        "Of the scheme `upto`, `paymentRequirements.amount` is the maximum.",
      isUnwrapped: true,
      body: facilitatorBody,
      data: facilitatorVerifyResponse,
      errors: VERIFY_ERRORS,
    },
    async (c, { body }) => {
      setExtensionResponses(c, body);
      const { invalidReason, ...answer } = await verifyAsFacilitator(c, body, Date.now());
      const toReason = isVersion1(body.paymentPayload) ? toVersion1Reason : String;
      return { ...answer, ...(invalidReason && { invalidReason: toReason(invalidReason) }) };
    },
  );

  serve(
    router,
    {
      method: "post",
      operationId: "settleAsX402Facilitator",
      mayAskToRetry: true,
      path: "/x402/facilitator/settle",
      access: "+PAY",
      scope: "owner",
      names: { paymentPayload: "proved", paymentRequirements: "terms" },
      tag: "x402 facilitator",
      summary: "Settles a payment",
      description:
        "Of the scheme `upto`, `paymentRequirements.amount` is the charge. " +
        "The endpoint reports success once per payment. A repeat returns `duplicate_settlement` with the " +
        "hash and records a `Replayed` attempt, so that one payment never pays for two answers " +
        "of a resource server. If no block includes the transaction in time, the answer is `settlement_pending` with the transaction hash and Retry-After.",
      isUnwrapped: true,
      body: facilitatorBody,
      data: facilitatorSettleResponse,
      errors: SETTLE_ERRORS,
      deadlineMs: SETTLE_DEADLINE_MS,
    },
    async (c, { body }) => {
      setExtensionResponses(c, body);
      const answer = await settleAsFacilitator(c, body, Date.now());
      if (!isVersion1(body.paymentPayload)) return answer;
      const { errorReason, network } = answer;
      return {
        ...answer,
        network: toNetworkName(network) ?? network,
        ...(errorReason && { errorReason: toVersion1Reason(errorReason) }),
      };
    },
  );
}

/** Only wallets of this service use permits. */
function isSponsoring({ gasSponsoring, facilitatorUrl }: NetworkRecord): boolean {
  return gasSponsoring !== null && facilitatorUrl === null;
}

const extendedBody = z.object({
  paymentPayload: z.object({ extensions: z.object({ [BAZAAR_EXTENSION]: z.unknown() }) }),
});

/** Says that a payment's entry for the catalog is not taken: its payer has written it. */
function setExtensionResponses(c: AppContext, body: FacilitatorBody): void {
  if (extendedBody.safeParse(body).data?.paymentPayload.extensions[BAZAAR_EXTENSION] === undefined)
    return;
  const rejectedReason = "the catalog has only what owners of resources register";
  const responses = { [BAZAAR_EXTENSION]: { status: "rejected", rejectedReason } };
  c.header("extension-responses", Buffer.from(JSON.stringify(responses)).toString("base64"));
}

/** Any of the wallets, so that they get equal shares: a payment that names one is settled by no other. */
function toUptoExtra(wallets: readonly { address: string }[]) {
  const wallet = wallets[Math.floor(Math.random() * wallets.length)];
  return wallet ? { facilitatorAddress: wallet.address } : null;
}

async function verifyAsFacilitator(
  c: AppContext,
  body: FacilitatorBody,
  now: number,
): Promise<z.infer<typeof facilitatorVerifyResponse>> {
  const order = await createFacilitatorOrder(c, body, "verify", now);
  if ("reason" in order) return toInvalidResponse(order);
  const verification = await verifyOrder(c, order, now).catch((error: unknown) => {
    if (error instanceof NoSettlementNetworkError) return toNetworkError(order, error.message);
    throw error;
  });
  if ("reason" in verification) return toInvalidResponse(verification);
  const { isValid, payer, invalidReason, invalidMessage } = verification;
  return {
    isValid,
    ...(payer !== null && { payer }),
    ...(invalidReason !== null && { invalidReason }),
    ...(invalidMessage !== null && { invalidMessage }),
  };
}

function toInvalidResponse({ reason, message }: MalformedRequest) {
  return { isValid: false, invalidReason: reason, invalidMessage: message };
}

async function settleAsFacilitator(
  c: AppContext,
  body: FacilitatorBody,
  now: number,
): Promise<z.infer<typeof facilitatorSettleResponse>> {
  const order = await createFacilitatorOrder(c, body, "settle", now);
  if ("reason" in order) return toFailedResponse(order);
  const reply = await settleOrder(c, order, now);
  if (reply.kind === "refused" && reply.status === 404)
    return toFailedResponse(toNetworkError(order, reply.message));
  const { payment } = await recordReply(c, order, reply, now);
  return toSettleResponse(payment);
}

function toFailedResponse({
  reason,
  message,
  network,
}: MalformedRequest): z.infer<typeof facilitatorSettleResponse> {
  return { success: false, errorReason: reason, errorMessage: message, transaction: "", network };
}

function toNetworkError(order: SettleOrder, message: string): MalformedRequest {
  return { reason: "invalid_network", message, network: order.requirements.network };
}

function toSettleResponse(payment: PaymentReply): z.infer<typeof facilitatorSettleResponse> {
  const { transaction, payer, network, amount, first, kind } = payment;
  const isDuplicate = kind === "settled" && !first;
  const errorReason = isDuplicate ? "duplicate_settlement" : payment.errorReason;
  const errorMessage = isDuplicate
    ? `The payment was settled by the attempt ${payment.attemptId}, which already reported success`
    : payment.errorMessage;
  return {
    success: kind === "settled" && first,
    transaction,
    network,
    amount,
    ...(payer !== null && { payer }),
    ...(errorReason !== null && { errorReason }),
    ...(errorMessage !== null && { errorMessage }),
  };
}

async function createFacilitatorOrder(
  c: AppContext,
  body: FacilitatorBody,
  purpose: "verify" | "settle",
  now: number,
): Promise<SettleOrder | MalformedRequest> {
  const payment = readFacilitatorBody(body, purpose);
  if ("reason" in payment) return payment;
  requireNetwork(c.var.caller, payment.requirements.network, "paymentRequirements.network");
  return createOrder(c, payment, null, now);
}
