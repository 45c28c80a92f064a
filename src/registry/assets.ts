import pMap, { pMapSkip } from "p-map";
import type * as z from "zod";
import { requireCredits } from "../api-keys/credits.ts";
import { chargeCall } from "../api-keys/run-with-charge.ts";
import type { Network } from "../chain/network.ts";
import type { Provider } from "../chain/provider/provider.ts";
import { POLICY_ID_LENGTH } from "../chain/unit.ts";
import { MAX_CONCURRENT_FETCHES } from "../connections.ts";
import { openDb } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { findReadProvider } from "../sources/find-read-provider.ts";
import { openSourceProvider } from "../sources/open-source-provider.ts";
import type { SourceOfProviders } from "../sources/source-row.ts";
import { readProfile } from "./entries/profile.ts";
import { toProfileResponse } from "./entries/profile-response.ts";
import { loadFreshProfile } from "./entries/read-entries.ts";
import type { agentMetadata } from "./entries/schemas.ts";
import { isInboxMetadata } from "./metadata/inbox.ts";
import { loadTokenMetadata } from "./metadata/load-token-metadata.ts";

interface Asset<Metadata> {
  policyId: string;
  assetName: string;
  agentIdentifier: string;
  Metadata: Metadata;
}

/** What a kind of agent shows of its token's metadata, the JSON under label 721. */
export type MetadataReader<Metadata> = (
  metadata: unknown,
) => { ok: true; metadata: Metadata } | { ok: false; reason: string };

type AgentMetadata = z.input<typeof agentMetadata>;

const readAgentMetadata: MetadataReader<AgentMetadata> = (value) => {
  const result = readProfile(value);
  return result.ok ? { ok: true, metadata: toProfileResponse(result.profile) } : result;
};

/** The same without inbox agents, which a wallet holds besides. */
const readListedMetadata: MetadataReader<AgentMetadata> = (value) =>
  isInboxMetadata(value)
    ? { ok: false, reason: "it is an inbox agent's" }
    : readAgentMetadata(value);

/** A managed wallet with the payment source it belongs to. */
interface WalletRow {
  address: string;
  source: SourceOfProviders;
  policyId: string;
}

/** Tokens that one call reads: each is two calls to the provider. */
const MAX_TOKENS = 100;

/** A query for the tokens of a wallet. */
interface WalletQuery {
  network: Network;
  /** Payment key hash, lower-case hex. */
  vkey: string;
  smartContractAddress?: string | undefined;
}

/** The agents whose tokens a managed wallet holds; see `listTokens`. */
export function listWalletAssets(c: AppContext, query: WalletQuery) {
  return listTokens(c, query, readListedMetadata);
}

/**
 * The tokens of a kind that a managed wallet holds, read from the provider. Tokens whose metadata
 * cannot be read are left out.
 *
 * @throws ApiError 404 when no payment source has such a wallet, 402; ProviderError
 */
export async function listTokens<Metadata>(
  c: AppContext,
  query: WalletQuery,
  readMetadata: MetadataReader<Metadata>,
): Promise<Asset<Metadata>[]> {
  const wallets = await findWallets(c, query);
  if (wallets.length === 0)
    throw new ApiError(404, "walletVKey: no payment source of this network has such a wallet");
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  await requireCredits(core, c.var.caller, "registry-wallet");
  const assets: Asset<Metadata>[] = [];
  for (const wallet of wallets) {
    const provider = await openSourceProvider(c.env, wallet.source, { caller: c.var.caller.id });
    assets.push(...(await loadAssets(provider, wallet, readMetadata)));
  }
  await chargeCall(c, "registry-wallet");
  return assets;
}

/**
 * An agent as its token describes it. The description comes from a registry source that was just read,
 * else from the provider of a payment source with its policy.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404 when its policy is not followed, the token has no owner, or its metadata cannot be
 *   read. ProviderError.
 */
export async function loadAgentAsset(
  c: AppContext,
  { network, agentIdentifier }: { network: Network; agentIdentifier: string },
  now: number,
): Promise<Asset<AgentMetadata>> {
  const database = openDb(c.env, network, { deadline: c.var.deadline });
  const known = await loadFreshProfile(database, network, agentIdentifier, now);
  return known
    ? toAsset(agentIdentifier, toProfileResponse(known))
    : loadToken(c, { network, agentIdentifier }, readAgentMetadata);
}

/**
 * A token that somebody holds, from the provider of a payment source with its policy.
 *
 * @throws ApiError 404; ProviderError
 */
export async function loadToken<Metadata>(
  c: AppContext,
  { network, agentIdentifier }: { network: Network; agentIdentifier: string },
  readMetadata: MetadataReader<Metadata>,
): Promise<Asset<Metadata>> {
  const toNotFoundError = (why: string) => new ApiError(404, `agentIdentifier: ${why}`);
  const policyId = agentIdentifier.slice(0, POLICY_ID_LENGTH);
  const provider = await findReadProvider(c, { network, policyId });
  if (provider === null) throw toNotFoundError("no payment source has this agent's policy");
  const holders = (await provider.assetHolders(agentIdentifier)) ?? [];
  // Its mint stays on the chain after the token was burned.
  if (!holders.some(({ quantity }) => BigInt(quantity) > 0n))
    throw toNotFoundError("nobody holds this agent's token");
  const result = readMetadata(await loadTokenMetadata(provider, agentIdentifier));
  if (!result.ok) throw toNotFoundError(`the token's metadata cannot be read: ${result.reason}`);
  return toAsset(agentIdentifier, result.metadata);
}

async function findWallets(
  c: AppContext,
  { network, vkey, smartContractAddress }: WalletQuery,
): Promise<WalletRow[]> {
  const rows = await openDb(c.env, undefined, { deadline: c.var.deadline }).all<
    SourceOfProviders & Omit<WalletRow, "source"> & { contractAddress: string }
  >(
    `SELECT w.address, s.id, s.network, s.policy_id AS policyId, s.contract_address AS contractAddress,
       s.rpc_provider_api_key AS rpcProviderApiKey, s.rpc_providers AS rpcProviders
     FROM managed_wallet AS w JOIN payment_source AS s ON s.id = w.source_id
     WHERE w.network = ? AND w.vkey = ? AND w.deleted_at IS NULL AND s.deleted_at IS NULL`,
    network,
    vkey,
  );
  return rows
    .filter(
      (row) => smartContractAddress === undefined || row.contractAddress === smartContractAddress,
    )
    .map(({ address, policyId, ...source }) => ({ address, policyId, source }));
}

async function loadAssets<Metadata>(
  provider: Provider,
  wallet: WalletRow,
  readMetadata: MetadataReader<Metadata>,
): Promise<Asset<Metadata>[]> {
  const held = (await provider.addressFunds(wallet.address)) ?? [];
  const units = held
    .filter(({ unit, quantity }) => unit.startsWith(wallet.policyId) && BigInt(quantity) > 0n)
    .slice(0, MAX_TOKENS)
    .map(({ unit }) => unit);
  const read = async (unit: string) => {
    const result = readMetadata(await loadTokenMetadata(provider, unit));
    return result.ok ? toAsset(unit, result.metadata) : pMapSkip;
  };
  return pMap(units, read, { concurrency: MAX_CONCURRENT_FETCHES });
}

function toAsset<Metadata>(unit: string, metadata: Metadata): Asset<Metadata> {
  return {
    policyId: unit.slice(0, POLICY_ID_LENGTH),
    assetName: unit.slice(POLICY_ID_LENGTH),
    agentIdentifier: unit,
    Metadata: metadata,
  };
}
