import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { app } from "../../support/app.ts";
import { type JsonSchema, openApi } from "../../support/endpoints/document.ts";

/** The operations whose clients expect the capital letter. */
const CAPITAL = [
  "GET /api/v1/payment/diff/onchain-state-or-result",
  "GET /api/v1/webhooks",
  "PATCH /api/v1/webhooks",
  "POST /api/v1/invoice/monthly",
];
const METHODS = ["get", "post", "patch", "delete"];

/** The document's schema behind a reference. */
function resolve(schema: JsonSchema): JsonSchema {
  const name = String(schema.$ref ?? "").replace("#/components/schemas/", "");
  return name === "" ? schema : (openApi.components.schemas[name] ?? {});
}

/** `status` of every operation's answer that has an envelope, by method and path. */
const STATUSES = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  METHODS.flatMap((method) => {
    const schema = methods[method]?.responses[200]?.content?.["application/json"]?.schema;
    const { status } = (resolve(schema ?? {}).properties ?? {}) as { status?: JsonSchema };
    return status?.const === undefined
      ? []
      : [{ operation: `${method.toUpperCase()} ${path}`, status: status.const }];
  }),
);

it("The document has the status Success for four operations and success for all others", () => {
  const capital = STATUSES.filter(({ status }) => status === "Success");
  expect(capital.map(({ operation }) => operation).sort()).toEqual(CAPITAL);
  const others = STATUSES.filter(({ status }) => status !== "Success");
  expect(others.length).toBeGreaterThan(100);
  for (const { operation, status } of others)
    expect([operation, status]).toEqual([operation, "success"]);
});

const READS = STATUSES.filter(({ operation }) =>
  /^GET .*\/(payment|purchase)(\/diff.*)?$|^GET .*\/(webhooks|registry)$/.test(operation),
);

it.each(READS)("$operation answers the status $status", async ({ operation, status }) => {
  const path = operation.replace("GET ", "");
  const query = new URLSearchParams({
    ...(!path.endsWith("/webhooks") && { network: "Preprod" }),
    ...(path.includes("/diff") && { lastUpdate: "2026-01-01" }),
  });
  const headers = { token: env.ADMIN_KEY ?? "" };
  const answer = await app.request(`${path}?${query}`, { headers }, env);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ status });
});
