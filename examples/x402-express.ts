/** Sells a forecast over x402 in Express. The package @x402/express has such a middleware. */
import type { IncomingMessage, ServerResponse } from "node:http";
import * as x402 from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import express from "express";

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
const resource = `http://127.0.0.1:${LISTEN_PORT}/forecast`; // in production: its public address

const keys = { verify: { token }, settle: { token }, supported: { token } };
const url = `${SERVICE_URL}/api/v1/x402/facilitator`;
const service = new x402.HTTPFacilitatorClient({ url, createAuthHeaders: async () => keys });
const server = new x402.x402ResourceServer(service).register("eip155:*", new ExactEvmScheme());
const seller = new x402.x402HTTPResourceServer(server, { accepts, resource });
await seller.initialize();

async function charge({ headers }: IncomingMessage, response: ServerResponse, next: () => void) {
  const [path, method] = ["/forecast", "GET"];
  const request = { getPath: () => path, getMethod: () => method, getUrl: () => resource };
  const client = { getAcceptHeader: () => "application/json", getUserAgent: () => "" };
  const getHeader = (name: string) => headers[name.toLowerCase()]?.toString();
  const adapter = { ...request, ...client, getHeader };
  const result = await seller.processHTTPRequest({ adapter, path, method });
  if (result.type === "no-payment-required") throw new Error("every route here has a price");
  const refuse = ({ status, headers, body }: x402.HTTPResponseInstructions) =>
    response.writeHead(status, headers).end(JSON.stringify(body));
  if (result.type === "payment-error") return refuse(result.response);
  const paid = await seller.processSettlement(result.paymentPayload, result.paymentRequirements);
  if (!paid.success) return refuse(paid.response);
  response.setHeaders(new Map(Object.entries(paid.headers)));
  next();
}
const forecast = (_: unknown, response: ServerResponse) => response.end("Rain until noon\n");
const app = express().get("/forecast", charge, forecast);
app.listen(Number(LISTEN_PORT), "127.0.0.1").on("error", (e: Error) => {
  console.error(`LISTEN_PORT: ${e.message}`);
  process.exit(1);
});
