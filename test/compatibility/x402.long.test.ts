/** What clients of other services send and read over x402, literally. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { grant, purse, type Wallet } from "../x402/pay/paying.ts";
import { api, expectOk, X402Fixture } from "../x402/x402-fixture.ts";
import { type ExternalApp, startBoth } from "./external-app.ts";

let own: ExternalApp;
let external: ExternalApp;
let x402: X402Fixture;
let asset: string;

beforeAll(async () => {
  ({ own, external } = await startBoth());
  await emptyTables();
  x402 = await X402Fixture.create("84532-compatibility");
  asset = x402.contracts.token.toLowerCase();
});
beforeEach(async () => {
  await emptyTables();
  await x402.setUp();
});

const get = async (path: string, token?: string) => {
  const answer = await external.request("GET", `/api/v1/x402${path}`, token ? { token } : {});
  return answer.status === 200 ? answer.data : answer.status;
};

describe("GET /x402/networks/available", () => {
  it("says that a network is enabled, and the decimals of its default asset", async () => {
    const network = {
      id: await x402.networkId(),
      caip2Id: x402.caip2,
      displayName: "Local",
      isTestnet: true,
      isEnabled: true,
      canSettle: true,
      defaultAsset: asset,
      defaultAssetDecimals: 6,
    };
    expect(await get("/networks/available?isTestnet=true")).toEqual({ Networks: [network] });
    expect(await get("/networks/available?isTestnet=false")).toEqual({ Networks: [] });
    const networks = await get("/networks");
    expect(networks.Networks).toMatchObject([{ defaultAssetDecimals: 6, facilitatorUrl: null }]);
  });
});

describe("GET /x402/budgets", () => {
  it("lists all budgets of a key without paging, and none of other keys", async () => {
    const wallet = await purse(x402);
    for (const id of ["mine", "other"]) await insertKey({ id, canPay: true });
    const tokens = Array.from({ length: 12 }, (_, i) => `0x${`${10 + i}`.repeat(20)}`);
    for (const token of tokens)
      await expectOk(await grant(x402, "mine", wallet, "5", { asset: token }));
    await expectOk(await grant(x402, "other", wallet, "7"));
    const { Budgets } = await get("/budgets?apiKeyId=mine");
    expect(Budgets).toHaveLength(12);
    expect(Budgets.at(-1)).toEqual({
      id: expect.any(String),
      apiKeyId: "mine",
      evmWalletId: wallet.id,
      evmWalletAddress: wallet.address,
      caip2Network: x402.caip2,
      asset: tokens[0],
      remainingAmount: "5",
      spentAmount: "0",
      isEnabled: true,
      createdById: "env-admin",
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await get("/budgets")).Budgets).toHaveLength(13);
  });
});

describe("POST /x402/wallets", () => {
  const create = (body: object) =>
    external.request("POST", "/api/v1/x402/wallets", { body: { type: "Purchasing", ...body } });

  it("takes the network by its id", async () => {
    const networkId = await x402.networkId();
    const { status, data } = await create({ networkId, note: "Buyer" });
    expect(status).toBe(200);
    const { privateKey, ...wallet } = data;
    expect(privateKey).toMatch(/^0x[0-9a-f]{64}$/);
    expect(wallet).toMatchObject({ networkId, caip2Network: x402.caip2, note: "Buyer" });
    const { Wallets } = await get(`/wallets?take=100&type=Purchasing&networkId=${networkId}`);
    expect(Wallets).toEqual([wallet]);
  });

  it("takes it by its chain as well, and refuses a wallet without a network", async () => {
    expect((await create({ caip2Network: x402.caip2 })).status).toBe(200);
    expect((await create({ networkId: "nowhere" })).status).toBe(404);
    expect(await create({})).toMatchObject({
      status: 400,
      error: { message: "networkId: is required" },
    });
    const body = { type: "Purchasing", networkId: await x402.networkId() };
    expect(await own.request("POST", "/api/v1/x402/wallets", { body })).toMatchObject({
      status: 400,
      error: { message: "caip2Network: is required" },
    });
  });
});

describe("GET /x402/wallets/balance", () => {
  let wallet: Wallet;
  const balance = (query: string, token?: string) => get(`/wallets/balance?${query}`, token);

  beforeEach(async () => {
    wallet = await purse(x402, {}, 25n);
    await x402.fund(wallet.address, 7n);
  });

  it("has the native coin and the default token of the wallet's chain", async () => {
    expect(await balance(`id=${wallet.id}&caip2Network=${x402.caip2}`)).toEqual({
      evmWalletId: wallet.id,
      address: wallet.address,
      Balances: [
        {
          caip2Network: x402.caip2,
          displayName: "Local",
          native: { symbol: "ETH", decimals: 18, amount: "7" },
          asset: { asset, symbol: null, decimals: 6, amount: "25" },
          error: null,
        },
      ],
    });
  });

  it("has none on another chain or on a disabled one", async () => {
    const none = { evmWalletId: wallet.id, address: wallet.address, Balances: [] };
    expect(await balance(`id=${wallet.id}&caip2Network=eip155:1`)).toEqual(none);
    await expectOk(await api("/x402/networks", { caip2Id: x402.caip2, isEnabled: false }));
    expect(await balance(`id=${wallet.id}`)).toEqual(none);
  });

  it("is 404 for a wallet that is not the key's, and for everybody without these names", async () => {
    const stranger = await insertKey({ canPay: true, networkLimit: [x402.caip2] });
    expect(await balance(`id=${wallet.id}`, stranger)).toBe(404);
    expect(await balance("id=nowhere")).toBe(404);
    const path = `/api/v1/x402/wallets/balance?id=${wallet.id}`;
    expect(await own.request("GET", path)).toMatchObject({
      status: 404,
      error: { code: "unknown_path" },
    });
  });
});

const send = async (method: string, path: string, body?: object) => {
  const answer = await external.request(method, `/api/v1/x402${path}`, body ? { body } : {});
  return answer.status === 200 ? answer.data : answer.status;
};

describe("wallets of x402", () => {
  it("are shown, changed, counted and removed by POST", async () => {
    const { id } = await purse(x402);
    const wallet = await get(`/wallets/detail?id=${id}`);
    expect(wallet).toMatchObject({ id, networkId: await x402.networkId(), note: null });
    expect(await send("POST", "/wallets/update", { id, note: "Buyer" })).toEqual({
      ...wallet,
      note: "Buyer",
      updatedAt: expect.any(String),
    });
    expect(await send("POST", "/wallets/update", { id })).toBe(400);
    expect(await get("/wallets/count?type=Purchasing")).toEqual({ total: 1 });
    expect(await send("POST", "/wallets/delete", { id })).toEqual({ id });
    expect(await get("/wallets/count?type=Purchasing")).toEqual({ total: 0 });
    expect(await get(`/wallets/detail?id=${id}`)).toBe(404);
    for (const [method, path] of [
      ["GET", `/wallets/detail?id=${id}`],
      ["POST", "/wallets/update"],
      ["POST", "/wallets/delete"],
      ["POST", "/analytics"],
    ] as const) {
      const options = method === "POST" ? { body: { id } } : {};
      expect(await own.request(method, `/api/v1/x402${path}`, options)).toMatchObject({
        status: 404,
        error: { code: "unknown_path" },
      });
    }
  });
});

describe("/x402/low-balance", () => {
  it("has rules with thresholdAmount, changed and deleted by ruleId", async () => {
    const { id: evmWalletId, address } = await purse(x402);
    const body = { evmWalletId, caip2Network: x402.caip2, asset: "native", thresholdAmount: "70" };
    const rule = await send("POST", "/low-balance", body);
    expect(rule).toMatchObject({
      ...body,
      evmWalletAddress: address,
      enabled: true,
      status: "Unknown",
      lastKnownAmount: null,
      lastCheckedAt: null,
      lastAlertedAt: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const ruleId = rule.id;
    const change = { ruleId, thresholdAmount: "80", enabled: false };
    expect(await send("PATCH", "/low-balance", change)).toMatchObject({
      id: ruleId,
      thresholdAmount: "80",
      enabled: false,
    });
    expect(await get("/low-balance")).toEqual({ Rules: [] });
    expect(
      (await get(`/low-balance?includeDisabled=true&evmWalletId=${evmWalletId}`)).Rules,
    ).toHaveLength(1);
    expect((await get("/low-balance?includeDisabled=true&onlyLow=true")).Rules).toEqual([]);
    expect(await send("POST", "/low-balance", { ...body, caip2Network: "eip155:1" })).toBe(400);
    expect(await send("POST", "/low-balance", { evmWalletId })).toBe(400);
    expect(await send("DELETE", "/low-balance", { ruleId })).toEqual({
      ruleId,
      deletedAt: expect.any(String),
    });
    expect(await send("DELETE", "/low-balance", { ruleId })).toBe(404);
  });
});

describe("payments of x402", () => {
  it("are verified, listed, counted and summed", async () => {
    const source = await x402.source();
    const payment = await x402.payment(await x402.buyer(), source);
    const body = { supportedPaymentSourceId: source.id, paymentPayload: payment };
    expect(await send("POST", "/verify", body)).toMatchObject({
      paymentIdentifier: null,
      verifyResponse: { isValid: true, payer: expect.any(String) },
    });
    const { attemptId } = await send("POST", "/settle", body);
    const { Settlements } = await get("/settlements?take=5&caip2Network=eip155:84532");
    expect(Settlements).toMatchObject([
      { paymentAttemptId: attemptId, updatedAt: expect.any(String) },
    ]);
    expect(await get("/settlements/count?success=true")).toEqual({ total: 1 });
    expect(await get("/payments/count?side=sell")).toEqual({ total: 2 });
    expect(await get("/payments/count?filterNeedsManualAction=true")).toEqual({ total: 0 });
    expect((await get("/payments?side=sell&status=Settled")).PaymentAttempts).toMatchObject([
      { id: attemptId, facilitator: { mode: "self_hosted", address: x402.facilitator.address } },
    ]);
    const { PaymentAttempts } = await get("/payments?direction=InboundVerify");
    expect(PaymentAttempts).toMatchObject([{ facilitator: null }]);
    const txHash = Settlements[0].txHash;
    const resolved = { attemptId, resolution: "settled" };
    expect(await send("POST", "/payments/reconcile", resolved)).toBe(400);
    expect(await send("POST", "/payments/reconcile", { ...resolved, txHash })).toBe(409);
    const failed = { attemptId, resolution: "failed" };
    expect(await send("POST", "/payments/reconcile", { ...failed, txHash })).toBe(400);
    expect(await send("POST", "/payments/reconcile", failed)).toBe(409);
    const sum = [{ caip2Network: x402.caip2, asset, amount: "10000" }];
    const [day] = new Date().toISOString().split("T");
    const [year, month] = (day ?? "").split("-").map(Number);
    expect(await send("POST", "/analytics", { timeZone: "nowhere" })).toEqual({
      periodStart: expect.any(String),
      periodEnd: expect.any(String),
      incomeCount: 1,
      spendCount: 0,
      TotalIncome: sum,
      TotalSpend: [],
      Daily: [{ year, month, day: Number(day?.split("-")[2]), Income: sum, Spend: [] }],
      Monthly: [{ year, month, Income: sum, Spend: [] }],
    });
  });
});
