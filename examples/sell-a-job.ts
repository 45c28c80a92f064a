/** Sells jobs: registers an agent, answers buyers with quotes, and works on what they have paid. */
import { serve } from "@hono/node-server";
import * as pay from "agent-payment-service-client";
import { Hono } from "hono";

const { SERVICE_URL, SERVICE_TOKEN, LISTEN_PORT } = process.env;
if (!SERVICE_URL || !SERVICE_TOKEN || !LISTEN_PORT) {
  console.error("Set LISTEN_PORT, and SERVICE_URL and SERVICE_TOKEN as npm start prints them.");
  process.exit(1);
}
const client = pay.createClient({ baseUrl: SERVICE_URL, token: SERVICE_TOKEN });
const [network, apiBaseUrl] = ["Preprod", `http://127.0.0.1:${LISTEN_PORT}`] as const;
const jobs = new Map<string, { job: string; text: string; result?: string }>(); // better: a table
const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
const app = new Hono();
app.get("/availability", (c) => c.json({ status: "available", type: "masumi-agent" }));
app.get("/input_schema", (c) => c.json({ input_data: [{ id: "text", type: "string" }] }));
app.get("/status", (c) => c.json({ result: jobs.get(c.req.query("job_id") ?? "")?.result }));
app.post("/start_job", async (c) => {
  const { identifier_from_purchaser: job, input_data: input } = await c.req.json();
  const params = { query: { network, searchQuery } };
  const { Assets } = pay.unwrap(await client.GET("/api/v1/registry", { params }));
  const ids = { agentIdentifier: Assets[0]?.agentIdentifier ?? "", identifierFromPurchaser: job };
  const times = { payByTime: at(30), submitResultTime: at(60) };
  const body = { network, ...ids, ...times, inputHash: await pay.hashInput(job, input) };
  const quote = pay.unwrap(await client.POST("/api/v1/payment", { body }));
  jobs.set(quote.id, { job, text: input.text });
  return c.json({ ...quote, job_id: quote.id });
});
app.onError((e, c) => c.text(e.message, "status" in e && e.status === 400 ? 400 : 500));
serve({ fetch: app.fetch, port: Number(LISTEN_PORT), hostname: "127.0.0.1" }).on("error", (e) => {
  console.error(`LISTEN_PORT: ${e.message}`);
  process.exit(1);
});
const { PaymentSources } = pay.unwrap(await client.GET("/api/v1/payment-source"));
const sellingWalletVkey = PaymentSources.at(-1)?.SellingWallets[0]?.walletVkey ?? ""; // the oldest
const card = { Tags: ["text"], Author: { name: "Me" }, Capability: { name: "caps", version: "1" } };
const AgentPricing = { pricingType: "Fixed" as const, Pricing: [{ unit: "", amount: "5000000" }] };
const body = { ...card, name: "Shouter", network, sellingWalletVkey, apiBaseUrl, AgentPricing };
const headers = { "Idempotency-Key": `agent at ${apiBaseUrl}` }; // registers the agent once
const { id: searchQuery } = pay.unwrap(await client.POST("/api/v1/registry", { headers, body }));
const work = async ({ id }: { id: string }) => {
  const paid = jobs.get(id);
  if (paid) paid.result = paid.text.toUpperCase(); // the work
  return paid?.result ? pay.hashResult(paid.job, paid.result) : null;
};
await pay.sell(client, network, { work, keep: () => {}, everyMs: 1000 });
