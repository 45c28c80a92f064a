/** Agents and inbox agents, from their registration to the removal of their records. */
import { until } from "../../../devnet/client/wait.ts";
import { contractOf } from "../../../devnet/contracts/index.ts";
import { NETWORK as EVM_NETWORK } from "../../../devnet/demo/x402/rail.ts";
import { PAYEE } from "../../../devnet/demo/x402/resource.ts";
import type { Call } from "../peer-caller.ts";
import type { Scene } from "../scene.ts";

const NETWORK = "Preprod";
const query = { network: NETWORK };

/** What the other calls buy from. */
export interface RegisteredAgents {
  agentIdentifier: string;
  /** Costs more than any wallet has. */
  dear: string;
  onV2: string;
  /** Id of the EVM source of the agent of Web3CardanoV2. */
  evmSourceId: string;
}

/** Registers agents of both contracts, and updates, lists, deregisters and removes one. */
export async function callRegistry(call: Call, scene: Scene): Promise<RegisteredAgents> {
  const { parties, service } = scene;
  const { seller, otherSeller } = parties.Web3ChainV1;
  const describe = (name: string) => ({
    network: NETWORK,
    name,
    description: "An agent of the peer's client.",
    apiBaseUrl: `${service.agents.url}/${name.toLowerCase().replace(" ", "-")}`,
    ExampleOutputs: [
      { name: "Example", url: "https://example.com/output.json", mimeType: "application/json" },
    ],
    Tags: ["test"],
    Capability: { name: "advice", version: "1.0.0" },
    Author: { name: "The peer", contactEmail: "", organization: "" },
    Legal: { terms: "https://example.com/terms" },
  });
  const priced = (amount: string) => ({
    AgentPricing: { pricingType: "Fixed", Pricing: [{ unit: "lovelace", amount }] },
  });
  const register = (name: string, vkey: string, more: object) =>
    call("POST /registry", { body: { ...describe(name), sellingWalletVkey: vkey, ...more } });
  const supportedPaymentSources = [
    {
      chain: "Cardano",
      network: NETWORK,
      paymentSourceType: "Web3CardanoV2",
      address: contractOf("Web3ChainV2").address,
      pricing: { pricingType: "Fixed", fixed: [{ asset: "lovelace", amount: "5000000" }] },
    },
    {
      chain: "EVM",
      network: EVM_NETWORK,
      paymentSourceType: null,
      scheme: "Exact",
      payTo: PAYEE,
      pricing: {
        pricingType: "Fixed",
        fixed: [{ asset: scene.x402.node.token, amount: "10000", decimals: 6 }],
      },
    },
  ];
  const first = await register("Adviser", seller.vkey, priced("5000000"));
  const dear = await register("Dear", seller.vkey, priced("9000000000000000"));
  const leaving = await register("Leaving", otherSeller.vkey, priced("5000000"));
  const onV2 = await register("Second", parties.Web3ChainV2.seller.vkey, {
    supportedPaymentSources,
  });

  const confirmed = await confirm(call, "/registry", onV2.id, "RegistrationConfirmed");
  const { agentIdentifier } = await confirm(call, "/registry", first.id, "RegistrationConfirmed");
  await call("GET /registry/agent-identifier", { query: { ...query, agentIdentifier } });
  await call("GET /registry/agent-identifier", {
    query: { ...query, agentIdentifier: confirmed.agentIdentifier },
  });
  for (const walletVkey of [seller.vkey, parties.Web3ChainV2.seller.vkey])
    await call("GET /registry/wallet", { query: { ...query, walletVkey } });
  await call("GET /registry/count", { query });
  await call("POST /registry/update", {
    body: { ...describe("Second edition"), agentIdentifier: confirmed.agentIdentifier },
  });
  const updated = await confirm(call, "/registry", onV2.id, "UpdateConfirmed");

  const left = await confirm(call, "/registry", leaving.id, "RegistrationConfirmed");
  await call("POST /registry/deregister", {
    body: { network: NETWORK, agentIdentifier: left.agentIdentifier },
  });
  await confirm(call, "/registry", leaving.id, "DeregistrationConfirmed");
  await call("GET /registry/diff", { query: { ...query, limit: "10" } });
  await call("DELETE /registry", { body: { id: leaving.id } });
  const dearOne = await confirm(call, "/registry", dear.id, "RegistrationConfirmed");
  const evm = updated.supportedPaymentSources.find((one: { chain: string }) => one.chain === "EVM");
  return {
    agentIdentifier,
    dear: dearOne.agentIdentifier,
    onV2: updated.agentIdentifier,
    evmSourceId: evm.id,
  };
}

/** The same of an inbox agent. */
export async function callInboxAgents(call: Call, { parties }: Scene): Promise<void> {
  const { vkey } = parties.Web3ChainV1.otherSeller;
  const created = await call("POST /inbox-agents", {
    body: {
      network: NETWORK,
      sellingWalletVkey: vkey,
      name: "Inbox",
      description: "An inbox of the peer's client.",
      agentSlug: "peer-inbox",
    },
  });
  const { agentIdentifier } = await confirm(
    call,
    "/inbox-agents",
    created.id,
    "RegistrationConfirmed",
  );
  await call("GET /inbox-agents/wallet", { query: { ...query, walletVkey: vkey } });
  await call("GET /inbox-agents/agent-identifier", { query: { ...query, agentIdentifier } });
  await call("GET /inbox-agents/count", { query });
  await call("POST /inbox-agents/deregister", { body: { network: NETWORK, agentIdentifier } });
  await confirm(call, "/inbox-agents", created.id, "DeregistrationConfirmed");
  await call("GET /inbox-agents/diff", { query: { ...query, limit: "10" } });
  await call("DELETE /inbox-agents", { body: { id: created.id } });
}

/** Lists until a registration is in a state. */
function confirm(call: Call, path: string, id: string, state: string) {
  return until(
    async () => {
      const { Assets } = await call(`GET ${path}`, { query: { ...query, limit: "100" } });
      const found = Assets.find((one: { id: string }) => one.id === id);
      if (found?.state.endsWith("Failed")) throw new Error(`${path} ${id}: ${found.error}`);
      return found?.state === state && found;
    },
    { what: `${path} ${id} ${state}`, everyMs: 500, limitMs: 120_000 },
  );
}
