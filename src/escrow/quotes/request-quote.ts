import type * as z from "zod";
import { requireCredits, throwIfOutOfCredits } from "../../api-keys/credits.ts";
import { type Database, openDb } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently } from "../../http/idempotency.ts";
import type { SellerWallet } from "../../registry/token-holder.ts";
import { selectAutomationMode } from "../../sources/automation-mode.ts";
import { openSourceProvider } from "../../sources/open-source-provider.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import { findScopedWallet, type ManagedWallet } from "../../wallets/managed/find-wallet.ts";
import { openKeys } from "../../wallets/managed/open-keys.ts";
import type { WalletRow } from "../../wallets/managed/tables.ts";
import {
  type EscrowRecord,
  mapTimes,
  toStoredFunds,
  toWalletReference,
} from "../model/escrow-record.ts";
import { IDLE_PROGRESS } from "../model/intent.ts";
import { buildRecord } from "../store/build-record.ts";
import {
  createRecord,
  loadCreatedRecordResponse,
  type RecordRequest,
} from "../terms/create-record.ts";
import {
  checkTimes,
  collectTimeWarnings,
  readLatestTime,
  withDefaultTimes,
} from "../terms/escrow-times.ts";
import { findAgentProfile, findTokenHolder, listSourcesOfAgent } from "../terms/find-agent.ts";
import { findOnlyIndex, resolvePrice, selectOffer } from "../terms/offer.ts";
import { resolveReturnAddress } from "../terms/return-address.ts";
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
  const database = openDb(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  const created = await runIdempotently(c, database, now, async (remember) => {
    const { quote, warnings } = await prepareQuote(c, database, body, now);
    const { agentIdentifier, wallet, supportedPaymentSourceIndex: index } = quote;
    const responseFields = {
      ...(index !== undefined && { supportedPaymentSourceIndex: index }),
      Estimate: toEstimateResponse(quote),
      Warnings: warnings,
    };
    const request: RecordRequest = {
      record: buildPaymentRecord(quote, c.var.caller.id, now),
      metadata: body.metadata,
      responseFields,
      auditDetail: { network, agentIdentifier, wallet: wallet.id },
      now,
    };
    return createRecord(c, database, request, remember).catch(throwIfOutOfCredits);
  });
  return loadCreatedRecordResponse<QuoteResponse>(database, created);
}

/** All checks in their order, and the seller's signature at their end. */
async function prepareQuote(
  c: AppContext,
  database: Database,
  body: QuoteBody,
  now: number,
): Promise<{ quote: SignedQuote; warnings: string[] }> {
  const { network, agentIdentifier } = body;
  const sources = await listSourcesOfAgent(
    database,
    network,
    agentIdentifier,
    body.paymentSourceType,
  );
  const [anySource] = sources;
  const provider = await openSourceProvider(c.env, anySource, { caller: c.var.caller.id });
  const times = withDefaultTimes(body);
  checkTimes(times, await readLatestTime(c, provider, now));
  await requireCredits(database, c.var.caller, "payment");

  const holder = await findTokenHolder(provider, anySource, agentIdentifier);
  const [profile, seller] = await Promise.all([
    findAgentProfile(database, provider, anySource, agentIdentifier, now),
    findScopedWallet(database, c.var.caller, network, holder.vkey, "Selling"),
  ]);
  const { type } = anySource;
  const index =
    body.supportedPaymentSourceIndex ??
    (type === "Web3ChainV2"
      ? findOnlyIndex(profile, requireSellingWallet(seller, sources).source)
      : undefined);
  const offer = selectOffer(profile, {
    type,
    network,
    ...(index !== undefined && { index }),
  });
  const payable =
    offer.contractAddress === null
      ? sources
      : sources.filter(({ contractAddress }) => contractAddress === offer.contractAddress);
  if (payable.length === 0)
    throw new ApiError(
      404,
      "supportedPaymentSourceIndex: no payment source has the contract that the agent lists here",
    );
  const price = resolvePrice(offer.pricing, body.RequestedFunds);
  const { wallet, source } = requireSellingWallet(seller, payable);
  const sellerReturnAddress = resolveReturnAddress(c.var.caller, body.sellerReturnAddress, {
    wallet,
    type,
  });
  requireAutomatedWallet(source, wallet);

  const quote = signQuote(
    {
      source,
      wallet,
      holder,
      agentIdentifier,
      agentName: profile.name,
      inputHash: body.inputHash,
      buyerNonce: body.identifierFromPurchaser,
      times,
      price,
      sellerReturnAddress,
      ...(index !== undefined && { supportedPaymentSourceIndex: index }),
    },
    await openKeys(c.env, wallet),
  );
  return {
    quote,
    warnings: [...collectAddressWarnings(holder, wallet), ...collectTimeWarnings(times)],
  };
}

/**
 * The selling wallet that holds an agent's token, and its payment source.
 *
 * @throws ApiError 404
 */
function requireSellingWallet(
  wallet: WalletRow | undefined,
  sources: readonly SourceRow[],
): { wallet: WalletRow; source: SourceRow } {
  const source = sources.find(({ id }) => id === wallet?.sourceId);
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
export function requireAutomatedWallet(source: SourceRow, wallet: ManagedWallet): void {
  if (selectAutomationMode(source, wallet) === "all") return;
  const [what, which] =
    source.drives === "all" ? ["selling wallet", wallet] : (["payment source", source] as const);
  throw new ApiError(
    503,
    `The ${what} ${which.id} begins no new escrows: its drives is ${which.drives}`,
    { retryAfter: 300 },
  );
}

function collectAddressWarnings(holder: SellerWallet, wallet: ManagedWallet): string[] {
  if (holder.address === wallet.address) return [];
  return [
    "agentIdentifier: the token is at another address of the selling wallet's key. The quote names that address.",
  ];
}

type QuoteResponse = z.input<typeof quoteRecord>;

function buildPaymentRecord(quote: SignedQuote, requestedById: string, now: number): EscrowRecord {
  const { source, wallet, holder, times, price, blockchainIdentifier } = quote;
  const terms: EscrowRecord["terms"] = {
    isRequested: true,
    agentIdentifier: quote.agentIdentifier,
    agentName: quote.agentName,
    pricingType: price.pricingType,
    inputHash: quote.inputHash,
    ...mapTimes(times, String),
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
    progress: IDLE_PROGRESS,
    wallet: toWalletReference(wallet),
  };
  return buildRecord(source, fields, now);
}

function toEstimateResponse({ estimate }: SignedQuote): QuoteResponse["Estimate"] {
  return {
    minimumNativeLock: String(estimate.minimumNativeLock),
    protocolFee: estimate.protocolFee.map(toStoredFunds),
    expectedNet: estimate.expectedNet.map(toStoredFunds),
  };
}
