import type { MeteredOperation } from "../../api-keys/costs.ts";
import { requireCredits } from "../../api-keys/credits.ts";
import { requireSpending } from "../../api-keys/spending.ts";
import { SELLER_NONCE_LENGTH } from "../../chain/escrow-datum.ts";
import { type Terms, verifyTerms } from "../../chain/identifier.ts";
import type { Database } from "../../db/client.ts";
import { open } from "../../db/sealed.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import type { SellerWallet } from "../../registry/token-holder.ts";
import { providerFor } from "../../sources/provider.ts";
import { providerKeyPlace } from "../../sources/record.ts";
import { permitAddress } from "../../wallets/managed/permit-address.ts";
import { fundsOf } from "../fold/escrow-outputs.ts";
import { findHolder, findProfile } from "../requests/agent.ts";
import { timeOfMovingChain } from "../requests/clock.ts";
import { offerOf, type Price } from "../requests/offer.ts";
import { payableAddress } from "../requests/return-address.ts";
import { totals } from "../requests/sign.ts";
import { checkTimes, type EscrowTimes, timeWarnings } from "../requests/times.ts";
import { type QuotedIdentifier, readIdentifier } from "./identifier.ts";
import { type Payers, payersOf, refuseUndriven } from "./payers.ts";
import { agreedPrice } from "./price.ts";
import type { PurchaseBody } from "./schemas.ts";

/** A quote that passed every check. */
export interface AcceptedQuote extends Payers {
  body: PurchaseBody;
  identifier: QuotedIdentifier;
  holder: SellerWallet;
  agentName: string;
  times: EscrowTimes;
  price: Price;
  buyerReturnAddress: string | null;
  sellerReturnAddress: string | null;
  /** What the seller has signed. */
  terms: Terms;
  warnings: string[];
}

/**
 * Checks a quote in every respect, in the order that clients know.
 *
 * @param operation - the metered call that asks
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 403, 404, 503; ProviderError
 */
export async function acceptQuote(
  c: AppContext,
  database: Database,
  body: PurchaseBody,
  { operation, now }: { operation: MeteredOperation; now: number },
): Promise<AcceptedQuote> {
  const { network, agentIdentifier, supportedPaymentSourceIndex: index } = body;
  const identifier = readIdentifier(body);
  const payers = await payersOf(database, c.var.caller, network, agentIdentifier, identifier);
  const { source } = payers;
  const key = await open(c.env, providerKeyPlace(source.id), source.rpcProviderApiKey);
  const provider = await providerFor(c.env, network, key, { caller: c.var.caller.id });
  const times = timesOf(body);
  checkTimes(times, await timeOfMovingChain(c, provider, source.id, now));
  await requireCredits(database, c.var.caller, operation);

  const holder = await findHolder(provider, source, agentIdentifier);
  if (holder.vkey !== body.sellerVkey)
    throw new ApiError(400, "sellerVkey: the agent's token is held by another wallet");
  const profile = await findProfile(database, provider, source, agentIdentifier, now);
  // Sellers of older versions sign no position: theirs is the first on this ledger.
  const first = profile.paymentSources?.findIndex(({ isOnLedger }) => isOnLedger) ?? -1;
  const position = index ?? (first < 0 ? undefined : first);
  const offer = offerOf(profile, {
    type: source.type,
    network,
    ...(source.type === "Web3ChainV2" && position !== undefined && { index: position }),
  });
  if (offer.contractAddress !== null && offer.contractAddress !== source.contractAddress)
    throw new ApiError(
      400,
      "supportedPaymentSourceIndex: the agent's payment source has another contract than blockchainIdentifier",
    );
  const price = agreedPrice(offer.pricing, body.Amounts);
  const accepted = { ...payers, body, identifier, holder, times, price };
  const terms = checkSigned(accepted);
  refuseUndriven(payers);
  await requireSpending(database, c.var.caller, network, totals(price.funds));
  const buyerReturnAddress = buyerAddress(c, accepted);
  refuseOnePayee(payers, buyerReturnAddress, terms);
  return {
    ...accepted,
    agentName: profile.name,
    buyerReturnAddress,
    sellerReturnAddress: terms.sellerReturnAddress,
    terms,
    warnings: timeWarnings(times),
  };
}

