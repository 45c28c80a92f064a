/** Uses the service by the client that @hey-api/openapi-ts has generated: a function for each operation. */
import { client } from "../generated/hey-api/client.gen.js";
import {
  createApiKey,
  diffPurchasesByOnChainStateOrResult,
  listPaymentSources,
  listPurchases,
} from "../generated/hey-api/index.js";
import { follow, type Report, service } from "./report.js";

client.setConfig({ baseUrl: service.baseUrl, auth: service.token });

const sources = await listPaymentSources({ query: { limit: 100 }, throwOnError: true });

const purchases = await follow(async (query) => {
  const { data } = await diffPurchasesByOnChainStateOrResult({
    query: { network: "Preprod", limit: 2, ...query },
    throwOnError: true,
  });
  return data.data.Purchases;
});

const created: string[] = [];
for (let i = 0; i < 2; i++) {
  const { data } = await createApiKey({
    headers: { "Idempotency-Key": "hey-api" },
    body: { permission: "User", canPay: true },
    throwOnError: true,
  });
  created.push(data.data.id);
}

const { error, response } = await listPurchases({ query: { network: "Preprod", limit: 101 } });
if (error?.error.code !== "invalid_request") throw new Error("the limit was not refused");

const report: Report = {
  contracts: sources.data.data.PaymentSources.map((source) => source.smartContractAddress),
  purchases,
  created,
  refused: { status: response?.status ?? 0, code: error.error.code, field: error.error.field },
};
console.log(JSON.stringify(report));
