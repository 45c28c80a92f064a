import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { unseal } from "../../src/db/sealed.ts";
import { emptyTables } from "../support/app.ts";
import { count, cursors, SourceApi, storedSources } from "../support/sources/api.ts";

let api: SourceApi;

beforeAll(async () => {
  api = await SourceApi.open();
});

beforeEach(async () => {
  api.woken.length = 0;
  await emptyTables();
});

async function position(): Promise<string | null> {
  return env.DB.prepare("SELECT position FROM source_cursor").first<string>("position");
}

describe("POST /payment-source-extended 200", () => {
  it("answers with the record of the interface", async () => {
    const { status, data } = await api.create({ ...api.purchasing(), ...api.selling() });
    expect(status).toBe(200);
    const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const id = expect.stringMatching(/^[0-9a-z]{26}$/);
    expect(data).toEqual({
      id,
      createdAt: timestamp,
      updatedAt: data.createdAt,
      lastCheckedAt: null,
      network: "Preprod",
      paymentType: "Web3ChainV1",
      paymentSourceType: "Web3ChainV1",
      syncInProgress: true,
      error: null,
      smartContractAddress: api.contract().address,
      policyId: api.contract().policyId,
      AdminWallets: [{ walletAddress: api.wallet("seller-0").address, order: 0 }],
      feeRatePermille: 50,
      FeeReceiverNetworkWallet: { walletAddress: api.wallet("seller-0").address },
      requiredAdminSignatures: null,
      cooldownTime: 420_000,
      drives: "all",
      autoWithdrawPayments: null,
      autoWithdrawRefunds: null,
      lastIdentifierChecked: "",
      PaymentSourceConfig: { rpcProviderApiKey: "provider-key-1", rpcProvider: "Blockfrost" },
      RpcProviders: [],
      RpcProviderOutages: [],
      PurchasingWallets: [
        {
          id,
          walletVkey: api.wallet("buyer-0").vkey,
          walletAddress: api.wallet("buyer-0").address,
          note: "buys",
          collectionAddress: null,
          drives: "nothing",
        },
      ],
      SellingWallets: [
        {
          id,
          walletVkey: api.wallet("seller-0").vkey,
          walletAddress: api.wallet("seller-0").address,
          note: "sells",
          collectionAddress: api.wallet("buyer-0").address,
          drives: "nothing",
        },
      ],
      FundingWallets: [],
    });
  });

  it("is listed as it was answered", async () => {
    const { data } = await api.create({ ...api.purchasing(), ...api.selling() });
    const list = await api.list("?network=Preprod");
    expect(list.data.ExtendedPaymentSources).toEqual([data]);
    expect((await api.list("?network=Mainnet")).data).toEqual({
      ExtendedPaymentSources: [],
    });
  });

  it("seals mnemonics and provider key, and leaves them nowhere in clear", async () => {
    const { data } = await api.create(
      { ...api.purchasing(), ...api.selling() },
      { headers: { "idempotency-key": "once" } },
    );
    const stored = await storedSources();
    for (const secret of [
      "provider-key-1",
      api.wallet("buyer-0").mnemonic,
      api.wallet("seller-0").mnemonic,
    ])
      expect(stored).not.toContain(secret);
    const row = await env.DB.prepare("SELECT id, mnemonic FROM managed_wallet WHERE role = ?")
      .bind("Selling")
      .first<{ id: string; mnemonic: string }>();
    const place = { table: "managed_wallet", id: row?.id ?? "", column: "mnemonic" };
    expect(await unseal(env, place, row?.mnemonic ?? "")).toBe(api.wallet("seller-0").mnemonic);
    expect(row?.id).toBe(data.SellingWallets[0].id);
  });

  it("writes one audit row, with the caller and without a secret", async () => {
    const { data } = await api.create();
    const rows = await env.DB.prepare("SELECT * FROM audit").all();
    expect(rows.results).toEqual([
      expect.objectContaining({
        api_key_id: "env-admin",
        action: "payment-source.create",
        target: data.id,
      }),
    ]);
  });

  it("begins with the first transaction, or after the one it is given", async () => {
    await api.create();
    expect(await position()).toBeNull();
    await emptyTables();
    const { data } = await api.create({ lastIdentifierChecked: api.lockHash });
    expect(data.lastIdentifierChecked).toBe(api.lockHash);
    expect(String(await position())).toContain(api.lockHash);
  });

  it("is made once per Idempotency-Key", async () => {
    const headers = { "idempotency-key": "once" };
    const wallets = { ...api.purchasing(), ...api.selling() };
    const first = await api.create(wallets, { headers });
    expect((await api.create(wallets, { headers })).data).toEqual(first.data);
    expect(await count("payment_source")).toBe(1);
    expect((await api.create({ feeRatePermille: 1 }, { headers })).status).toBe(422);
  });

  it("wakes its cursor, and is made even when that fails", async () => {
    const { data } = await api.create();
    expect(api.woken).toEqual([data.id]);
    await emptyTables();
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    const failing = cursors(() => Promise.reject(new Error("object reset")));
    expect((await api.create({}, { env: failing })).status).toBe(200);
    expect(String(warned.mock.calls[0]?.[0])).toContain("object reset");
    warned.mockRestore();
    expect(await count("payment_source")).toBe(1);
  });

  it("stores addresses in the case that the chain writes them in", async () => {
    const { data } = await api.create({
      smartContractAddress: api.contract().address.toUpperCase(),
    });
    expect(data.smartContractAddress).toBe(api.contract().address);
  });
});
