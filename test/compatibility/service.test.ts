/** What the payment service says of itself and of its payment sources. */
import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Env } from "../../src/env.ts";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { SourceApi } from "../support/sources/api.ts";
import { type ExternalApp, startBoth } from "./external-app.ts";

let own: ExternalApp;
let external: ExternalApp;
let api: SourceApi;

beforeAll(async () => {
  api = await SourceApi.open();
  ({ own, external } = await startBoth());
});
beforeEach(emptyTables);

const ask = (method: string, path: string, body?: object) =>
  external.request(method, `/api/v1${path}`, {
    ...(body && { body }),
    env: { ...env, ...api.provider() } as Env,
  });

const MISSING = [
  ["POST", "/swap"],
  ["GET", "/swap/confirm"],
  ["GET", "/swap/transactions"],
  ["GET", "/swap/estimate"],
  ["POST", "/swap/cancel"],
  ["POST", "/swap/acknowledge-timeout"],
  ["POST", "/monitoring/trigger-cycle"],
  ["POST", "/monitoring/start"],
  ["POST", "/monitoring/stop"],
  ["POST", "/signature/sign/create-invoice/monthly"],
  ["POST", "/signature/sign/verifyAndPublishAgent"],
] as const;

describe("operations that this service does not offer", () => {
  it.each(MISSING)("%s %s answers 501 with a sentence", async (method, path) => {
    const body = method === "POST" ? {} : undefined;
    const { status, error } = await ask(method, path, body);
    expect({ status, code: error.code }).toEqual({ status: 501, code: "not_implemented" });
    expect(error.message).toMatch(/^[A-Z].+\.$/);
    expect((await own.request(method, `/api/v1${path}`, { ...(body && { body }) })).status).toBe(
      404,
    );
  });

  it("are exactly those", () => {
    const { paths } = JSON.parse(external.document) as { paths: Record<string, object> };
    const found = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) =>
        responses["501"] ? [`${method.toUpperCase()} ${path.slice("/api/v1".length)}`] : [],
      ),
    );
    expect(found.toSorted()).toEqual(MISSING.map((one) => one.join(" ")).toSorted());
  });
});

describe("GET /rpc-api-keys", () => {
  it("lists masked keys, oldest source first, for Admins alone", async () => {
    const first = (await api.create()).data.id;
    const PaymentSourceConfig = { rpcProviderApiKey: "provider-key-2", rpcProvider: "Blockfrost" };
    const second = (await api.create({ ...api.elsewhere(), PaymentSourceConfig })).data.id;
    const { RpcProviderKeys } = (await ask("GET", "/rpc-api-keys")).data;
    expect(RpcProviderKeys).toEqual([
      {
        ...{ id: first, rpcProviderApiKey: "*****ey-1", rpcProvider: "Blockfrost" },
        ...{ network: "Preprod", createdAt: expect.any(String), updatedAt: expect.any(String) },
      },
      expect.objectContaining({ id: second, rpcProviderApiKey: "*****ey-2" }),
    ]);
    const rest = (await ask("GET", `/rpc-api-keys?cursorId=${first}&limit=5`)).data;
    expect(rest.RpcProviderKeys).toMatchObject([{ id: second }]);
    await insertKey({ id: "user", canPay: true });
    const asUser = await external.request("GET", "/api/v1/rpc-api-keys", { token: "user" });
    expect([401, 403]).toContain(asUser.status);
  });
});

describe("GET /monitoring", () => {
  const status = async () => (await ask("GET", "/monitoring")).data.MonitoringStatus;

  it("says whether the cron syncs all sources, and since when", async () => {
    expect(await status()).toEqual({ isMonitoring: true, Stats: null });
    await api.create();
    expect((await status()).Stats).toBeNull();
    const at = Date.now() - 1_000;
    await env.DB.prepare("UPDATE source_cursor SET last_checked_at = ?").bind(at).run();
    const position = { timestamp: new Date(at).toISOString(), lastId: null };
    expect(await status()).toMatchObject({
      isMonitoring: true,
      Stats: { trackedEntities: 1, PurchaseCursor: position, PaymentCursor: position },
    });
    await env.DB.prepare("UPDATE source_cursor SET last_checked_at = 1, lease_until = 0").run();
    expect(await status()).toMatchObject({ isMonitoring: false });
  });
});

describe("/payment-source-extended", () => {
  it("counts its wallets and says whether its contract is the newest", async () => {
    await api.create({ ...api.selling(), ...api.purchasing() });
    const { ExtendedPaymentSources } = (await ask("GET", "/payment-source-extended")).data;
    expect(ExtendedPaymentSources).toMatchObject([
      { contractSyncStatus: "in_sync", PurchasingWalletsCount: 1, SellingWalletsCount: 1 },
    ]);
    const elsewhere = { ...api.elsewhere(), paymentSourceType: "Web3CardanoV2" };
    const old = { ...elsewhere, policyId: "ab".repeat(28), FeeReceiverNetworkWallet: null };
    const { id } = (await api.create(old)).data;
    const { data } = await ask("PATCH", "/payment-source-extended", { id, drives: "finish" });
    expect(data).toMatchObject({
      ...{ contractSyncStatus: "outdated_contract", PurchasingWalletsCount: 0 },
      SellingWalletsCount: 1,
    });
    expect(data.FeeReceiverNetworkWallet).toBe(null);
    const removed = await ask("DELETE", "/payment-source-extended", { id });
    expect(removed.data).toMatchObject({ contractSyncStatus: "outdated_contract" });
  });
});
