/** The payment sources of the local service, created through its API as an operator would. */
import { ADMIN, CASTS, type Wallet } from "./actors/wallets.ts";
import { type ApiAccess, ask } from "./api.ts";
import { CONTRACTS, type DevnetContract } from "./contracts/index.ts";

const PATH = "/payment-source-extended";

/**
 * Creates a payment source for each contract that has none; its managed wallets are the actors'
 * wallets.
 *
 * @throws when the service refuses.
 */
export async function ensureSources(service: ApiAccess): Promise<void> {
  const { ExtendedPaymentSources } = await ask<{
    ExtendedPaymentSources: { smartContractAddress: string }[];
  }>(service, "GET", `${PATH}?network=Preprod&limit=100`);
  const followed = ExtendedPaymentSources.map((source) => source.smartContractAddress);
  for (const contract of CONTRACTS) {
    if (followed.includes(contract.address)) continue;
    await ask(service, "POST", PATH, sourceOf(contract));
  }
}

function sourceOf({ type, address, policyId }: DevnetContract) {
  return {
    network: "Preprod",
    paymentSourceType: type,
    smartContractAddress: address,
    policyId,
    PaymentSourceConfig: { rpcProviderApiKey: "local-chain", rpcProvider: "Blockfrost" },
    AdminWallets: [{ walletAddress: ADMIN.address }],
    FeeReceiverNetworkWallet: { walletAddress: ADMIN.address },
    feeRatePermille: 50,
    SellingWallets: CASTS[type].sellers.map(managed),
    PurchasingWallets: CASTS[type].buyers.map(managed),
  };
}

const managed = ({ name, mnemonic }: Wallet) => ({
  walletMnemonic: mnemonic,
  note: name,
  collectionAddress: null,
});
