import { and, asc, eq, isNull } from "drizzle-orm";
import type { Network, PaymentSourceType } from "../../chain/network.ts";
import type { Provider } from "../../chain/provider/provider.ts";
import { POLICY_ID_LENGTH } from "../../chain/unit.ts";
import type { Database } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import { type AgentProfile, readProfile } from "../../registry/entries/profile.ts";
import { loadFreshProfile } from "../../registry/entries/read-entries.ts";
import { loadTokenMetadata } from "../../registry/metadata/load-token-metadata.ts";
import { findSellerWallet, type SellerWallet } from "../../registry/token-holder.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import { paymentSource } from "../../sources/tables.ts";
import { listActiveWallets } from "../../wallets/managed/find-wallet.ts";
import type { WalletRow } from "../../wallets/managed/tables.ts";

type AgentSource = Pick<SourceRow, "id" | "network">;

/** The wallet that holds an agent's token. @throws ApiError 404; ProviderError */
export async function findTokenHolder(
  provider: Pick<Provider, "assetHolders">,
  { id, network }: AgentSource,
  agentIdentifier: string,
): Promise<SellerWallet> {
  const holder = await findSellerWallet(provider, id, network, agentIdentifier);
  if (holder === null)
    throw new ApiError(404, "agentIdentifier: no wallet holds this agent's token");
  return holder;
}

/** What an agent's token says. @throws ApiError 404; ProviderError */
export async function findAgentProfile(
  database: Database,
  provider: Pick<Provider, "assetMint" | "transactionCbor">,
  { network }: AgentSource,
  agentIdentifier: string,
  now: number,
): Promise<AgentProfile> {
  const known = await loadFreshProfile(database, network, agentIdentifier, now);
  return known ?? loadTokenProfile(provider, agentIdentifier);
}

/** The same, from the transaction that minted the token. @throws ApiError 404; ProviderError */
export async function loadTokenProfile(
  provider: Pick<Provider, "assetMint" | "transactionCbor">,
  agentIdentifier: string,
): Promise<AgentProfile> {
  const read = readProfile(await loadTokenMetadata(provider, agentIdentifier));
  if (!read.ok)
    throw new ApiError(404, `agentIdentifier: the token's metadata cannot be read: ${read.reason}`);
  return read.profile;
}

/** The followed payment sources of an agent's policy, oldest first. */
export function listSourcesOfPolicy(
  core: Database,
  network: Network,
  agentIdentifier: string,
): Promise<SourceRow[]> {
  return core.orm
    .select()
    .from(paymentSource)
    .where(policyCondition(network, agentIdentifier))
    .orderBy(asc(paymentSource.createdAt), asc(paymentSource.id));
}

const policyCondition = (network: Network, agentIdentifier: string) =>
  and(
    eq(paymentSource.network, network),
    eq(paymentSource.policyId, agentIdentifier.slice(0, POLICY_ID_LENGTH)),
    isNull(paymentSource.deletedAt),
  );

/** The wallets in use of these sources, in the order in which they were added. */
export function listWalletsOfPolicy(
  core: Database,
  network: Network,
  agentIdentifier: string,
): Promise<WalletRow[]> {
  const sourceIds = core.orm
    .select({ id: paymentSource.id })
    .from(paymentSource)
    .where(policyCondition(network, agentIdentifier));
  return listActiveWallets(core, sourceIds);
}

/**
 * The same, all of one type; at least one.
 *
 * @throws ApiError 404 when there is none, 400 when none is of the given type
 */
export async function listSourcesOfAgent(
  core: Database,
  network: Network,
  agentIdentifier: string,
  type?: PaymentSourceType,
): Promise<readonly [SourceRow, ...SourceRow[]]> {
  const rows = await listSourcesOfPolicy(core, network, agentIdentifier);
  const [oldest] = rows;
  if (!oldest)
    throw new ApiError(404, "agentIdentifier: no payment source has this agent's policy");
  const [first, ...others] = rows.filter((row) => row.type === (type ?? oldest.type));
  if (!first)
    throw new ApiError(400, `paymentSourceType: the agent's payment source is of ${oldest.type}`);
  return [first, ...others];
}
