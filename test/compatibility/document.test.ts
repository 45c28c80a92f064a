import { beforeAll, describe, expect, it } from "vitest";
import guide from "../../docs/coming-from-another-service.md?raw";
import { startBoth } from "./external-app.ts";

/** The OpenAPI documents of a deployment without these names and of one with them, as text. */
let own: string;
let external: string;

beforeAll(async () => {
  const both = await startBoth();
  [own, external] = [both.own.document, both.external.document];
});

function operationsOf(document: string): string[] {
  const { paths } = JSON.parse(document) as { paths: Record<string, object> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
}

it("docs/coming-from-another-service.md names operations that there are", () => {
  const known = operationsOf(external);
  const named = [...guide.matchAll(/`((?:(?:GET|POST|PATCH|DELETE) )+)(?:\/api\/v1)?(\/[^`]+)`/g)];
  expect(named.length).toBeGreaterThan(20);
  for (const [, methods = "", path] of named)
    for (const method of methods.trim().split(" "))
      expect(known).toContain(`${method.toLowerCase()} /api/v1${path}`);
});

describe("the OpenAPI document", () => {
  it("has the operations of other services only with their names", () => {
    const known = new Set(operationsOf(own));
    const added = operationsOf(external).filter((operation) => !known.has(operation));
    expect(added.map((operation) => operation.replace("/api/v1", "")).toSorted()).toEqual([
      "delete /fund-wallet",
      "get /fund-distribution",
      "get /fund-wallet",
      "get /monitoring",
      "get /rpc-api-keys",
      "get /swap/confirm",
      "get /swap/estimate",
      "get /swap/transactions",
      "get /x402/wallets/balance",
      "get /x402/wallets/detail",
      "patch /fund-wallet",
      "post /fund-distribution/trigger",
      "post /fund-wallet",
      "post /monitoring/start",
      "post /monitoring/stop",
      "post /monitoring/trigger-cycle",
      "post /signature/sign/create-invoice/monthly",
      "post /signature/sign/verifyAndPublishAgent",
      "post /swap",
      "post /swap/acknowledge-timeout",
      "post /swap/cancel",
      "post /x402/analytics",
      "post /x402/wallets/delete",
      "post /x402/wallets/update",
    ]);
    expect(operationsOf(external)).toEqual(expect.arrayContaining([...known]));
  });

  it.each([
    "supportedPaymentSources",
    "verifications",
    "ChainIdLimit",
    "UsageCreditsToAddOrRemove",
    "WalletScopeHotWalletIds",
    "verifyResponse",
    "paymentAttemptId",
    "topupAmount",
    "contractSyncStatus",
    "PurchasingWalletsCount",
    "CoveredPaymentRequestIds",
    "openApiSpecUrl",
    "finalizedAt",
  ])("shows the field %s only with their names", (field) => {
    expect(external).toContain(`"${field}":`);
    expect(own).not.toContain(`"${field}":`);
  });
});
