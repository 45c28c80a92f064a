import { createRouter, serve } from "../../http/endpoint.ts";
import { cancelPurchase } from "./cancel-purchase.ts";
import { requestPurchase } from "./request-purchase.ts";
import {
  cancelBody,
  cancelledPurchase,
  newPurchaseRecord,
  PURCHASE_EXISTS,
  purchaseBody,
  verifiedQuote,
} from "./schemas.ts";
import { verifyQuote } from "./verify-quote.ts";

const PROVIDER_ERRORS = {
  404: "No payment source with a purchasing wallet, no holder of the agent's token, or no metadata.",
  502: "The chain provider failed.",
  503: "The chain provider takes no calls or stands still, or no source or wallet makes new purchases.",
  504: "The chain provider did not answer in time.",
};
const EXISTS =
  "The identifier has a purchase: its `id` stands beside the error, and for its owner and Admins the purchase as `object`.";

/** What a buyer asks of quotes. */
export function purchaseRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "post",
      operationId: "createPurchase",
      path: "/purchase",
      access: "+PAY",
      scope: "wallets",
      names: {
        Amounts: "spendingLimit",
        sellerVkey: "compared",
        buyerReturnAddress: "returnAddress",
        sellerReturnAddress: "compared",
      },
      tag: "Purchases",
      summary: "Accepts a quote: a purchasing wallet locks its price",
      description:
        "Every part of the quote is checked, the seller's signature too. The answer does not wait for the chain: the purchase moves once its lock is in a block.",
      body: purchaseBody,
      idempotent: true,
      data: newPurchaseRecord,
      errors: { ...PROVIDER_ERRORS, 409: EXISTS },
      beside: { 409: PURCHASE_EXISTS },
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
      names: {
        Amounts: "spendingLimit",
        sellerVkey: "compared",
        buyerReturnAddress: "returnAddress",
        sellerReturnAddress: "compared",
      },
      tag: "Purchases",
      summary: "Checks a quote without accepting it, and says what it would cost",
      description: "Takes what `POST /purchase` takes, and refuses what that refuses.",
      body: purchaseBody,
      data: verifiedQuote,
      errors: {
        ...PROVIDER_ERRORS,
        402: "The API key has no usage credits left.",
        409: EXISTS,
      },
      beside: { 409: PURCHASE_EXISTS },
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
      summary: "Gives a purchase up before its funds are locked",
      description:
        "The service builds no transaction for it, and refunds the key's charge once it is sure that nothing was locked. A transaction that is on its way may still land: then the purchase goes on. Cancelling again changes nothing.",
      body: cancelBody,
      data: cancelledPurchase,
      errors: {
        403: "The API key lacks the permission or the network, or the purchase is another key's.",
        404: "No purchase has this identifier.",
        409: "The funds are locked.",
      },
    },
    (c, { body }) => cancelPurchase(c, body, Date.now()),
  );

  return router;
}
