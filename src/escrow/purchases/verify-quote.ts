import { CREDIT_COSTS } from "../../api-keys/credits.ts";
import { chargeCall } from "../../api-keys/run-with-charge.ts";
import { openDb } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { sumFunds, toStoredFunds } from "../model/escrow-record.ts";
import { buildQuoteDatum } from "../terms/build-quote-datum.ts";
import { estimateCosts } from "../terms/estimate-costs.ts";
import { type AcceptedQuote, acceptQuote } from "./accept-quote.ts";
import { refuseExistingPurchase } from "./request-purchase.ts";
import type { PurchaseBody, PurchaseCostResponse, VerifiedQuoteResponse } from "./schemas.ts";

/**
 * Checks a quote as `POST /purchase` does, and says what it would cost.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 403, 404, 409, 503; ProviderError
 */
export async function verifyQuote(
  c: AppContext,
  body: PurchaseBody,
  now: number,
): Promise<VerifiedQuoteResponse> {
  const { network } = body;
  const database = openDb(c.env, network, { deadline: c.var.deadline });
  await refuseExistingPurchase(c, database, body);
  const quote = await acceptQuote(c, database, body, { operation: "purchase-verify", now });
  await chargeCall(c, "purchase-verify");
  const { source, holder, price } = quote;
  return {
    agentIdentifier: body.agentIdentifier,
    agentName: quote.agentName,
    pricingType: price.pricingType,
    PaidFunds: price.funds,
    SellerWallet: { walletVkey: holder.vkey, walletAddress: holder.address },
    PaymentSource: {
      id: source.id,
      network: source.network,
      paymentSourceType: source.type,
      smartContractAddress: source.contractAddress,
      policyId: source.policyId,
    },
    Cost: costOf(quote),
    Warnings: quote.warnings,
  };
}

/** What a purchase binds and costs, before network fees. */
function costOf({
  source,
  automatedWallets: driven,
  price,
  terms,
  ...quote
}: AcceptedQuote): PurchaseCostResponse {
  const [payer] = driven;
  const { signature, key } = quote.identifier;
  const funds = sumFunds(price.funds);
  // The size of what is locked depends on it.
  const buyer = {
    address: payer?.address ?? quote.holder.address,
    vkey: payer?.vkey ?? quote.holder.vkey,
    returnAddress: quote.buyerReturnAddress,
  };
  const datum = buildQuoteDatum(terms, { signature, key, sellerVkey: quote.holder.vkey }, buyer);
  const { minimumNativeLock } = estimateCosts(funds, datum, source.feeRatePermille);
  const native = funds.find(({ unit }) => unit === "")?.amount ?? 0n;
  const tokens = funds.filter(({ unit }) => unit !== "");
  return {
    Locked: [{ unit: "", amount: minimumNativeLock }, ...tokens].map(toStoredFunds),
    collateralReturnMinorUnit: String(minimumNativeLock - native),
    usageCredits: CREDIT_COSTS.purchase,
  };
}
