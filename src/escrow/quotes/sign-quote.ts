import { signIdentifier } from "../../chain/contracts/blockchain-identifier.ts";
import { SELLER_NONCE_LENGTH } from "../../chain/contracts/escrow-datum.ts";
import { generateHex } from "../../chain/hex.ts";
import type { WalletKeys } from "../../chain/wallet-keys.ts";
import type { SellerWallet } from "../../registry/token-holder.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import type { ManagedWallet } from "../../wallets/managed/find-wallet.ts";
import { type EscrowTimes, fundsOf, mapTimes, sumFunds } from "../model/escrow-record.ts";
import { buildQuoteDatum } from "../terms/build-quote-datum.ts";
import { type CostEstimate, estimateCosts } from "../terms/estimate-costs.ts";
import type { Price } from "../terms/offer.ts";

/** What a seller offers for one job. */
export interface QuoteOffer {
  source: SourceRow;
  wallet: ManagedWallet;
  /** Where the agent's token is: this address is signed, since a buyer's service will look there. */
  holder: SellerWallet;
  agentIdentifier: string;
  agentName: string;
  /** Hex in lower case, like the next. */
  inputHash: string;
  buyerNonce: string;
  times: EscrowTimes<number>;
  price: Price;
  sellerReturnAddress: string | null;
  supportedPaymentSourceIndex?: number;
}

/** An offer with the seller's signature. */
export interface SignedQuote extends QuoteOffer {
  blockchainIdentifier: string;
  estimate: CostEstimate;
}

/**
 * Signs an offer with the payment key of the selling wallet, under a new nonce. The signature covers a
 * dynamic price in its order and digits. It does not cover a fixed price, which the registry has.
 */
export function signQuote(offered: QuoteOffer, keys: WalletKeys): SignedQuote {
  const { source, holder, price, times } = offered;
  const requestedFunds = price.pricingType === "Dynamic" ? price.funds.map(fundsOf) : null;
  const terms = {
    version: source.type,
    inputHash: offered.inputHash,
    agentIdentifier: offered.agentIdentifier,
    buyerNonce: offered.buyerNonce,
    sellerNonce: generateHex(SELLER_NONCE_LENGTH / 2),
    ...mapTimes(times, BigInt),
    seller: holder.address,
    sellerReturnAddress: offered.sellerReturnAddress,
  };
  const index = offered.supportedPaymentSourceIndex;
  const signed = signIdentifier(
    terms,
    {
      contractAddress: source.contractAddress,
      requestedFunds,
      ...(index !== undefined && { supportedPaymentSourceIndex: index }),
    },
    { ...keys, address: holder.address },
  );
  const { referenceSignature: signature, referenceKey: key, blockchainIdentifier } = signed;
  // No buyer is known: an address of the usual length stands in.
  const buyer = { address: keys.address, vkey: keys.vkey, returnAddress: null };
  const datum = buildQuoteDatum(terms, { signature, key, sellerVkey: keys.vkey }, buyer);
  return {
    ...offered,
    blockchainIdentifier,
    estimate: estimateCosts(sumFunds(price.funds), datum, source.feeRatePermille),
  };
}
