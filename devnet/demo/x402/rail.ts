/** The EVM node of the local service as a network of its x402 rail. */

import { type ApiAccess, ask } from "../../client/api.ts";
import { giveGas } from "../../evm/money.ts";
import type { EvmNode } from "../../evm/node.ts";

/** The number that local EVM chains have by custom; no public chain has it. */
export const CHAIN_ID = 31_337;
/** CAIP-2 id. */
export const NETWORK = `eip155:${CHAIN_ID}`;

/** CAIP-2 id of a node's chain. */
export const networkOf = ({ chainId = CHAIN_ID }: { chainId?: number }) => `eip155:${chainId}`;

/**
 * Tells the service where the node is, which may have changed, and gives the network a
 * facilitator wallet with gas unless it was kept.
 *
 * @throws when the service refuses.
 */
export async function ensureRail(admin: ApiAccess, node: EvmNode): Promise<void> {
  const network = networkOf(node);
  const { facilitatorWalletId } = await ask<{ facilitatorWalletId: string | null }>(
    admin,
    "POST",
    "/x402/networks",
    {
      caip2Id: network,
      displayName: "Local EVM chain",
      rpcUrl: node.url,
      isTestnet: true,
      defaultAsset: node.token,
    },
  );
  if (facilitatorWalletId !== null) return;
  const wallet = await ask<{ id: string; address: string }>(admin, "POST", "/x402/wallets", {
    caip2Network: network,
    type: "Selling",
    note: "Facilitator of npm start",
  });
  await giveGas(node, wallet.address);
  await ask(admin, "POST", "/x402/networks", { caip2Id: network, facilitatorWalletId: wallet.id });
}
