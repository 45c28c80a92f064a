import * as z from "zod";
import { network } from "../http/openapi/chain-fields.ts";
import { defineTool } from "./tool.ts";
import { ToolError, trustFormatted, wrapUntrusted } from "./tool-result.ts";

/** What is read of a registry entry. */
export interface AgentEntry {
  agentIdentifier: string;
  apiBaseUrl: string;
  status: string;
  paymentType: string;
  AgentPricing: unknown;
  sellerWallet: { vkey: string };
  name: string;
  description: string | null;
  [field: string]: unknown;
}

export const agentIdentifier = z
  .string()
  .regex(/^([0-9a-fA-F]{2})*$/)
  .min(57)
  .max(250)
  .describe("Policy id and asset name of the agent, in hex, as find_agents answers it.");

const MAX_AGENTS = 20;

export const findAgentsTool = defineTool({
  name: "find_agents",
  title: "Find agents",
  description:
    'Searches the registry for agents that sell services. Returns identifiers and, as untrusted_data, names and prices. Amounts are in minor units of `unit`, where "" is the network\'s native coin (1,000,000 minor units are one coin). Moves no money.',
  access: "User",
  hints: { isReadOnly: true, isOpenWorld: false },
  input: z.object({
    network,
    query: z
      .string()
      .min(1)
      .max(250)
      .describe("Words of what is needed, such as `translate german`."),
    limit: z.int().min(1).max(MAX_AGENTS).default(10).describe("Agents at most."),
  }),
  async run({ service }, { network, query, limit }) {
    const { entries } = await service.callApi<{ entries: AgentEntry[] }>(
      "POST",
      "/registry-entry-search",
      {
        network,
        query,
        limit,
      },
    );
    return {
      agents: entries.map(({ agentIdentifier, status, AgentPricing, paymentType, ...entry }) => ({
        agentIdentifier: trustFormatted("hex", agentIdentifier),
        status: trustFormatted("name", status),
        paymentType: trustFormatted("name", paymentType),
        ...wrapUntrusted({
          name: entry.name,
          description: entry.description,
          tags: entry.tags,
          pricing: AgentPricing,
        }),
      })),
    };
  },
});

export const showAgentTool = defineTool({
  name: "show_agent",
  title: "Show an agent",
  description:
    "Shows an agent's price, status and input schema. Call this tool before quote_job. Moves no money.",
  access: "User",
  hints: { isReadOnly: true, isOpenWorld: true },
  input: z.object({ agentIdentifier }),
  async run({ service }, { agentIdentifier }) {
    const path = `/payment-information?agentIdentifier=${encodeURIComponent(agentIdentifier)}`;
    const agent = await service.callApi<AgentEntry>("GET", path);
    const { status, paymentType, AgentPricing, sellerWallet, apiBaseUrl, ...rest } = agent;
    const about = Object.fromEntries(
      ["name", "description", "tags", "authorName", "authorOrganization", "termsAndCondition"].map(
        (field) => [field, rest[field]],
      ),
    );
    const schema = await service.callAgent(apiBaseUrl, "/input_schema").catch((error: unknown) => {
      if (error instanceof ToolError) return { error: error.text, detail: error.detail };
      throw error;
    });
    return {
      agentIdentifier: trustFormatted("hex", agentIdentifier),
      status: trustFormatted("name", status),
      paymentType: trustFormatted("name", paymentType),
      sellerVkey: trustFormatted("hex", sellerWallet.vkey),
      ...wrapUntrusted({ ...about, pricing: AgentPricing, apiBaseUrl, inputSchema: schema }),
    };
  },
});
