import { agentBody, inboxBody, OPEN_NAME } from "../deployment/agents.ts";
import { type Probe, type Probes, probeWith } from "./probe.ts";

const SINCE = "1970-01-01";

function probeList(): Probe[] {
  return probeWith(
    ({ network }) => ({ network, limit: 100 }),
    ({ network, contractAddress }) => ({ network, filterSmartContractAddress: contractAddress }),
    ({ network }) => ({ network, searchQuery: OPEN_NAME }),
  );
}

/** Requests to the diff and the count of registrations. */
const probeChanges = (path: string): Probes => ({
  [`GET ${path}/diff`]: probeWith(
    ({ network }) => ({ network, limit: 100 }),
    ({ network, contractAddress }) => ({ network, filterSmartContractAddress: contractAddress }),
  ),
  [`GET ${path}/count`]: [
    {
      fields: ({ network }) => ({ network }),
      reveals: {
        audience: "wallets",
        isRevealed: (body) => JSON.parse(body).data.total > 0,
      },
    },
  ],
});

const probeDeregister = (name: "agentIdentifier" | "inboxIdentifier") =>
  probeWith((resources) => ({ network: resources.network, agentIdentifier: resources[name] }));

const probeWallet = probeWith(({ network, sellerVkey }) => ({ network, walletVKey: sellerVkey }));

const probeInboxAgents = (path: string): Probes => ({
  [`GET ${path}`]: probeList(),
  ...probeChanges(path),
  [`GET ${path}/wallet`]: probeWallet,
  [`GET ${path}/agent-identifier`]: [
    {
      fields: ({ network, mintedInboxIdentifier }) => ({
        network,
        agentIdentifier: mintedInboxIdentifier,
      }),
      reveals: { audience: "network", isRevealed: (body) => body.includes("agentSlug") },
    },
  ],
  [`POST ${path}`]: probeWith(({ sellerVkey }) => inboxBody(sellerVkey)),
  [`POST ${path}/deregister`]: probeDeregister("inboxIdentifier"),
  [`DELETE ${path}`]: probeWith(({ failedInboxAgentId }) => ({ id: failedInboxAgentId })),
});

/** Requests about agents, inbox agents, and the registries that list them. */
export const AGENT_PROBES: Probes = {
  "GET /registry": probeList(),
  ...probeChanges("/registry"),
  "POST /registry": probeWith(({ sellerVkey }) => agentBody(sellerVkey)),
  "DELETE /registry": [
    ...probeDeregister("agentIdentifier"),
    ...probeWith(({ failedRegistrationId }) => ({ id: failedRegistrationId })),
  ],
  "POST /registry/update": probeWith(({ sellerVkey, agentIdentifier }) => ({
    ...agentBody(sellerVkey),
    agentIdentifier,
  })),
  "POST /registry/deregister": probeDeregister("agentIdentifier"),
  ...probeInboxAgents("/inbox-agents"),
  ...probeInboxAgents("/registry-inbox"),
  "POST /registry-diff": probeWith(({ network }) => ({ network, statusUpdatedAfter: SINCE })),
  "POST /registry-entry": probeWith(({ network }) => ({ network, limit: 50 })),
  "POST /registry-entry-search": probeWith(({ network }) => ({ network, query: "translat" })),
  "GET /payment-information": probeWith(({ agentIdentifier }) => ({ agentIdentifier })),
  "GET /registry/wallet": probeWallet,
  "GET /registry/agent-identifier": [
    {
      fields: ({ network, agentIdentifier }) => ({ network, agentIdentifier }),
      reveals: { audience: "network", isRevealed: (body) => body.includes("Translator") },
    },
  ],
  "GET /capability": [
    {
      fields: ({ network }) => ({ network }),
      reveals: { audience: "network", isRevealed: (body) => body.includes("answering") },
    },
  ],
  "POST /inbox-agent-registration-refresh": probeWith(({ network, inboxIdentifier }) => ({
    network,
    agentIdentifier: inboxIdentifier,
  })),
  "POST /inbox-agent-registration": probeWith(
    ({ network }) => ({ network, limit: 50 }),
    ({ network, inboxSlug }) => ({ network, filter: { agentSlug: inboxSlug } }),
  ),
  "POST /inbox-agent-registration-search": probeWith(({ network }) => ({
    network,
    query: "inbox",
  })),
  "POST /inbox-agent-registration-diff": probeWith(({ network }) => ({
    network,
    statusUpdatedAfter: SINCE,
  })),
  "GET /registry-source": probeWith(() => ({})),
  "POST /registry-source": probeWith(({ network }, { free }) => ({
    network,
    policyId: free.policyId,
    rpcProviderApiKey: "key",
  })),
  "PATCH /registry-source": probeWith(({ registrySourceId }) => ({
    id: registrySourceId,
    note: "changed",
  })),
  "DELETE /registry-source": probeWith(({ registrySourceId }) => ({ id: registrySourceId })),
};
