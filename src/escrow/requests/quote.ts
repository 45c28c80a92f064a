import { requireCredits } from "../../api-keys/credits.ts";
import { type Database, db } from "../../db/client.ts";
import { open } from "../../db/sealed.ts";
import type { AppContext, Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { idempotently } from "../../http/idempotency.ts";
import type { SellerWallet } from "../../registry/token-holder.ts";
import { drivesOf } from "../../sources/drives.ts";
import { providerFor } from "../../sources/provider.ts";
import { providerKeyPlace, type SourceRow } from "../../sources/record.ts";
import { findScopedWallet, type ManagedWallet, walletInUse } from "../../wallets/managed/find.ts";
import { openKeys } from "../../wallets/managed/keys.ts";
import { findAgent } from "./agent.ts";
import { latestTime } from "./clock.ts";
import { offerOf, priceOf } from "./offer.ts";
import { returnAddressOf } from "./return-address.ts";
import type { QuoteBody } from "./schemas.ts";
import { type SignedQuote, signQuote } from "./sign.ts";
import { sourcesOfAgent } from "./source.ts";
import { makeQuote, type ShownQuote } from "./store.ts";
import { checkTimes, timeWarnings, withDefaults } from "./times.ts";
import { shownRecord } from "./write.ts";

/**
 * Signs what a job will cost and by when it is done: a payment record that waits for its lock.
 *
 * @param now - epoch milliseconds
 * @returns the record, once per Idempotency-Key
 * @throws ApiError 400, 402, 403, 404, 422, 503; ProviderError
 */
export async function requestQuote(
  c: AppContext,
  body: QuoteBody,
  now: number,
): Promise<ShownQuote> {
  const { network } = body;
  const database = db(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  const made = await idempotently(c, database, now, async (remember) => {
    const { quote, warnings } = await agree(c, database, body, now);
    return makeQuote(c, database, { quote, warnings, metadata: body.metadata, now }, remember);
  });
  return shownRecord<ShownQuote>(database, made);
}

/** All checks in their order, and the seller's signature at their end. */
async function agree(
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
  const times = withDefaults(body);
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
      "agentIdentifier: the token is held by a wallet that is no selling wallet of its payment source",
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
    "agentIdentifier: the token is at another address of the selling wallet's key, which is signed",
  ];
}
