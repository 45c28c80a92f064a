/** An agent that buys with the tools of the service's MCP server, and how the agents of a soak quote. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { hashInput } from "../../client/hashes.ts";
import type { ApiAccess } from "../client/api.ts";
import type { Agents } from "../demo/agents.ts";
import { askForQuote, quoteAnswer } from "../demo/jobs.ts";

const NETWORK = "Preprod";
const INPUT = { text: "Guten Tag" };

/**
 * Makes the agents answer `start_job` of MIP-003 with quotes.
 *
 * @param identifierOf - an agent by its place at the agents' server
 * @param now - epoch milliseconds at which a job begins
 */
export function answerQuotes(
  agents: Agents,
  seller: ApiAccess,
  identifierOf: (agent: string) => string | undefined,
  now: () => number,
): void {
  agents.answerWith(async ({ agent, path, body }) => {
    const agentIdentifier = identifierOf(agent);
    if (path !== "start_job" || agentIdentifier === undefined) return null;
    const { identifier_from_purchaser: nonce, input_data: input } = Object(body);
    const inputHash = await hashInput(nonce, input);
    const quote = await askForQuote(seller, agentIdentifier, nonce, inputHash, now());
    return { status: 200, json: { status: "success", job_id: nonce, ...quoteAnswer(quote) } };
  });
}

/** Buys a job of an agent. @returns the order */
export async function buyWithTools(
  { url, token }: ApiAccess,
  agentIdentifier: string,
): Promise<{ blockchainIdentifier: string }> {
  const client = new Client({ name: "soak", version: "1.0.0" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  const use = async (name: string, args: Record<string, unknown>) => {
    const { content, isError } = await client.callTool({ name, arguments: args });
    const [{ text }] = content as [{ text: string }];
    if (isError) throw new Error(`${name}: ${text}`);
    return JSON.parse(text);
  };
  try {
    const job = { network: NETWORK, agentIdentifier, input: INPUT };
    const { order, price } = await use("quote_job", job);
    await use("purchase_job", { order, confirmedPrice: price });
    return order;
  } finally {
    await client.close();
  }
}
