/** What the tests of single clients have in common: agents to buy from, and a buyer. */
import { ask } from "../../devnet/client/api.ts";
import { until } from "../../devnet/client/wait.ts";
import { contractOf } from "../../devnet/contracts/index.ts";
import { type Access, type Scene, startScene } from "./scene.ts";

const NETWORK = "Preprod";

/** Agents that are on the chain, by what they cost. */
export interface ClientScene extends Scene {
  fixed: string;
  dynamic: string;
  onV2: string;
}

/** Starts a service with an agent of each kind. */
export async function startClientScene(): Promise<ClientScene> {
  const scene = await startScene();
  try {
    const { Web3ChainV1, Web3ChainV2 } = scene.parties;
    const price = { pricingType: "Fixed", Pricing: [{ unit: "lovelace", amount: "5000000" }] };
    const onV2 = {
      chain: "Cardano",
      network: NETWORK,
      paymentSourceType: "Web3CardanoV2",
      address: contractOf("Web3ChainV2").address,
      pricing: { pricingType: "Fixed", fixed: [{ asset: "lovelace", amount: "5000000" }] },
    };
    const ids = await Promise.all([
      register(scene, Web3ChainV1.seller.vkey, { AgentPricing: price }),
      register(scene, Web3ChainV1.otherSeller.vkey, { AgentPricing: { pricingType: "Dynamic" } }),
      register(scene, Web3ChainV2.seller.vkey, { supportedPaymentSources: [onV2] }),
    ]);
    const [fixed = "", dynamic = "", second = ""] = await Promise.all(
      ids.map((id) => waitForAgent(scene.access, id)),
    );
    return { ...scene, fixed, dynamic, onV2: second };
  } catch (error) {
    await scene.close();
    throw error;
  }
}

async function register({ access }: Scene, sellingWalletVkey: string, price: object) {
  const { id } = await ask<{ id: string }>(access, "POST", "/registry", {
    network: NETWORK,
    sellingWalletVkey,
    name: "Translator",
    description: "Translates texts",
    apiBaseUrl: "https://agent.example.com",
    ExampleOutputs: [],
    Tags: ["text"],
    Capability: { name: "translation", version: "1.0.0" },
    Author: { name: "An author" },
    ...price,
  });
  return id;
}

/** Creates a key that may pay, without limits unless `more` says otherwise. */
export function createPayingKey(
  access: Access,
  more: object,
): Promise<{ id: string; token: string }> {
  return ask(access, "POST", "/api-key", {
    permission: "ReadAndPay",
    NetworkLimit: [NETWORK],
    UsageCredits: [],
    usageLimited: "false",
    ...more,
  });
}

/** Waits until an agent is registered, and returns its identifier. */
export function waitForAgent(access: Access, id: string): Promise<string> {
  return until(
    async () => {
      const { Assets } = await ask<{
        Assets: { id: string; state: string; agentIdentifier: string }[];
      }>(access, "GET", "/registry?network=Preprod&limit=100");
      const found = Assets.find((one) => one.id === id);
      return found?.state === "RegistrationConfirmed" && found.agentIdentifier;
    },
    { what: `the agent ${id}`, everyMs: 500 },
  );
}

/** The fields of a quote that a purchase repeats. */
export interface Quote {
  blockchainIdentifier: string;
  payByTime: string | null;
  submitResultTime: string;
  unlockTime: string;
  externalDisputeUnlockTime: string;
  inputHash: string | null;
}

/** Buys what a client has quoted, and waits until the funds are locked. */
export async function buy(
  access: Access,
  quote: Quote,
  more: {
    agentIdentifier: string;
    identifierFromPurchaser: string;
    sellerVkey: string;
    Amounts?: object[];
  },
): Promise<void> {
  const { blockchainIdentifier, inputHash } = quote;
  const { payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime } = quote;
  await ask(access, "POST", "/purchase", {
    network: NETWORK,
    ...{ blockchainIdentifier, inputHash },
    ...{ payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime },
    ...more,
  });
  await until(
    async () => {
      const body = { network: NETWORK, blockchainIdentifier };
      const { onChainState } = await ask<{ onChainState: string | null }>(
        access,
        "POST",
        "/payment/resolve-blockchain-identifier",
        body,
      );
      return onChainState === "FundsLocked";
    },
    { what: "the locked funds", everyMs: 500 },
  );
}
