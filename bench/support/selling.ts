/** A payment source with one selling wallet, and agents registered by it, through the API. */
import { contractOf } from "../../devnet/contracts/index.ts";
import { ADMIN, SELLERS } from "../../devnet/demo/actors/wallets.ts";
import { type BenchService, call } from "./service.ts";

const CONTRACT = contractOf("Web3ChainV2");
/** The selling wallet. */
export const SELLER = SELLERS[0];

export async function createSource(service: BenchService): Promise<void> {
  await call(service, "/api/v1/payment-source-extended", {
    method: "POST",
    body: {
      network: "Preprod",
      paymentSourceType: CONTRACT.type,
      smartContractAddress: CONTRACT.address,
      policyId: CONTRACT.policy.hash,
      PaymentSourceConfig: { rpcProviderApiKey: "bench", rpcProvider: "Blockfrost" },
      AdminWallets: [{ walletAddress: ADMIN.address }],
      feeRatePermille: 50,
      SellingWallets: [{ walletMnemonic: SELLER.mnemonic }],
    },
  });
}

/** Asks for an agent to be registered. @returns its record */
export function register<Record>(service: BenchService, name: string): Promise<Record> {
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
      AgentPricing: { pricingType: "Free" },
    },
  });
}
