import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { count, SourceApi, storedSources } from "../support/sources/api.ts";

let api: SourceApi;

beforeAll(async () => {
  api = await SourceApi.open();
});

beforeEach(async () => {
  api.woken.length = 0;
  await emptyTables();
});

const UNKNOWN_HASH = "ab".repeat(32);

describe("PATCH /payment-source-extended 200", () => {
  it("keeps what is left out", async () => {
    const { data: before } = await api.create({ ...api.purchasing(), ...api.selling() });
    const { status, data: after } = await api.update({ id: before.id });
    expect(status).toBe(200);
    const { updatedAt, ...kept } = before;
    expect(after).toMatchObject(kept);
    expect(after.updatedAt >= updatedAt).toBe(true);
    expect(api.woken).toEqual([before.id, before.id]);
  });

  it("replaces the provider key after asking the provider", async () => {
    const { data: source } = await api.create();
    const config = (key: string) => ({
      id: source.id,
      PaymentSourceConfig: { rpcProviderApiKey: key, rpcProvider: "Blockfrost" },
    });
    expect((await api.update(config("bad"))).status).toBe(400);
    const { data } = await api.update(config("provider-key-2"));
    expect(data.PaymentSourceConfig.rpcProviderApiKey).toBe("provider-key-2");
    expect(await storedSources()).not.toContain("provider-key-2");
  });

  it("changes the fields of PaymentSourceConfig that the body contains and keeps the others", async () => {
    const { data: source } = await api.create();
    const { id } = source;
    for (const [config, key] of [
      [{ rpcProviderApiKey: "provider-key-2" }, "provider-key-2"],
      [{ rpcProvider: "Blockfrost" }, "provider-key-2"],
      [{}, "provider-key-2"],
      [{ rpcProviderApiKey: "provider-key-3", rpcProvider: "Blockfrost" }, "provider-key-3"],
    ] as const) {
      const { status, data } = await api.update({ id, PaymentSourceConfig: config });
      expect(status).toBe(200);
      expect(data.PaymentSourceConfig).toEqual({
        rpcProviderApiKey: key,
        rpcProvider: "Blockfrost",
      });
    }
    const refused = await api.update({ id, PaymentSourceConfig: { rpcProvider: "Other" } });
    expect(refused.status).toBe(400);
  });

  it("adds and removes wallets, and destroys the mnemonics of those removed", async () => {
    const { data: source } = await api.create({ ...api.purchasing(), ...api.selling() });
    const { data } = await api.update({
      id: source.id,
      AddPurchasingWallets: [{ walletMnemonic: api.wallet("buyer-1").mnemonic, note: "new" }],
      RemovePurchasingWallets: [{ id: source.PurchasingWallets[0].id }],
      AddSellingWallets: [{ walletMnemonic: api.wallet("seller-1").mnemonic, note: "" }],
    });
    expect(data.PurchasingWallets).toEqual([
      {
        id: expect.any(String),
        walletVkey: api.wallet("buyer-1").vkey,
        walletAddress: api.wallet("buyer-1").address,
        note: "new",
        collectionAddress: null,
        drives: "all",
      },
    ]);
    expect(data.SellingWallets.map(({ walletVkey }: { walletVkey: string }) => walletVkey)).toEqual(
      [api.wallet("seller-0").vkey, api.wallet("seller-1").vkey],
    );
    const removed = await env.DB.prepare("SELECT mnemonic FROM managed_wallet WHERE id = ?")
      .bind(source.PurchasingWallets[0].id)
      .first();
    expect(removed).toEqual({ mnemonic: "" });
  });

  it("adds and removes a funding wallet, which has no past to read and sells nothing", async () => {
    const { data: source } = await api.create(api.selling());
    await env.DB.prepare("UPDATE source_cursor SET tip_hash = 'seen'").run();
    const { mnemonic, vkey } = api.wallet("seller-1");
    const { data } = await api.update({
      id: source.id,
      AddFundingWallets: [{ walletMnemonic: mnemonic, note: "fills up" }],
    });
    expect(data).toMatchObject({
      syncInProgress: false,
      SellingWallets: source.SellingWallets,
      FundingWallets: [{ walletVkey: vkey, note: "fills up", collectionAddress: null }],
    });
    const registration = {
      ...{ network: "Preprod", sellingWalletVkey: vkey, name: "An agent" },
      ...{ apiBaseUrl: "https://agent.example.com", Tags: ["answers"] },
      ...{ Capability: { name: "answering", version: "1" }, Author: { name: "An author" } },
      AgentPricing: { pricingType: "Fixed", Pricing: [{ unit: "", amount: "5000000" }] },
    };
    expect(await api.ask("POST", "/api/v1/registry", registration)).toMatchObject({
      status: 404,
      message: expect.stringMatching(/^sellingWalletVkey: /),
    });
    const { id } = data.FundingWallets[0];
    const asSelling = await api.update({ id: source.id, RemoveSellingWallets: [{ id }] });
    expect(asSelling).toMatchObject({
      status: 404,
      message: expect.stringMatching(/^RemoveSellingWallets\[0\]\.id: /),
    });
    const removed = await api.update({ id: source.id, RemoveFundingWallets: [{ id }] });
    expect(removed.data.FundingWallets).toEqual([]);
  });

  it("takes a wallet back that was removed, even in one request", async () => {
    const { data: source } = await api.create(api.purchasing());
    const { status, data } = await api.update({
      id: source.id,
      RemovePurchasingWallets: [{ id: source.PurchasingWallets[0].id }],
      AddPurchasingWallets: [{ walletMnemonic: api.wallet("buyer-0").mnemonic }],
    });
    expect(status).toBe(200);
    expect(data.PurchasingWallets[0].walletVkey).toBe(api.wallet("buyer-0").vkey);
    expect(data.PurchasingWallets).toMatchObject([{ id: source.PurchasingWallets[0].id }]);
  });

  it("reads the past of a wallet that is added, beside what is new", async () => {
    const { data: source } = await api.create({ lastIdentifierChecked: api.lockHash });
    await env.DB.prepare("UPDATE source_cursor SET tip_hash = 'seen'").run();
    const { data } = await api.update({
      id: source.id,
      AddSellingWallets: [{ walletMnemonic: api.wallet("seller-1").mnemonic }],
    });
    expect(data.syncInProgress).toBe(true);
    expect(data.lastIdentifierChecked).toBe(api.lockHash);
  });

  it("lets sync go on after a transaction, or from the start", async () => {
    const { data: source } = await api.create();
    const at = await api.update({ id: source.id, lastIdentifierChecked: api.lockHash });
    expect(at.data.lastIdentifierChecked).toBe(api.lockHash);
    const start = await api.update({ id: source.id, lastIdentifierChecked: null });
    expect(start.data.lastIdentifierChecked).toBe("");
    expect(await api.update({ id: source.id, lastIdentifierChecked: UNKNOWN_HASH })).toMatchObject({
      status: 400,
    });
  });

  it("writes one audit row that names what changed", async () => {
    const { data: source } = await api.create();
    await api.update({ id: source.id, lastIdentifierChecked: null });
    const row = await env.DB.prepare("SELECT * FROM audit ORDER BY id DESC").first();
    expect(row).toMatchObject({ action: "payment-source.update", target: source.id });
    expect(JSON.parse(String(row?.detail))).toMatchObject({ changed: ["lastIdentifierChecked"] });
  });
});

