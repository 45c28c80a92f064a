import { createRouter, serve } from "../../http/endpoint.ts";
import { PROVIDER_FAILURES } from "../../http/openapi/fields.ts";
import { cancelPurchase } from "./cancel-purchase.ts";
import { requestPurchase } from "./request-purchase.ts";
import {
  cancellationBody,
  cancelledPurchase,
  newPurchaseRecord,
  PURCHASE_EXISTS_ERROR,
  purchaseBody,
  verifiedQuote,
} from "./schemas.ts";
import { verifyQuote } from "./verify-quote.ts";

const QUOTE_ERRORS = {
  ...PROVIDER_FAILURES,
  404: "No payment source with a purchasing wallet, no holder of the agent's token, or no metadata.",
  503: "The chain provider accepts no calls or shows no new blocks, or no source or wallet makes new purchases.",
};
const QUOTE_NAMES = {
  Amounts: "spendingLimit",
  sellerVkey: "compared",
  buyerReturnAddress: "returnAddress",
  sellerReturnAddress: "compared",
} as const;
const PURCHASE_EXISTS_DESCRIPTION =
  "The identifier already has a purchase. The body names its `id`; for the owner and Admins, `object` is the purchase.";

/** What a buyer asks of quotes. */
export function createPurchaseRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "post",
      operationId: "createPurchase",
      path: "/purchase",
      access: "+PAY",
      scope: "wallets",
      names: QUOTE_NAMES,
      tag: "Purchases",
      summary: "Accepts a quote: a purchasing wallet locks the price",
      description:
        "The service checks the whole quote, including the seller's signature. The response does not wait for the chain: the purchase changes state when its lock is in a block.",
      body: purchaseBody,
      idempotent: true,
      data: newPurchaseRecord,
      errors: { ...QUOTE_ERRORS, 409: PURCHASE_EXISTS_DESCRIPTION },
      beside: { 409: PURCHASE_EXISTS_ERROR },
    },
    (c, { body }) => requestPurchase(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "post",
      operationId: "verifyPurchase",
      path: "/purchase/verify",
      access: "+PAY",
      scope: "wallets",
      names: QUOTE_NAMES,
      tag: "Purchases",
      summary: "Checks a quote and computes its cost, without accepting the quote",
      description: "Accepts and refuses the same requests as `POST /purchase`.",
      body: purchaseBody,
      data: verifiedQuote,
      errors: {
        ...QUOTE_ERRORS,
        402: "The API key has no usage credits left.",
        409: PURCHASE_EXISTS_DESCRIPTION,
      },
      beside: { 409: PURCHASE_EXISTS_ERROR },
    },
    (c, { body }) => verifyQuote(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "post",
      operationId: "cancelPurchase",
      path: "/purchase/cancel",
      access: "+PAY",
      scope: "wallets",
      tag: "Purchases",
      summary: "Cancels a purchase before its funds are locked",
      description:
        "The service builds no lock, and refunds the key's charge once no lock can land. A lock that was already sent may still land: then the purchase continues. A repeated call changes nothing.",
      body: cancellationBody,
      data: cancelledPurchase,
      errors: {
        403: "The API key lacks the permission or the network, or another key owns the purchase.",
        404: "No purchase has this identifier.",
        409: "The funds are locked.",
      },
    },
    (c, { body }) => cancelPurchase(c, body, Date.now()),
  );

  return router;
}
