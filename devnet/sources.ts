/** The payment sources of the local service, created through its API as an operator would. */
import { ADMIN, CASTS, type Wallet } from "./actors/wallets.ts";
import { CONTRACTS, type DevnetContract } from "./contracts/index.ts";

const PATH = "/api/v1/payment-source-extended";

/** A running service and an Admin key for it. */
export interface Administered {
  /** Origin without a trailing slash. */
  url: string;
  adminKey: string;
}

/**
 * Creates a payment source for each contract that has none; its managed wallets are the actors'
 * wallets.
 *
 * @throws when the service refuses.
 */
export async function ensureSources(service: Administered): Promise<void> {
  const { ExtendedPaymentSources } = await ask<{
    ExtendedPaymentSources: { smartContractAddress: string }[];
  }>(service, `${PATH}?network=Preprod&limit=100`, {});
  const followed = ExtendedPaymentSources.map((source) => source.smartContractAddress);
  for (const contract of CONTRACTS) {
    if (followed.includes(contract.address)) continue;
    await ask(service, PATH, { method: "POST", body: JSON.stringify(sourceOf(contract)) });
  }
}

/** @throws with the answer when it is not 2xx. */
async function ask<Data>(
  { url, adminKey }: Administered,
  path: string,
  init: RequestInit,
): Promise<Data> {
  const response = await fetch(`${url}${path}`, { ...init, headers: { token: adminKey } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return (JSON.parse(text) as { data: Data }).data;
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
