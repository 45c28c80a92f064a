/** Buys a job: finds an agent, has it quote, locks the price in escrow, and checks the result. */
import { randomBytes } from "node:crypto";
import { buy, createClient, hashInput, matchesResult, unwrap } from "agent-payment-service-client";

const { SERVICE_URL, SERVICE_TOKEN, AGENT } = process.env;
if (!SERVICE_URL || !SERVICE_TOKEN) {
  console.error("Set SERVICE_URL and SERVICE_TOKEN, which npm start prints.");
  process.exit(1);
}
const network = "Preprod";
const job = randomBytes(10).toString("hex"); // the buyer's identifier of the job: 7 to 13 bytes
const input = { text: "Guten Tag" };
const atMost = [{ unit: "", amount: "5000000" }]; // 5 ADA

const client = createClient({ baseUrl: SERVICE_URL, token: SERVICE_TOKEN });
const { name, apiBaseUrl } = await findAgent(AGENT || "Steady translator");
console.log(`buying from "${name}", which takes up to a minute`);
const quote = await ask("start_job", { identifier_from_purchaser: job, input_data: input });
const inputHash = await hashInput(job, input);
const order = { network, quote, identifierFromPurchaser: job, inputHash, atMost } as const;
const { id, resultHash } = await buy(client, order, { everyMs: 1000 });
const { result } = await ask(`status?job_id=${quote.job_id}`);
console.log("bought:", result);
console.log("the result has the hash on the chain:", await matchesResult(resultHash, job, result));
console.log("purchase:", id);

async function findAgent(query: string) {
  const body = { network, query } as const;
  const { entries } = unwrap(await client.POST("/api/v1/registry-entry-search", { body }));
  const agent = entries.find((one) => one.name === query);
  if (agent) return agent;
  console.error(`The registry has no agent "${query}".`);
  process.exit(1);
}

/** Calls the agent: a GET, or a POST of JSON. */
async function ask(path: string, body?: object) {
  const headers = { "content-type": "application/json" };
  const init = body && { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(`${apiBaseUrl}/${path}`, init);
  if (!response.ok) throw new Error(`The agent answered: ${await response.text()}`);
  return response.json();
}
