import type { Network } from "../chain/network.ts";
import type { Database } from "../db/client.ts";

/** What one enabled EVM chain has of what payments need. */
export interface ChainReadiness {
  caip2Id: string;
  hasRpcUrl: boolean;
  hasFacilitator: boolean;
  hasSellingWallet: boolean;
  hasPurchasingWallet: boolean;
  /** Whether a key may still pay from such a wallet. */
  hasBudget: boolean;
}

/** The enabled EVM chains that go with a network: testnets with Preprod, others with Mainnet. */
export async function enabledChains(core: Database, network: Network): Promise<ChainReadiness[]> {
  const rows = await core.all<Record<keyof ChainReadiness, unknown> & { caip2Id: string }>(
    `SELECT caip2_id AS caip2Id, rpc_url <> '' AS hasRpcUrl,
       EXISTS (SELECT 1 FROM x402_wallet AS w
         WHERE w.id = n.facilitator_wallet_id AND w.deleted_at IS NULL) AS hasFacilitator,
       ${walletOf("Selling", "")} AS hasSellingWallet,
       ${walletOf("Purchasing", "")} AS hasPurchasingWallet,
       ${walletOf(
         "Purchasing",
         `AND EXISTS (SELECT 1 FROM x402_budget AS b WHERE b.evm_wallet_id = w.id
           AND b.is_enabled = 1 AND b.remaining_amount <> '0')`,
       )} AS hasBudget
     FROM x402_network AS n WHERE is_enabled = 1 AND is_testnet = ? ORDER BY caip2_id`,
    network === "Preprod" ? 1 : 0,
  );
  return rows.map(({ caip2Id, ...has }) => ({
    caip2Id,
    hasRpcUrl: has.hasRpcUrl === 1,
    hasFacilitator: has.hasFacilitator === 1,
    hasSellingWallet: has.hasSellingWallet === 1,
    hasPurchasingWallet: has.hasPurchasingWallet === 1,
    hasBudget: has.hasBudget === 1,
  }));
}

function walletOf(type: "Selling" | "Purchasing", more: string): string {
  return `EXISTS (SELECT 1 FROM x402_wallet AS w WHERE w.caip2_id = n.caip2_id
    AND w.type = '${type}' AND w.deleted_at IS NULL ${more})`;
}
