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
  { id, network, type }: Pick<SourceRow, "id" | "network" | "type">,
  agentIdentifier: string,
  now: number,
): Promise<Agent> {
  const holder = await sellerWallet(provider, id, network, agentIdentifier);
  if (holder === null)
    throw new ApiError(404, "agentIdentifier: no wallet holds this agent's token");
  const known = await freshProfile(database, network, agentIdentifier, now);
  if (known !== null && isEnough(known, type)) return { holder, profile: known };
  const asset = await provider.assetMetadata(agentIdentifier);
  const read = readProfile(asset?.onchainMetadata ?? undefined);
  if (!read.ok)
    throw new ApiError(404, `agentIdentifier: the token's metadata cannot be read: ${read.reason}`);
  return { holder, profile: read.profile };
}

/** The list of payment sources is missing in profiles that an earlier version of the service read. */
function isEnough({ paymentSources }: AgentProfile, type: PaymentSourceType): boolean {
  return type === "Web3ChainV1" || paymentSources !== undefined;
}
