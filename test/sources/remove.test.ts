import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { db } from "../../src/db/client.ts";
import { addRecord } from "../support/administration.ts";
import { emptyTables } from "../support/app.ts";
import { type Around, wrapD1 } from "../support/d1.ts";
import { SourceApi, storedSources } from "../support/source-api.ts";
import { runPass, settle } from "../support/sync.ts";

let api: SourceApi;

beforeAll(async () => {
  api = await SourceApi.open();
});

beforeEach(async () => {
  api.woken.length = 0;
  await emptyTables();
});

const payments = (query = "") => api.ask("GET", `/api/v1/payment?network=Preprod${query}`);

describe("DELETE /payment-source-extended 200", () => {
  it("returns the source as it was, and hides it", async () => {
    const { data: source } = await api.create({ ...api.purchasing(), ...api.selling() });
    const { status, data } = await api.remove(source.id);
    expect(status).toBe(200);
    expect(data).toEqual(source);
    expect((await api.list()).data.ExtendedPaymentSources).toEqual([]);
    expect((await api.ask("GET", "/api/v1/payment-source")).data.PaymentSources).toEqual([]);
    expect((await api.ask("GET", "/api/v1/wallet/list")).data.Wallets).toEqual([]);
    expect((await api.update({ id: source.id })).status).toBe(404);
  });

  it("destroys its provider key, its wallets' mnemonics and their rules", async () => {
    const { data: source } = await api.create(api.selling());
    await api.ask("POST", "/api/v1/wallet/low-balance", {
      walletId: source.SellingWallets[0].id,
      thresholdAmount: "1",
    });
    await api.remove(source.id);
    const rows = await db(env).all(
      `SELECT rpc_provider_api_key AS secret FROM payment_source
       UNION ALL SELECT mnemonic FROM managed_wallet UNION ALL SELECT id FROM low_balance_rule`,
    );
    expect(rows).toEqual([{ secret: "" }, { secret: "" }]);
  });

  it("leaves one audit row", async () => {
    const { data: source } = await api.create(api.selling());
    await api.remove(source.id);
    const row = await env.DB.prepare("SELECT * FROM audit ORDER BY id DESC").first();
    expect(row).toMatchObject({ action: "payment-source.delete", target: source.id });
  });

  it("ends its sync, and keeps its records readable", async () => {
    const { data: source } = await api.create(api.selling());
    await settle(api.chain, source.id);
    const { data: before } = await payments();
    expect(before.Payments).toHaveLength(1);
    await api.remove(source.id);
    await api.chain.stats();
    await runPass(api.chain, source.id);
    expect((await api.chain.stats()).total).toBe(0);
    expect((await payments()).data).toEqual(before);
  });

  it("makes a pass under way lose its batch", async () => {
    const { data: source } = await api.create(api.selling());
    let removed = false;
    const around: Around = async ({ sql }, run) => {
      if (!removed && sql.some((one) => one.includes("INSERT INTO escrow "))) {
        removed = true;
        await api.remove(source.id);
      }
      return run();
    };
    await settle(api.chain, source.id, { env: { DB: wrapD1(env.DB, around) } });
    expect(removed).toBe(true);
    expect((await payments()).data.Payments).toEqual([]);
  });

  it("frees its contract and its wallets for another one", async () => {
    const { data: source } = await api.create(api.selling());
    await api.remove(source.id);
    const { status, data } = await api.create(api.selling());
    expect(status).toBe(200);
    expect(data.id).not.toBe(source.id);
  });
});

describe("DELETE /payment-source-extended refuses", () => {
  it("a source that does not exist, or was removed (404)", async () => {
    const { data: source } = await api.create();
    await api.remove(source.id);
    const before = await storedSources();
    for (const id of ["nothing", source.id]) expect((await api.remove(id)).status).toBe(404);
    expect(await storedSources()).toBe(before);
  });
});

describe("a wallet with an open transaction", () => {
  it("is not removed, nor is its source (409)", async () => {
    const { data: source } = await api.create({ ...api.purchasing(), ...api.selling() });
    const [wallet] = source.SellingWallets;
    await addRecord(source.id, wallet, "SubmitResultInitiated");
    const before = await storedSources();
    const refused = {
      status: 409,
      message: `wallet ${wallet.id}: has a transaction that is not settled yet`,
    };
    const removal = { id: source.id, RemoveSellingWallets: [{ id: wallet.id }] };
    expect(await api.update(removal)).toMatchObject(refused);
    expect(await api.remove(source.id)).toMatchObject(refused);
    expect(await storedSources()).toBe(before);
    const [other] = source.PurchasingWallets;
    const rest = { id: source.id, RemovePurchasingWallets: [{ id: other.id }] };
    expect((await api.update(rest)).status).toBe(200);
  });

  it("goes once it is settled", async () => {
    const { data: source } = await api.create(api.selling());
    await addRecord(source.id, source.SellingWallets[0], "WaitingForExternalAction");
    expect((await api.remove(source.id)).status).toBe(200);
  });
});
