import type * as z from "zod";
import { throwIfOutOfCredits } from "../../api-keys/credits.ts";
import type { Funds } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import type { Remember } from "../../http/idempotency.ts";
import type { EscrowRecord } from "../record.ts";
import { NOTHING_WANTED } from "../wanted.ts";
import type { quoteRecord } from "./schemas.ts";
import type { SignedQuote } from "./sign.ts";
import { storedTimes } from "./times.ts";
import { type MadeRecord, makeRecord, newRecord } from "./write.ts";

export type ShownQuote = z.input<typeof quoteRecord>;

/**
 * Writes a quote as a payment record.
 *
 * @throws ApiError 402
 */
export function makeQuote(
  c: AppContext,
  database: Database,
  {
    quote,
    warnings,
    metadata,
    now,
  }: { quote: SignedQuote; warnings: string[]; metadata: string | null; now: number },
  remember: Remember,
): Promise<MadeRecord> {
  const { source, agentIdentifier, wallet } = quote;
  const more = { Estimate: shownEstimate(quote), Warnings: warnings };
  return makeRecord(
    c,
    database,
    {
      record: recordOf(quote, c.var.caller.id, now),
      metadata,
      more,
      operation: "payment",
      detail: { network: source.network, agentIdentifier, wallet: wallet.id },
      now,
    },
    remember,
  ).catch(throwIfOutOfCredits);
}

function recordOf(quote: SignedQuote, requestedById: string, now: number): EscrowRecord {
  const { source, wallet, holder, times, price, blockchainIdentifier } = quote;
  const terms: EscrowRecord["terms"] = {
    isRequested: true,
    agentIdentifier: quote.agentIdentifier,
    agentName: quote.agentName,
    pricingType: price.pricingType,
    inputHash: quote.inputHash,
    ...storedTimes(times),
    collateralReturn: null,
    buyer: null,
    buyerVkey: null,
    seller: holder.address,
    sellerVkey: holder.vkey,
    buyerReturnAddress: null,
    sellerReturnAddress: quote.sellerReturnAddress,
    funds: price.funds.map(({ unit, amount }) => ({ unit, amount })),
  };
  const asked = {
    side: "payment" as const,
    blockchainIdentifier,
    requestedById,
    terms,
    wanted: NOTHING_WANTED,
    wallet: { id: wallet.id, vkey: wallet.vkey, address: wallet.address },
  };
  return newRecord(source, asked, now);
}

function shownEstimate({ estimate }: SignedQuote): ShownQuote["Estimate"] {
  return {
    minimumNativeLock: String(estimate.minimumNativeLock),
    protocolFee: estimate.protocolFee.map(shownFunds),
    expectedNet: estimate.expectedNet.map(shownFunds),
  };
}

function shownFunds({ unit, amount }: Funds) {
  return { unit, amount: String(amount) };
}