describe("PATCH /payment-source-extended refuses", () => {
  it("a source that does not exist", async () => {
    expect(await api.update({ id: "nothing" })).toMatchObject({ status: 404 });
  });

  it("to remove a wallet of another source, of the other role, or one already removed", async () => {
    const { data: source } = await api.create({ ...api.purchasing(), ...api.selling() });
    const [selling] = source.SellingWallets;
    const [purchasing] = source.PurchasingWallets;
    await api.update({ id: source.id, RemovePurchasingWallets: [{ id: purchasing.id }] });
    const before = await storedSources();
    for (const id of ["nothing", selling.id, purchasing.id])
      expect(await api.update({ id: source.id, RemovePurchasingWallets: [{ id }] })).toMatchObject({
        status: 404,
        message: "RemovePurchasingWallets[0].id: the payment source has no such wallet",
      });
    expect(await storedSources()).toBe(before);
  });

  it("to add a wallet that is managed already", async () => {
    const { data: source } = await api.create(api.selling());
    const before = await count("audit");
    const again = await api.update({
      id: source.id,
      AddPurchasingWallets: [{ walletMnemonic: api.wallet("seller-0").mnemonic }],
    });
    expect(again).toMatchObject({
      status: 409,
      message: "AddPurchasingWallets[0]: a payment source already manages this wallet",
    });
    expect(await count("audit")).toBe(before);
  });
});
