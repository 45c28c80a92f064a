import { createRouter, serve } from "../../http/endpoint.ts";
import { PROVIDER_FAILURES } from "../../http/openapi/fields.ts";
import { buildUnsignedLock } from "./build-unsigned-lock.ts";
import { requestQuote } from "./request-quote.ts";
import { quoteBody, quoteRecord, unsignedLock, unsignedLockBody } from "./schemas.ts";

/** What is asked of escrows: quotes. */
export function createQuoteRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "post",
      operationId: "createPayment",
      path: "/payment",
      access: "+PAY",
      scope: "wallets",
      names: { RequestedFunds: "terms", sellerReturnAddress: "returnAddress" },
      tag: "Payments",
      summary: "Quotes a job: signs its price and times for a buyer",
      description:
        "The seller's wallet signs; nothing happens on the chain. The record changes state when the buyer's service locks the funds.",
      body: quoteBody,
      idempotent: true,
      data: quoteRecord,
      errors: {
        ...PROVIDER_FAILURES,
        402: "The API key has no usage credits left.",
        404: "No payment source, no holder of the agent's token, no metadata, or no managed selling wallet.",
        503: "The chain provider accepts no calls, or the source or the wallet begins no new escrows.",
      },
    },
    (c, { body }) => requestQuote(c, body, Date.now()),
  );

  serve(
    router,
    {
      method: "post",
      operationId: "createUnsignedLock",
      path: "/payment/x402",
      access: "+PAY",
      scope: "wallets",
      names: { buyerAddress: "ledgerData" },
      tag: "Payments",
      summary: "Builds the lock of a quote for an external wallet",
      description:
        "The wallet at `buyerAddress` must sign and send the transaction within half an hour, before `payByTime`. The service creates no purchase. The payment changes state when the lock is in a block.",
      body: unsignedLockBody,
      data: unsignedLock,
      errors: {
        ...PROVIDER_FAILURES,
        402: "The wallet holds too little.",
        404: "There is no such payment.",
        409: "The payment does not wait for a lock, or the time for a lock is over.",
        503: "The chain provider accepts no calls or shows no new blocks, or the source or the wallet begins no new escrows.",
      },
    },
    (c, { body }) => buildUnsignedLock(c, body, Date.now()),
  );

  return router;
}
