/** Sells a forecast over x402 in Hono. The package @x402/hono has such a middleware ready-made. */
import { serve } from "@hono/node-server";
import * as x402 from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { Hono } from "hono";

const { SERVICE_URL, SERVICE_TOKEN: token, LISTEN_PORT } = process.env;
if (!SERVICE_URL || !token || !LISTEN_PORT) {
  console.error("Set LISTEN_PORT, and SERVICE_URL and SERVICE_TOKEN as npm start prints them.");
  process.exit(1);
}
// The test token of `npm start`. Where the SDK knows the chain's dollar, write `price: "$0.01"`.
const asset = "0x5fbdb2315678afecb367f032d93f642f64180aa3";
const price = { asset, amount: "10000", extra: { name: "Test Dollar", version: "1" } };
const payTo = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"; // your address
const accepts = { scheme: "exact", network: "eip155:31337", payTo, price } as const;

const keys = { verify: { token }, settle: { token }, supported: { token } };
const url = `${SERVICE_URL}/api/v1/x402/facilitator`;
const service = new x402.HTTPFacilitatorClient({ url, createAuthHeaders: async () => keys });
const server = new x402.x402ResourceServer(service).register("eip155:*", new ExactEvmScheme());
const seller = new x402.x402HTTPResourceServer(server, { accepts });
await seller.initialize();

const app = new Hono();
app.use("/forecast", async (c, next) => {
  const { path, method, url } = c.req;
  const request = { getPath: () => path, getMethod: () => method, getUrl: () => url };
  const client = { getAcceptHeader: () => "application/json", getUserAgent: () => "" };
  const adapter = { ...request, ...client, getHeader: (name: string) => c.req.header(name) };
  const result = await seller.processHTTPRequest({ adapter, path, method });
  if (result.type === "no-payment-required") throw new Error("every route here has a price");
  if (result.type === "payment-error") return Response.json(result.response.body, result.response);
  const { paymentPayload, paymentRequirements } = result;
  const paid = await seller.processSettlement(paymentPayload, paymentRequirements);
  if (!paid.success) return Response.json(paid.response.body, paid.response);
  await next();
  for (const [name, value] of Object.entries(paid.headers)) c.header(name, value);
});
app.get("/forecast", (c) => c.json({ forecast: "Rain until noon" }));
serve({ fetch: app.fetch, port: Number(LISTEN_PORT), hostname: "127.0.0.1" }).on("error", (e) => {
  console.error(`LISTEN_PORT: ${e.message}`);
  process.exit(1);
});
