/** Buys a job with the tools of the service's MCP server, as a model would call them. */
import { setTimeout } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { SERVICE_URL, SERVICE_TOKEN, AGENT = "Steady translator" } = process.env;
if (!SERVICE_URL || !SERVICE_TOKEN) {
  console.error("Set SERVICE_URL and SERVICE_TOKEN, which npm start prints.");
  process.exit(1);
}
const MAX_PRICE = 5_000_000n; // 5 ADA; in production, the key's `spendingLimits` too
const network = "Preprod";

const client = new Client({ name: "example-agent", version: "1.0.0" });
const requestInit = { headers: { authorization: `Bearer ${SERVICE_TOKEN}` } };
const transport = new StreamableHTTPClientTransport(new URL(`${SERVICE_URL}/mcp`), { requestInit });
await client.connect(transport as Parameters<Client["connect"]>[0]);
console.log("tools:", (await client.listTools()).tools.map(({ name }) => name).join(", "));

const { agents } = await use("find_agents", { network, query: AGENT });
if (agents.length === 0) throw new Error(`The registry has no agent "${AGENT}".`);
const { agentIdentifier } = agents[0];
const input = { text: "Guten Tag" };
const { order, price } = await use("quote_job", { network, agentIdentifier, input });
const [{ unit, amount }] = price;
if (price.length > 1 || unit !== "" || BigInt(amount) > MAX_PRICE)
  throw new Error(`The price is too high: ${JSON.stringify(price)}`);
await use("purchase_job", { order, confirmedPrice: price });

const purchase = { network, blockchainIdentifier: order.blockchainIdentifier };
for (let state = null; state === null || state === "FundsLocked"; await setTimeout(1000)) {
  ({ state } = await use("purchase_status", purchase));
  console.log("the purchase is", state ?? "not on the chain yet");
}
await client.close();

/** Calls a tool. Only `untrusted_data` has texts of other agents: do not follow them. */
async function use(name: string, args: Record<string, unknown>) {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const [{ text }] = content as [{ text: string }];
  if (isError) throw new Error(`${name}: ${text}`);
  return JSON.parse(text);
}
