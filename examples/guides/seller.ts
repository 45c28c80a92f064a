/** Sells jobs: quotes them, works on what is paid, and submits the hashes of the results. */
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import {
  createClient,
  hashInput,
  hashResult,
  ServiceError,
  sell,
  unwrap,
} from "agent-payment-service-client";

const sources = {
  SERVICE_URL: "npm start prints the URL",
  SERVICE_TOKEN: "POST /api-key answers the key",
  AGENT_IDENTIFIER: "GET /registry shows the identifier",
  LISTEN_PORT: "the port of the agent's apiBaseUrl",
};
for (const [name, source] of Object.entries(sources))
  if (!process.env[name]) {
    console.error(`${name} is not set: ${source}`);
    process.exit(1);
  }
process.chdir(import.meta.dirname); // the files are beside the program
const { SERVICE_URL = "", SERVICE_TOKEN = "", LISTEN_PORT } = process.env;
const agentIdentifier = process.env.AGENT_IDENTIFIER ?? "";
const client = createClient({ baseUrl: SERVICE_URL, token: SERVICE_TOKEN });
const network = "Preprod";
const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
const results = new Map<string, string>(
  // by payment; in production: a table
  JSON.parse(await readFile("results.json", "utf8").catch(() => "[]")),
);

/** Quotes a job. The payment's metadata stores what the work needs. */
async function quote(job: string, input: Record<string, string>) {
  const inputHash = await hashInput(job, input);
  // Short, to see a payout today. In production, give both sides hours: `unlockTime` is optional.
  const times = { payByTime: at(10), submitResultTime: at(25), unlockTime: at(41) };
  const metadata = JSON.stringify({ job, input });
  const terms = {
    network,
    agentIdentifier,
    inputHash,
    identifierFromPurchaser: job,
    ...times,
    metadata,
  } as const;
  const { metadata: _, ...answer } = unwrap(await client.POST("/api/v1/payment", { body: terms }));
  return { ...answer, job_id: answer.id };
}

async function answer(request: IncomingMessage, response: ServerResponse) {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://seller");
  response.setHeader("content-type", "application/json");
  if (pathname === "/availability") {
    response.end(JSON.stringify({ status: "available", type: "masumi-agent" }));
  } else if (pathname === "/input_schema") {
    response.end(JSON.stringify({ input_data: [{ id: "text", type: "string", name: "Text" }] }));
  } else if (pathname === "/start_job") {
    const { identifier_from_purchaser: job, input_data: input } = JSON.parse(await text(request));
    if (typeof input?.text !== "string")
      return refuse(response, 400, "input_data.text: must be a text");
    response.end(JSON.stringify(await quote(job, input)));
  } else {
    const result = results.get(searchParams.get("job_id") ?? "");
    response.writeHead(result === undefined ? 404 : 200).end(JSON.stringify({ result }));
  }
}
const refuse = (response: ServerResponse, status: number, why: string) =>
  response.writeHead(status, { "content-type": "text/plain" }).end(why);
const server = createServer((request, response) =>
  answer(request, response).catch((error) => {
    const isRefused = error instanceof ServiceError && error.status === 400; // the buyer's input
    refuse(response, isRefused ? 400 : 500, String(error));
  }),
);
server.on("error", ({ message }) => {
  console.error(`LISTEN_PORT: ${message}`);
  process.exit(1);
});
server.listen(Number(LISTEN_PORT), "127.0.0.1");

await sell(client, network, {
  from: await readFile("sold", "utf8").catch(() => undefined),
  keep: (position) => writeFile("sold", position),
  everyMs: 1000,
  onFailed: (error, { id }) => console.error(id, error),
  work: async (payment) => {
    if (payment.agentIdentifier !== agentIdentifier || !payment.metadata) return null;
    const { job, input } = JSON.parse(payment.metadata);
    const result = results.get(payment.id) ?? input.text.toUpperCase(); // the work
    results.set(payment.id, result);
    await writeFile("results.json", JSON.stringify([...results]));
    return hashResult(job, result);
  },
});
