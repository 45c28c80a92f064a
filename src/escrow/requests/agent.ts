import type { PaymentSourceType } from "../../chain/network.ts";
import type { Provider } from "../../chain/provider/provider.ts";
import type { Database } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import { type AgentProfile, readProfile } from "../../registry/profile.ts";
import { freshProfile } from "../../registry/read-entries.ts";
import { type SellerWallet, sellerWallet } from "../../registry/token-holder.ts";
import type { SourceRow } from "../../sources/record.ts";

/** What a quote has to know of an agent. */
export interface Agent {
  /** The wallet that holds its token, and is paid. */
  holder: SellerWallet;
  profile: AgentProfile;
}

type AgentSource = Pick<SourceRow, "id" | "network" | "type">;

/**
 * Finds out about an agent, with one call of the provider, and a second one where no registry source
 * of ours knows its token well enough.
 *
 * @param source - any payment source of its policy
 * @param now - epoch milliseconds
 * @throws ApiError 404; ProviderError
 */
export async function findAgent(
  database: Database,
  provider: Pick<Provider, "assetHolders" | "assetMetadata">,
  source: AgentSource,
  agentIdentifier: string,
  now: number,
): Promise<Agent> {
  const holder = await findHolder(provider, source, agentIdentifier);
  return { holder, profile: await findProfile(database, provider, source, agentIdentifier, now) };
}

/** The wallet that holds an agent's token. @throws ApiError 404; ProviderError */
export async function findHolder(
  provider: Pick<Provider, "assetHolders">,
  { id, network }: AgentSource,
  agentIdentifier: string,
): Promise<SellerWallet> {
  const holder = await sellerWallet(provider, id, network, agentIdentifier);
  if (holder === null)
    throw new ApiError(404, "agentIdentifier: no wallet holds this agent's token");
  return holder;
}

/** What an agent's token says. @throws ApiError 404; ProviderError */
export async function findProfile(
  database: Database,
  provider: Pick<Provider, "assetMetadata">,
  { network, type }: AgentSource,
  agentIdentifier: string,
  now: number,
): Promise<AgentProfile> {
  const known = await freshProfile(database, network, agentIdentifier, now);
  if (known !== null && isEnough(known, type)) return known;
  const asset = await provider.assetMetadata(agentIdentifier);
  const read = readProfile(asset?.onchainMetadata ?? undefined);
  if (!read.ok)
    throw new ApiError(404, `agentIdentifier: the token's metadata cannot be read: ${read.reason}`);
  return read.profile;
}

/** The list of payment sources is missing in profiles that an earlier version of the service read. */
function isEnough({ paymentSources }: AgentProfile, type: PaymentSourceType): boolean {
  return type === "Web3ChainV1" || paymentSources !== undefined;
}