type Signed = Pick<
  AcceptedQuote,
  "source" | "driven" | "body" | "identifier" | "holder" | "times" | "price"
>;

/**
 * Checks that the seller has signed what the request says.
 *
 * @throws ApiError 400
 */
function checkSigned(quote: Signed): Terms {
  const { source, body, identifier, holder, price } = quote;
  if (identifier.buyerNonce !== body.identifierFromPurchaser)
    throw new ApiError(400, "identifierFromPurchaser: is not the one of blockchainIdentifier");
  if (identifier.agentIdentifier !== body.agentIdentifier)
    throw new ApiError(400, "agentIdentifier: is not the one of blockchainIdentifier");
  const sellerReturnAddress =
    body.sellerReturnAddress === null
      ? null
      : payableAddress(
          source.network,
          "sellerReturnAddress",
          body.sellerReturnAddress,
          source.type,
        );
  const index = body.supportedPaymentSourceIndex;
  const context = {
    contractAddress: source.contractAddress,
    requestedFunds: price.pricingType === "Dynamic" ? price.funds.map(fundsOf) : null,
    ...(index !== undefined && { supportedPaymentSourceIndex: index }),
  };
  const { signature, key } = identifier;
  const terms = signedTermsOf(quote, sellerReturnAddress);
  const verified = verifyTerms(terms, { signature, key, sellerVkey: holder.vkey }, [context]);
  if (!verified.ok) throw new ApiError(400, `blockchainIdentifier: ${verified.reason}`);
  return terms;
}

function signedTermsOf(
  { source, body, identifier, holder, times }: Signed,
  sellerReturnAddress: string | null,
): Terms {
  return {
    version: source.type,
    inputHash: body.inputHash,
    agentIdentifier: body.agentIdentifier,
    buyerNonce: body.identifierFromPurchaser,
    sellerNonce: identifier.sellerId.slice(0, SELLER_NONCE_LENGTH),
    payByTime: BigInt(times.payByTime),
    submitResultTime: BigInt(times.submitResultTime),
    unlockTime: BigInt(times.unlockTime),
    externalDisputeUnlockTime: BigInt(times.externalDisputeUnlockTime),
    seller: holder.address,
    sellerReturnAddress,
  };
}

/** @throws ApiError 400, 403 */
function buyerAddress(c: AppContext, { source, driven, body }: Signed): string | null {
  if (body.buyerReturnAddress === null) return null;
  const address = payableAddress(source.network, FIELD, body.buyerReturnAddress, source.type);
  permitAddress(c.var.caller, FIELD, address, driven);
  return address;
}

const FIELD = "buyerReturnAddress";

/**
 * A contract of Web3ChainV2 looks at each party's part by itself: at one address, one output counts for both.
 *
 * @throws ApiError 400
 */
function refuseOnePayee({ source, driven }: Payers, buyer: string | null, terms: Terms): void {
  if (source.type === "Web3ChainV1") return;
  const seller = terms.sellerReturnAddress ?? terms.seller;
  const buyers = buyer === null ? driven.map(({ address }) => address) : [buyer];
  if (buyers.includes(seller))
    throw new ApiError(
      400,
      `${FIELD}: must be another address than the seller's, ${seller}, where one output would count for both`,
    );
}

function timesOf(body: PurchaseBody): EscrowTimes {
  return {
    payByTime: Number(body.payByTime),
    submitResultTime: Number(body.submitResultTime),
    unlockTime: Number(body.unlockTime),
    externalDisputeUnlockTime: Number(body.externalDisputeUnlockTime),
  };
}
