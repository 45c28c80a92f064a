/**
 * The demo's agent registry: agents that stay well, come and go, retired, or cannot be read, so that
 * every status there is occurs.
 */

import { type ApiAccess, ask, Refused } from "../client/api.ts";
import { until } from "../client/wait.ts";
import { contractOf } from "../contracts/index.ts";
import type { Chain } from "../ledger/chain.ts";
import type { Metadatum } from "./actors/metadata.ts";
import { burnToken, mintToken } from "./actors/registry.ts";
import { CASTS } from "./actors/wallets.ts";
import type { Agents } from "./agents.ts";

const TYPE = "Web3ChainV1";
/** The agent that the guides and examples buy from. */
const TRANSLATOR = "Steady translator";
const POLL_MS = 500;
/** Texts of metadata are cut into pieces of at most this many bytes. */
const PIECE = /.{1,60}/gs;

/**
 * Creates the registry source of the demo's policy, unless it is there.
 *
 * @throws when the service answers anything else.
 */
export async function ensureRegistrySource(service: ApiAccess): Promise<void> {
  try {
    await ask(service, "POST", "/registry-source", {
      network: "Preprod",
      policyId: contractOf(TYPE).policy.hash,
      note: "local chain",
      rpcProviderApiKey: "local-chain",
    });
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 409) throw error;
  }
}

/**
 * Registers the demo's agents.
 *
 * @throws LedgerRejection when the ledger refuses a transaction.
 */
export function registerAgents(chain: Chain, agents: Agents): void {
  const [holder] = CASTS[TYPE].sellers;
  if (!holder) throw new Error("the demo's payment source has no wallet");
  const contract = contractOf(TYPE);
  const register = (name: string, metadata: Metadatum) =>
    mintToken(chain, contract, holder, { ...(metadata as object), name: pieces(name) });

  register(TRANSLATOR, agentMetadata(`${agents.url}/steady`, "translation"));
  agents.behave("restless", "restless");
  register("Restless forecaster", agentMetadata(`${agents.url}/restless`, "forecast"));
  burnToken(
    chain,
    register("Retired summariser", agentMetadata(`${agents.url}/retired`, "summary")),
  );
  register("Garbled", { metadata_version: "1" });
}

/**
 * Waits until the service's search finds the agent that the guides buy from.
 *
 * @returns the agent's identifier
 * @throws when the signal aborts
 */
export function findTranslator(service: ApiAccess, signal: AbortSignal): Promise<string> {
  const look = async () => {
    const { entries } = await ask<{ entries: { agentIdentifier: string }[] }>(
      service,
      "POST",
      "/registry-entry-search",
      { network: "Preprod", query: TRANSLATOR },
    );
    return entries[0]?.agentIdentifier;
  };
  return until(look, { what: `${TRANSLATOR} in the registry`, everyMs: POLL_MS, signal });
}

function agentMetadata(apiBaseUrl: string, capability: string): Metadatum {
  return {
    description: pieces("An agent of the local chain's demo."),
    api_base_url: pieces(apiBaseUrl),
    capability: { name: pieces(capability), version: pieces("1.0.0") },
    author: { name: pieces("The demo") },
    tags: ["demo", capability],
    agentPricing: {
      pricingType: "Fixed",
      fixedPricing: [{ unit: [], amount: "5000000" }],
    },
    image: pieces("ipfs://demo"),
    metadata_version: "1",
  };
}

const pieces = (text: string): string[] => text.match(PIECE) ?? [];
