/** Uses the service by openapi-fetch, with the types that openapi-typescript has generated. */
import createClient from "openapi-fetch";
import type { components, paths } from "../generated/openapi-typescript/schema.js";
import { follow, type Report, service } from "./report.js";

const { baseUrl, token } = service;
const client = createClient<paths>({ baseUrl, headers: { token } });

const sources = await client.GET("/api/v1/payment-source", { params: { query: { limit: 100 } } });
if (!sources.data) throw new Error(sources.error.error.message);

const purchases = await follow(async (query) => {
  const { data, error } = await client.GET("/api/v1/purchase/diff/onchain-state-or-result", {
    params: { query: { network: "Preprod", limit: 2, ...query } },
  });
  if (!data) throw new Error(error.error.message);
  return data.data.Purchases;
});

const created: string[] = [];
const key: components["schemas"]["CreateApiKeyRequest"] = { permission: "User", canPay: true };
for (let i = 0; i < 2; i++) {
  const { data, error } = await client.POST("/api/v1/api-key", {
    params: { header: { "Idempotency-Key": "openapi-fetch" } },
    body: key,
  });
  if (!data) throw new Error(error.error.message);
  created.push(data.data.id);
}

const tooMany = await client.GET("/api/v1/purchase", {
  params: { query: { network: "Preprod", limit: 101 } },
});
if (tooMany.error?.error.code !== "invalid_request") throw new Error("the limit was not refused");

const report: Report = {
  contracts: sources.data.data.PaymentSources.map((source) => source.smartContractAddress),
  purchases,
  created,
  refused: {
    status: tooMany.response.status,
    code: tooMany.error.error.code,
    field: tooMany.error.error.field,
  },
};
console.log(JSON.stringify(report));
