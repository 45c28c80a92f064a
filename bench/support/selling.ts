/** A payment source with a selling and a purchasing wallet, and agents, through the API. */
import { contractOf } from "../../devnet/contracts/index.ts";
import { TERMS } from "../../devnet/contracts/terms.ts";
import { ADMIN, BUYERS, SELLERS } from "../../devnet/demo/actors/wallets.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { type BenchService, call } from "./service.ts";

/** The selling wallet. */
export const SELLER = SELLERS[0];

export async function createSource(
  service: BenchService,
  type: PaymentSourceType = "Web3ChainV2",
  { sells, buys } = { sells: true, buys: true },
): Promise<void> {
  const contract = contractOf(type);
  await call(service, "/api/v1/payment-source-extended", {
    method: "POST",
    body: {
      network: "Preprod",
      paymentSourceType: contract.type,
      smartContractAddress: contract.address,
      policyId: contract.policy.hash,
      PaymentSourceConfig: { rpcProviderApiKey: "bench", rpcProvider: "Blockfrost" },
      AdminWallets: TERMS[type].adminVkeys.map(() => ({ walletAddress: ADMIN.address })),
      FeeReceiverNetworkWallet: { walletAddress: ADMIN.address },
      requiredAdminSignatures: TERMS[type].requiredAdminSignatures,
      feeRatePermille: 50,
      SellingWallets: sells ? [{ walletMnemonic: SELLER.mnemonic }] : [],
      PurchasingWallets: buys ? [{ walletMnemonic: BUYERS[0].mnemonic }] : [],
    },
  });
}

/** What an agent may ask for a job. */
export type Pricing = { pricingType: "Free" } | { pricingType: "Fixed"; Pricing: object[] };

/** Asks for an agent to be registered. @returns its record */
export function register<Record>(
  service: BenchService,
  name: string,
  pricing: Pricing = { pricingType: "Free" },
): Promise<Record> {
  return call(service, "/api/v1/registry", {
    method: "POST",
    body: {
      network: "Preprod",
      sellingWalletVkey: SELLER.vkey,
      name,
      description: "It is registered to see what that costs.",
      apiBaseUrl: "https://agent.example.com",
      Tags: ["bench"],
      Capability: { name: "being measured", version: "1.0.0" },
      Author: { name: "The bench" },
      AgentPricing: pricing,
    },
  });
}
