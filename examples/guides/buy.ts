/** Buys one job from an agent, also when the program is started again. */
import { randomBytes } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import {
  buy,
  createClient,
  hashInput,
  matchesResult,
  PurchaseStopped,
  ServiceError,
} from "agent-payment-service-client";

const sources = {
  SERVICE_URL: "npm start prints the URL",
  SERVICE_TOKEN: "POST /api-key answers the key",
  AGENT_URL: "POST /registry-entry lists agents and their URLs",
};
for (const [name, source] of Object.entries(sources))
  if (!process.env[name]) {
    console.error(`${name} is not set: ${source}`);
    process.exit(1);
  }
process.chdir(import.meta.dirname); // order.json is beside the program
const { SERVICE_URL = "", SERVICE_TOKEN = "", AGENT_URL = "" } = process.env;
const { AT_MOST = "5000000", TEXT = "Guten Tag" } = process.env;
const client = createClient({ baseUrl: SERVICE_URL, token: SERVICE_TOKEN });
const input = { text: TEXT };
/** Codes of errors by which the key's limit is used up. */
const limits = ["spending_limit_exceeded", "insufficient_funds"];

/** Requests a quote. The hash is the buyer's own: a seller that read another input signs another one. */
async function requestQuote() {
  const job = randomBytes(10).toString("hex"); // 7 to 13 bytes
  const quote = await ask("start_job", { identifier_from_purchaser: job, input_data: input });
  const inputHash = await hashInput(job, input);
  const atMost = [{ unit: "", amount: AT_MOST }];
  return { network: "Preprod" as const, quote, identifierFromPurchaser: job, inputHash, atMost };
}

/** Calls the agent: a GET, or a POST of JSON. */
async function ask(path: string, body?: object) {
  const headers = { "content-type": "application/json" };
  const init = body && { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(`${AGENT_URL}/${path}`, init);
  if (!response.ok) throw new Error(`The agent answered: ${await response.text()}`);
  return response.json();
}

// The order is stored before it is bought: a restart continues this purchase, and begins no second one.
const stored = await readFile("order.json", "utf8").catch(() => null);
const order: Awaited<ReturnType<typeof requestQuote>> = stored
  ? JSON.parse(stored)
  : await requestQuote();
await writeFile("order.new", JSON.stringify(order));
await rename("order.new", "order.json");
console.log(order.quote.blockchainIdentifier);
try {
  const { resultHash } = await buy(client, order, { everyMs: 1000 });
  const job = order.identifierFromPurchaser;
  const { result } = await ask(`status?job_id=${order.quote.job_id}`);
  console.log((await matchesResult(resultHash, job, result)) ? result : "not what is on the chain");
} catch (error) {
  process.exitCode = 1;
  if (error instanceof PurchaseStopped)
    console.log(error.message); // no result: the refund is automatic
  else if (error instanceof ServiceError && limits.includes(error.code ?? ""))
    console.log(error.message); // nothing is bought: an Admin may raise the key's limit
  else if (error instanceof RangeError || (error instanceof ServiceError && error.status === 400)) {
    // Nothing is bought: the price is above `atMost`, or the quote has expired. The next run requests another.
    console.log(error.message);
    await rm("order.json");
  } else throw error;
}
