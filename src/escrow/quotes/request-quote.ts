import type * as z from "zod";
import { requireCredits, throwIfOutOfCredits } from "../../api-keys/credits.ts";
import type { Funds } from "../../chain/network.ts";
import { type Database, db } from "../../db/client.ts";
import { open } from "../../db/sealed.ts";
import type { AppContext, Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { idempotently, type Remember } from "../../http/idempotency.ts";
import type { SellerWallet } from "../../registry/token-holder.ts";
import { drivesOf } from "../../sources/drives.ts";
import { providerFor } from "../../sources/provider.ts";
import { providerKeyPlace, type SourceRow } from "../../sources/record.ts";
import {
  findScopedWallet,
  type ManagedWallet,
  walletInUse,
} from "../../wallets/managed/find-wallet.ts";
import { openKeys } from "../../wallets/managed/open-keys.ts";
import { IDLE } from "../model/intent.ts";
import type { EscrowRecord } from "../model/record.ts";
import { findAgent, sourcesOfAgent } from "../terms/find-agent.ts";
import {
  type CreatedRecord,
  createdRecordResponse,
  createRecord,
  newRecord,
} from "../terms/make-record.ts";
import { offerOf, priceOf } from "../terms/offer.ts";
import { returnAddressOf } from "../terms/return-address.ts";
import {
  checkTimes,
  latestTime,
  storedTimes,
  timeWarnings,
  withDefaultTimes,
} from "../terms/times.ts";
import type { QuoteBody, quoteRecord } from "./schemas.ts";
import { type SignedQuote, signQuote } from "./sign-quote.ts";

/**
 * Signs the price and the times of a job: a payment record that waits for its lock.
 *
 * @param now - epoch milliseconds.
 * @returns the record, once per Idempotency-Key.
 * @throws ApiError 400, 402, 403, 404, 422, 503; ProviderError.
 */
export async function requestQuote(
  c: AppContext,
  body: QuoteBody,
  now: number,
): Promise<QuoteResponse> {
  const { network } = body;
  const database = db(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  const quote = await idempotently(c, database, now, async (remember) => {
    const { quote, warnings } = await prepareQuote(c, database, body, now);
    return writeQuote(c, database, { quote, warnings, metadata: body.metadata, now }, remember);
  });
  return createdRecordResponse<QuoteResponse>(database, quote);
}

/** All checks in their order, and the seller's signature at their end. */
async function prepareQuote(
  c: AppContext,
  database: Database,
  body: QuoteBody,
  now: number,
): Promise<{ quote: SignedQuote; warnings: string[] }> {
  const { network, agentIdentifier, supportedPaymentSourceIndex: index } = body;
  const sources = await sourcesOfAgent(database, network, agentIdentifier, body.paymentSourceType);
  const [anySource] = sources;
  const key = await open(c.env, providerKeyPlace(anySource.id), anySource.rpcProviderApiKey);
  const provider = await providerFor(c.env, network, key, { caller: c.var.caller.id });
  const times = withDefaultTimes(body);
  checkTimes(times, await latestTime(c, provider, now));
  await requireCredits(database, c.var.caller, "payment");

  const agent = await findAgent(database, provider, anySource, agentIdentifier, now);
  const { type } = anySource;
  const offer = offerOf(agent.profile, { type, network, ...(index !== undefined && { index }) });
  const payable =
    offer.contractAddress === null
      ? sources
      : sources.filter(({ contractAddress }) => contractAddress === offer.contractAddress);
  if (payable.length === 0)
    throw new ApiError(
      404,
      "supportedPaymentSourceIndex: no payment source has the contract that the agent lists here",
    );
  const price = priceOf(offer.pricing, body.RequestedFunds);
  const { wallet, source } = await sellerOf(database, c.var.caller, payable, agent.holder);
  const sellerReturnAddress = returnAddressOf(c.var.caller, body.sellerReturnAddress, {
    wallet,
    type,
  });
  refuseUndriven(source, wallet);

  const row = await walletInUse(database, wallet.id, "agentIdentifier");
  const quote = signQuote(
    {
      source,
      wallet,
      holder: agent.holder,
      agentIdentifier,
      agentName: agent.profile.name,
      inputHash: body.inputHash,
      buyerNonce: body.identifierFromPurchaser,
      times,
      price,
      sellerReturnAddress,
      ...(index !== undefined && { supportedPaymentSourceIndex: index }),
    },
    await openKeys(c.env, row),
  );
  return { quote, warnings: [...addressWarnings(agent.holder, wallet), ...timeWarnings(times)] };
}

/**
 * The selling wallet that holds an agent's token, and its payment source.
 *
 * @throws ApiError 404
 */
async function sellerOf(
  database: Database,
  caller: Caller,
  sources: readonly SourceRow[],
  { vkey }: SellerWallet,
): Promise<{ wallet: ManagedWallet; source: SourceRow }> {
  const [network] = sources.map((source) => source.network);
  const wallet = network && (await findScopedWallet(database, caller, network, vkey, "Selling"));
  const source = wallet && sources.find(({ id }) => id === wallet.sourceId);
  if (!wallet || !source)
    throw new ApiError(
      404,
      "agentIdentifier: the holder of the token is no selling wallet of the payment source",
    );
  return { wallet, source };
}

/**
 * Refuses to begin an escrow that nobody would bring to its end.
 *
 * @throws ApiError 503
 */
export function refuseUndriven(source: SourceRow, wallet: ManagedWallet): void {
  if (drivesOf(source, wallet) === "all") return;
  const [what, which] =
    source.drives === "all" ? ["selling wallet", wallet] : (["payment source", source] as const);
  throw new ApiError(
    503,
    `The ${what} ${which.id} begins no new escrows: its drives is ${which.drives}`,
    { retryAfter: 300 },
  );
}

function addressWarnings(holder: SellerWallet, wallet: ManagedWallet): string[] {
  if (holder.address === wallet.address) return [];
  return [
    "agentIdentifier: the token is at another address of the selling wallet's key. The quote names that address.",
  ];
}

type QuoteResponse = z.input<typeof quoteRecord>;

/**
 * Writes a quote as a payment record.
 *
 * @throws ApiError 402
 */
function writeQuote(
  c: AppContext,
  database: Database,
  {
    quote,
    warnings,
    metadata,
    now,
  }: { quote: SignedQuote; warnings: string[]; metadata: string | null; now: number },
  remember: Remember,
): Promise<CreatedRecord> {
  const { source, agentIdentifier, wallet } = quote;
  const more = { Estimate: toEstimateResponse(quote), Warnings: warnings };
  return createRecord(
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
  const fields = {
    side: "payment" as const,
    blockchainIdentifier,
    requestedById,
    terms,
    progress: IDLE,
    wallet: { id: wallet.id, vkey: wallet.vkey, address: wallet.address },
  };
  return newRecord(source, fields, now);
}

function toEstimateResponse({ estimate }: SignedQuote): QuoteResponse["Estimate"] {
  return {
    minimumNativeLock: String(estimate.minimumNativeLock),
    protocolFee: estimate.protocolFee.map(toFundsResponse),
    expectedNet: estimate.expectedNet.map(toFundsResponse),
  };
}

function toFundsResponse({ unit, amount }: Funds) {
  return { unit, amount: String(amount) };
}
