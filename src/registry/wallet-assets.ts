import type { z } from "@hono/zod-openapi";
import type { Network } from "../chain/network.ts";
import type { Provider } from "../chain/provider.ts";
import { db } from "../db/client.ts";
import { open } from "../db/sealed.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { providerFor } from "../sources/provider.ts";
import { providerKeyPlace } from "../sources/record.ts";
import { chargeCall } from "./metered.ts";
import { type AgentProfile, isInboxMetadata, readProfile } from "./profile.ts";
import { shownProfile } from "./registration-record.ts";
import type { agentMetadata } from "./schemas.ts";

interface Asset {
  policyId: string;
  assetName: string;
  agentIdentifier: string;
  Metadata: z.input<typeof agentMetadata>;
}

/** A managed wallet with the payment source it belongs to. */
interface WalletRow {
  address: string;
  sourceId: string;
  policyId: string;
  sealedKey: string;
}

const POLICY_LENGTH = 56;
/** Tokens that one call reads: each is a call to the provider. */
const MAX_TOKENS = 100;
const PARALLEL = 5;

/**
 * The agents whose tokens lie in a managed wallet, read from the provider. Tokens whose metadata
 * cannot be read are left out.
 *
 * @throws ApiError 404 when no payment source has such a wallet; ProviderError
 */
export async function walletAssets(
  c: AppContext,
  query: { network: Network; vkey: string; smartContractAddress?: string | undefined },
): Promise<Asset[]> {
  const wallets = await findWallets(c, query);
  if (wallets.length === 0)
    throw new ApiError(404, "walletVKey: no payment source of this network has such a wallet");
  const assets: Asset[] = [];
  for (const wallet of wallets) {
    const key = await open(c.env, providerKeyPlace(wallet.sourceId), wallet.sealedKey);
    const provider = await providerFor(c.env, query.network, key);
    assets.push(...(await assetsOf(provider, wallet)));
  }
  await chargeCall(c, "registry-wallet");
  return assets;
}

async function findWallets(
  c: AppContext,
  { network, vkey, smartContractAddress }: Parameters<typeof walletAssets>[1],
): Promise<WalletRow[]> {
  const rows = await db(c.env, undefined, { deadline: c.var.deadline }).all<
    WalletRow & { contractAddress: string }
  >(
    `SELECT w.address, s.id AS sourceId, s.policy_id AS policyId,
       s.rpc_provider_api_key AS sealedKey, s.contract_address AS contractAddress
     FROM managed_wallet AS w JOIN payment_source AS s ON s.id = w.source_id
     WHERE w.network = ? AND w.vkey = ? AND w.deleted_at IS NULL AND s.deleted_at IS NULL`,
    network,
    vkey,
  );
  return rows.filter(
    (row) => smartContractAddress === undefined || row.contractAddress === smartContractAddress,
  );
}

async function assetsOf(provider: Provider, wallet: WalletRow): Promise<Asset[]> {
  const held = (await provider.addressFunds(wallet.address)) ?? [];
  const units = held
    .filter(({ unit, quantity }) => unit.startsWith(wallet.policyId) && BigInt(quantity) > 0n)
    .slice(0, MAX_TOKENS)
    .map(({ unit }) => unit);
  const assets: Asset[] = [];
  for (let i = 0; i < units.length; i += PARALLEL) {
    const read = await Promise.all(
      units.slice(i, i + PARALLEL).map(async (unit) => {
        const metadata = (await provider.assetMetadata(unit))?.onchainMetadata;
        const result = readProfile(metadata ?? undefined);
        return result.ok && !isInboxMetadata(metadata) ? assetOf(unit, result.profile) : null;
      }),
    );
    assets.push(...read.filter((asset) => asset !== null));
  }
  return assets;
}

function assetOf(unit: string, profile: AgentProfile): Asset {
  return {
    policyId: unit.slice(0, POLICY_LENGTH),
    assetName: unit.slice(POLICY_LENGTH),
    agentIdentifier: unit,
    Metadata: shownProfile(profile),
  };
}
