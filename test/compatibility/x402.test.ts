/** What the marketplace reads before it buys over x402, literally. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { insertKey } from "../support/keys.ts";
import { grant, purse, type Wallet } from "../x402/pay/paying.ts";
import { api, expectOk, X402Fixture } from "../x402/x402-fixture.ts";
import { type ExternalApp, startApp } from "./external-app.ts";

let own: ExternalApp;
let external: ExternalApp;
let x402: X402Fixture;
let asset: string;

beforeAll(async () => {
  own = await startApp(undefined);
  external = await startApp("cardano");
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
