import type { Network, PaymentSourceType } from "../../chain/network.ts";
import { parseUnit, quoteUnit } from "../../chain/unit.ts";
import { ApiError } from "../../http/errors.ts";
import { isSoldOnOtherChains } from "../../registry/entries/pricing.ts";
import type { AgentProfile, ListedSource } from "../../registry/entries/profile.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import type { StoredFunds } from "../model/escrow-record.ts";

/** How an agent's token says it is paid. */
export interface AgentOffer {
  /** Of Web3ChainV2, whose agents name it; null: that of the agent's policy. */
  contractAddress: string | null;
  pricing: AgentProfile["pricing"];
}

/**
 * The way to pay an agent. On Web3ChainV2 a request names its position in the list of the agent's
 * token. On Web3ChainV1 there is only one.
 *
 * @throws ApiError 400
 */
export function selectOffer(
  profile: AgentProfile,
  { type, network, index }: { type: PaymentSourceType; network: Network; index?: number },
): AgentOffer {
  if (type === "Web3ChainV1") {
    if (index !== undefined) throw toIndexError("must be omitted for an agent of Web3ChainV1");
    return { contractAddress: null, pricing: profile.pricing };
  }
  refuseOtherChains(profile);
  if (index === undefined) throw toIndexError("is required for an agent of Web3ChainV2");
  const listed = profile.paymentSources?.[index];
  if (!listed) throw toIndexError("the agent lists no payment source at this position");
  const offer = readOffer(listed, network);
  if (typeof offer === "string") throw toIndexError(`the agent's payment source ${offer}`);
  return offer;
}

/** @returns what is wrong with a listed payment source, if it offers nothing on the network */
function readOffer(
  { isOnLedger, network: listedNetwork, type, contractAddress, pricing }: ListedSource,
  network: Network,
): AgentOffer | string {
  if (!isOnLedger) return "is on another chain";
  if (listedNetwork !== network) return `is not on the network ${network}`;
  if (type !== "Web3ChainV2" || contractAddress === null) return "is not a contract of Web3ChainV2";
  return pricing === null ? "has no price" : { contractAddress, pricing };
}

/**
 * The offers of an agent's list at the contract of a payment source of Web3ChainV2, with their positions.
 */
export function listOffers(
  { paymentSources = [] }: AgentProfile,
  { network, contractAddress }: Pick<SourceRow, "network" | "contractAddress">,
): (Pick<AgentOffer, "pricing"> & { index: number })[] {
  return paymentSources.flatMap((listed, index) => {
    const offer = readOffer(listed, network);
    if (typeof offer === "string" || offer.contractAddress !== contractAddress) return [];
    return offer.pricing.type === "Free" ? [] : [{ index, pricing: offer.pricing }];
  });
}

/**
 * The position in an agent's list that a quote is for, where the request names none: the only one that
 * fits the payment source.
 *
 * @throws ApiError 400, 404
 */
export function findOnlyIndex(
  profile: AgentProfile,
  source: Pick<SourceRow, "network" | "contractAddress">,
): number {
  refuseOtherChains(profile);
  const offers = listOffers(profile, source);
  const [first, second] = offers;
  if (!first)
    throw new ApiError(
      404,
      `agentIdentifier: the agent's list has no payment source on ${source.network} with a price and the contract ${source.contractAddress}`,
    );
  if (second)
    throw toIndexError(
      `is required, since several payment sources of the agent have the contract ${source.contractAddress}: ${offers.map(formatOffer).join(", ")}`,
    );
  return first.index;
}

function formatOffer({ index, pricing: { type, amounts } }: ReturnType<typeof listOffers>[0]) {
  const price = type === "Fixed" ? amounts.map(formatMintedFunds).join(" and ") : "dynamic price";
  return `${index} (${price})`;
}

function formatMintedFunds({ unit: minted, amount }: StoredFunds): string {
  const unit = parseUnit(minted);
  return unit === null ? `${amount} of ${quoteUnit(minted)}` : formatFunds({ unit, amount });
}

/** An amount for a message. */
export function formatFunds({ unit, amount }: StoredFunds): string {
  return `${amount} of ${unit === "" ? "the native coin" : unit}`;
}

function toIndexError(why: string): ApiError {
  return new ApiError(400, `supportedPaymentSourceIndex: ${why}`);
}

/** @throws ApiError 400 */
function refuseOtherChains(profile: AgentProfile): void {
  if (isSoldOnOtherChains(profile))
    throw new ApiError(
      400,
      "agentIdentifier: the agent is sold on other chains only. Pay it over x402.",
    );
}

/** What is asked for a job, and whether the seller signs it: a fixed price is in the registry. */
export interface Price {
  pricingType: "Fixed" | "Dynamic";
  funds: StoredFunds[];
}

/** The ledger's largest quantity of a token in an output, as wallets read it. */
const MAX_AMOUNT = 2n ** 63n - 1n;

/**
 * The price of a job.
 *
 * @param requested - what the request says of it
 * @param field - where it says so
 * @throws ApiError 400
 */
export function resolvePrice(
  { type, amounts }: AgentProfile["pricing"],
  requested: StoredFunds[] | null,
  field = "RequestedFunds",
): Price {
  if (type === "Fixed") {
    if (requested !== null)
      throw new ApiError(400, `${field}: must be omitted, since the agent's price is fixed`);
    return { pricingType: type, funds: requirePayableFunds(amounts, "agentIdentifier") };
  }
  if (type !== "Dynamic") throw new ApiError(400, "agentIdentifier: the agent accepts no payments");
  if (requested === null || requested.length === 0)
    throw new ApiError(400, `${field}: is required, since the agent's price is dynamic`);
  for (const [i, { unit, amount }] of requested.entries()) {
    const refuse = (member: string, why: string) =>
      new ApiError(400, `${field}[${i}].${member}: ${why}`);
    if (BigInt(amount) > MAX_AMOUNT) throw refuse("amount", `must be at most ${MAX_AMOUNT}`);
    // An output has each unit once, so that the two amounts could not be told from one.
    if (requested.findIndex((one) => one.unit === unit) < i)
      throw refuse("unit", "must not be repeated");
  }
  return { pricingType: type, funds: requested };
}

/**
 * A minted or stored price, with each unit in its one spelling.
 *
 * @param field - of the request, for the message
 * @throws ApiError 400
 */
export function requirePayableFunds(funds: readonly StoredFunds[], field: string): StoredFunds[] {
  return funds.map(({ unit: minted, amount }) => {
    const unit = parseUnit(minted);
    if (unit !== null) return { unit, amount };
    throw new ApiError(
      400,
      `${field}: the price is in ${quoteUnit(minted)}, which is no unit of the ledger. Ask the seller to register the agent with another price.`,
    );
  });
}
