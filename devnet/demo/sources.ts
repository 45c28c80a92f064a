/** The payment sources of the local service, created through its API as an operator would. */

import { type ApiAccess, ask } from "../client/api.ts";
import type { Deployment } from "../contracts/deployment.ts";
import { contracts } from "../contracts/index.ts";
import { TERMS } from "../contracts/terms.ts";
import { ADMIN, CASTS, type Wallet } from "./actors/wallets.ts";

const PATH = "/payment-source-extended";

/**
 * Creates a payment source for each contract that has none. Its managed wallets are the actors'
 * wallets.
 *
 * @param drives - what the service does automatically with them
 * @param RpcProviders - their further chain providers
 * @throws when the service refuses.
 */
export async function ensureSources(
  service: ApiAccess,
  drives: "nothing" | "all",
  RpcProviders: object[] = [],
): Promise<void> {
  const followed = (await listed(service)).map((source) => source.smartContractAddress);
  for (const contract of contracts()) {
    if (followed.includes(contract.address)) continue;
    await ask(service, "POST", PATH, { ...sourceOf(contract), drives, RpcProviders });
  }
}

/** Has the service drive the wallets of every payment source from now on. */
export async function handOver(service: ApiAccess): Promise<void> {
  for (const { id } of await listed(service))
    await ask(service, "PATCH", PATH, { id, drives: "all" });
}

async function listed(service: ApiAccess): Promise<{ id: string; smartContractAddress: string }[]> {
  const { ExtendedPaymentSources } = await ask<{
    ExtendedPaymentSources: { id: string; smartContractAddress: string }[];
  }>(service, "GET", `${PATH}?network=Preprod&limit=100`);
  return ExtendedPaymentSources;
}

function sourceOf({ type, address, policy }: Deployment) {
  const { adminVkeys, requiredAdminSignatures } = TERMS[type];
  return {
    network: "Preprod",
    paymentSourceType: type,
    smartContractAddress: address,
    policyId: policy.hash,
    PaymentSourceConfig: { rpcProviderApiKey: "local-chain", rpcProvider: "Blockfrost" },
    // One person has all places of the contract, and so signs for as many as it needs.
    AdminWallets: adminVkeys.map(() => ({ walletAddress: ADMIN.address })),
    requiredAdminSignatures,
    FeeReceiverNetworkWallet: { walletAddress: ADMIN.address },
    feeRatePermille: type === "Web3ChainV1" ? 50 : 0,
    SellingWallets: CASTS[type].sellers.map(managed),
    PurchasingWallets: CASTS[type].buyers.map(managed),
  };
}

const managed = ({ name, mnemonic }: Wallet) => ({
  walletMnemonic: mnemonic,
  note: name,
  collectionAddress: null,
});
