import { type MeteredOperation, requireCredits } from "../../api-keys/credits.ts";
import { requireSpending } from "../../api-keys/spending-limits.ts";
import { parseAddress } from "../../chain/address.ts";
import {
  decodeBlockchainIdentifier,
  encodeBlockchainIdentifier,
  type IdentifierSegments,
  type SignedTerms,
  type TermsContext,
  verifyTerms,
} from "../../chain/contracts/blockchain-identifier.ts";
import { SELLER_NONCE_LENGTH } from "../../chain/contracts/escrow-datum.ts";
import type { Network, PaymentSourceType } from "../../chain/network.ts";
import { sumToValue, type Value } from "../../chain/transaction/value.ts";
import type { Database } from "../../db/client.ts";
import { mayUseWallet } from "../../http/authenticate.ts";
import type { AppContext, Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import type { AgentProfile } from "../../registry/entries/profile.ts";
import { loadFreshProfile } from "../../registry/entries/read-entries.ts";
import type { SellerWallet } from "../../registry/token-holder.ts";
import { selectAutomationMode } from "../../sources/automation-mode.ts";
import { openSourceProvider } from "../../sources/open-source-provider.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import { requirePermittedAddress } from "../../wallets/managed/require-permitted-address.ts";
import type { WalletRow } from "../../wallets/managed/tables.ts";
import {
  type EscrowTimes,
  fundsOf,
  mapTimes,
  type StoredFunds,
  sumFunds,
} from "../model/escrow-record.ts";
import { checkTimes, collectTimeWarnings, readLatestLiveTime } from "../terms/escrow-times.ts";
import {
  findTokenHolder,
  listSourcesOfPolicy,
  listWalletsOfPolicy,
  loadTokenProfile,
} from "../terms/find-agent.ts";
import { formatFunds, listOffers, type Price, resolvePrice, selectOffer } from "../terms/offer.ts";
import { requirePayableAddress } from "../terms/return-address.ts";
import type { PurchaseBody } from "./schemas.ts";

/** A quote that passed every check. */
export interface AcceptedQuote extends PayingSource {
  body: PurchaseBody;
  identifier: QuotedIdentifier;
  holder: SellerWallet;
  agentName: string;
  times: EscrowTimes<number>;
  price: Price;
  buyerReturnAddress: string | null;
  sellerReturnAddress: string | null;
  /** What the seller has signed. */
  terms: SignedTerms;
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
  const [payers, knownProfile] = await Promise.all([
    loadPayingSource(database, c.var.caller, network, agentIdentifier, identifier),
    loadFreshProfile(database, network, agentIdentifier, now),
  ]);
  const { source } = payers;
  const provider = await openSourceProvider(c.env, source, { caller: c.var.caller.id });
  const times = mapTimes(body, Number);
  checkTimes(times, await readLatestLiveTime(c, provider, source.id, now), { isQuoted: true });
  await requireCredits(database, c.var.caller, operation);

  const holder = await findTokenHolder(provider, source, agentIdentifier);
  if (holder.vkey !== body.sellerVkey)
    throw new ApiError(400, "sellerVkey: another wallet holds the agent's token");
  const profile = knownProfile ?? (await loadTokenProfile(provider, agentIdentifier));
  const signed = { ...payers, body, identifier, holder, times };
  const signedIndex = index ?? findSignedIndex(profile, signed);
  // Sellers of older versions sign no position: theirs is the first on this ledger.
  const first = profile.paymentSources?.findIndex(({ isOnLedger }) => isOnLedger) ?? -1;
  const position = signedIndex ?? (first < 0 ? undefined : first);
  const offer = selectOffer(profile, {
    type: source.type,
    network,
    ...(source.type === "Web3ChainV2" && position !== undefined && { index: position }),
  });
  if (offer.contractAddress !== null && offer.contractAddress !== source.contractAddress)
    throw new ApiError(
      400,
      "supportedPaymentSourceIndex: the agent's payment source has another contract than blockchainIdentifier",
    );
  const price = requireAgreedPrice(offer.pricing, body.Amounts);
  const accepted = { ...signed, price };
  const terms = verifySignedTerms(accepted, signedIndex);
  requireAutomatedWallets(payers);
  await requireSpending(database, c.var.caller, network, sumFunds(price.funds));
  const buyerReturnAddress = resolveBuyerAddress(c, accepted);
  refuseSharedPayee(payers, buyerReturnAddress, terms);
  return {
    ...accepted,
    agentName: profile.name,
    buyerReturnAddress,
    sellerReturnAddress: terms.sellerReturnAddress,
    terms,
    warnings: collectTimeWarnings(times),
  };
}

type UnverifiedQuote = Pick<
  AcceptedQuote,
  "source" | "automatedWallets" | "body" | "identifier" | "holder" | "times" | "price"
>;

/**
 * The position in the agent's list that the seller signed, where the request names none.
 *
 * @returns undefined where the seller signed no position at this contract
 */
function findSignedIndex(
  profile: AgentProfile,
  quote: Omit<UnverifiedQuote, "price">,
): number | undefined {
  const { source, body, identifier, holder } = quote;
  if (source.type === "Web3ChainV1") return undefined;
  const returnAddress = parseAddress(body.sellerReturnAddress ?? "")?.bech32 ?? null;
  const terms = signedTermsOf(quote, returnAddress);
  const signature = { ...identifier, sellerVkey: holder.vkey };
  return listOffers(profile, source).find(({ index, pricing }) => {
    const funds = pricing.type === "Dynamic" ? body.Amounts : null;
    return verifyTerms(terms, signature, [contextOf(source, funds, index)]).ok;
  })?.index;
}

/** What the seller signs beside the terms. */
function contextOf(
  { contractAddress }: SourceRow,
  funds: StoredFunds[] | null,
  index: number | undefined,
): TermsContext {
  return {
    contractAddress,
    requestedFunds: funds?.map(fundsOf) ?? null,
    ...(index !== undefined && { supportedPaymentSourceIndex: index }),
  };
}

/**
 * Checks that the seller has signed what the request says.
 *
 * @param index - signed position in the agent's list
 * @throws ApiError 400
 */
function verifySignedTerms(quote: UnverifiedQuote, index: number | undefined): SignedTerms {
  const { source, body, identifier, holder, price } = quote;
  if (identifier.buyerNonce !== body.identifierFromPurchaser)
    throw new ApiError(
      400,
      "identifierFromPurchaser: must be the identifier in blockchainIdentifier",
    );
  if (identifier.agentIdentifier !== body.agentIdentifier)
    throw new ApiError(400, "agentIdentifier: must be the agent in blockchainIdentifier");
  const sellerReturnAddress =
    body.sellerReturnAddress === null
      ? null
      : requirePayableAddress(
          source.network,
          "sellerReturnAddress",
          body.sellerReturnAddress,
          source.type,
        );
  const context = contextOf(source, price.pricingType === "Dynamic" ? price.funds : null, index);
  const { signature, key } = identifier;
  const terms = signedTermsOf(quote, sellerReturnAddress);
  const verified = verifyTerms(terms, { signature, key, sellerVkey: holder.vkey }, [context]);
  if (!verified.ok) throw new ApiError(400, `blockchainIdentifier: ${verified.reason}`);
  return terms;
}

function signedTermsOf(
  { source, body, identifier, holder, times }: Omit<UnverifiedQuote, "price">,
  sellerReturnAddress: string | null,
): SignedTerms {
  return {
    version: source.type,
    inputHash: body.inputHash,
    agentIdentifier: body.agentIdentifier,
    buyerNonce: body.identifierFromPurchaser,
    sellerNonce: identifier.sellerId.slice(0, SELLER_NONCE_LENGTH),
    ...mapTimes(times, BigInt),
    seller: holder.address,
    sellerReturnAddress,
  };
}

/** @throws ApiError 400, 403 */
function resolveBuyerAddress(
  c: AppContext,
  { source, automatedWallets, body }: UnverifiedQuote,
): string | null {
  if (body.buyerReturnAddress === null) return null;
  const address = requirePayableAddress(
    source.network,
    BUYER_ADDRESS_FIELD,
    body.buyerReturnAddress,
    source.type,
  );
  requirePermittedAddress(c.var.caller, BUYER_ADDRESS_FIELD, address, automatedWallets);
  return address;
}

const BUYER_ADDRESS_FIELD = "buyerReturnAddress";

/**
 * Checks that the parties are paid at different addresses. A contract of Web3ChainV2 checks each party's part
 * separately, so one output would count for both.
 *
 * @throws ApiError 400
 */
function refuseSharedPayee(
  { source, automatedWallets }: PayingSource,
  buyer: string | null,
  terms: SignedTerms,
): void {
  if (source.type === "Web3ChainV1") return;
  const seller = terms.sellerReturnAddress ?? terms.seller;
  const buyers = buyer === null ? automatedWallets.map(({ address }) => address) : [buyer];
  if (buyers.includes(seller))
    throw new ApiError(
      400,
      `${BUYER_ADDRESS_FIELD}: must differ from the seller's address ${seller}, where one output would count for both`,
    );
}

/**
 * The price that a buyer agrees to. A fixed one is not signed: a buyer that sends it makes sure that it
 * has not changed since.
 *
 * @param amounts - `Amounts` of the request
 * @throws ApiError 400
 */
function requireAgreedPrice(
  pricing: AgentProfile["pricing"],
  amounts: StoredFunds[] | null,
): Price {
  if (pricing.type !== "Fixed") return resolvePrice(pricing, amounts, "Amounts");
  const price = resolvePrice(pricing, null);
  if (
    amounts !== null &&
    !isSameValue(sumToValue(amounts.map(fundsOf)), sumToValue(price.funds.map(fundsOf)))
  )
    throw new ApiError(
      400,
      `Amounts: must be the agent's fixed price: ${price.funds.map(formatFunds).join(", ")}`,
    );
  return price;
}

function isSameValue(one: Value, other: Value): boolean {
  return one.size === other.size && [...one].every(([unit, sum]) => other.get(unit) === sum);
}

/** Which contract a purchase is locked at, and who may pay it. */
interface PayingSource {
  source: SourceRow;
  /** Its purchasing wallets. */
  wallets: WalletRow[];
  /** Those that begin something new; none where `requireAutomatedWallets` says why. */
  automatedWallets: WalletRow[];
}

/**
 * The payment source of a quote, and its purchasing wallets. An identifier of Web3ChainV1 does not name
 * the contract: then the oldest of the agent's policy that can pay.
 *
 * @throws ApiError 404
 */
async function loadPayingSource(
  database: Database,
  { scope }: Caller,
  network: Network,
  agentIdentifier: string,
  { type, contractAddress }: QuotedIdentifier,
): Promise<PayingSource> {
  const [all, activeWallets] = await Promise.all([
    listSourcesOfPolicy(database, network, agentIdentifier),
    listWalletsOfPolicy(database, network, agentIdentifier),
  ]);
  const sources = all.filter(
    (source) =>
      source.type === type &&
      (contractAddress === null || source.contractAddress === contractAddress),
  );
  if (sources.length === 0)
    throw new ApiError(
      404,
      `agentIdentifier: no payment source of ${type} has this agent's policy${contractAddress === null ? "" : " and the contract of blockchainIdentifier"}`,
    );
  const buyers = activeWallets.filter(
    ({ id, role }) => role === "Purchasing" && mayUseWallet(scope, id),
  );
  const payers = sources
    .map((source) => {
      const wallets = buyers.filter(({ sourceId }) => sourceId === source.id);
      const automatedWallets = wallets.filter(
        (wallet) => selectAutomationMode(source, wallet) === "all",
      );
      return { source, wallets, automatedWallets };
    })
    .filter(({ wallets }) => wallets.length > 0);
  const found = payers.find(({ automatedWallets }) => automatedWallets.length > 0) ?? payers[0];
  if (!found)
    throw new ApiError(
      404,
      "agentIdentifier: the payment source has no purchasing wallet that the API key may use",
    );
  return found;
}

/** @throws ApiError 503 */
function requireAutomatedWallets({ source, automatedWallets }: PayingSource): void {
  if (automatedWallets.length > 0) return;
  throw new ApiError(
    503,
    source.drives === "all"
      ? `No purchasing wallet of the payment source ${source.id} makes new purchases. Set the drives of one to all.`
      : `The payment source ${source.id} makes no new purchases: its drives is ${source.drives}`,
    { retryAfter: 300 },
  );
}

/** The fields of a quote's identifier. */
interface QuotedIdentifier extends IdentifierSegments {
  type: PaymentSourceType;
  agentIdentifier: string | null;
}

/**
 * Reads the identifier of a quote, and compares it with what the request says of the contract.
 *
 * @throws ApiError 400
 */
function readIdentifier({
  blockchainIdentifier,
  paymentSourceType,
  supportedPaymentSourceIndex,
  smartContractAddress,
}: PurchaseBody): QuotedIdentifier {
  const decoded = decodeBlockchainIdentifier(blockchainIdentifier);
  if (decoded === null)
    throw new ApiError(400, "blockchainIdentifier: is not the identifier of an escrow");
  // The lock's is made of its datum: another spelling would never be found.
  if (encodeBlockchainIdentifier(decoded) !== blockchainIdentifier)
    throw new ApiError(400, "blockchainIdentifier: is not in the encoding of the chain");
  const type = decoded.contractAddress === null ? "Web3ChainV1" : "Web3ChainV2";
  if (paymentSourceType !== undefined && paymentSourceType !== type)
    throw new ApiError(400, `paymentSourceType: must be ${type}, the type in blockchainIdentifier`);
  if (type === "Web3ChainV1" && supportedPaymentSourceIndex !== undefined)
    throw new ApiError(
      400,
      "supportedPaymentSourceIndex: must be omitted for an agent of Web3ChainV1",
    );
  const isOther = smartContractAddress !== "" && smartContractAddress !== decoded.contractAddress;
  if (type === "Web3ChainV2" && isOther)
    throw new ApiError(400, "smartContractAddress: must be the contract in blockchainIdentifier");
  return { ...decoded, type };
}
