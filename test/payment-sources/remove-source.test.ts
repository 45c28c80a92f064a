import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../src/db/client.ts";
import { addRecord, addRegistered } from "../support/administration.ts";
import { emptyTables } from "../support/app.ts";
import { type Around, countingD1, wrapD1 } from "../support/d1.ts";
import { requested } from "../support/registry/registration-fixture.ts";
import { loseProviderKey, SourceApi, storedSources } from "../support/sources/api.ts";
import { runPass, settle } from "../support/sources/sync.ts";

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
    const rows = await openDb(env).all(
      `SELECT rpc_provider_api_key AS secret FROM payment_source
       UNION ALL SELECT mnemonic FROM managed_wallet UNION ALL SELECT id FROM low_balance_rule`,
    );
    expect(rows).toEqual([{ secret: "" }, { secret: "" }]);
  });

  it("takes a wallet along that is added while it runs", async () => {
    const { data: source } = await api.create(api.purchasing());
    let added = 0;
    const around: Around = async ({ kind }, run) => {
      if (kind === "batch" && added++ === 0) {
        const AddSellingWallets = api.selling().SellingWallets;
        const { data } = await api.update({ id: source.id, AddSellingWallets });
        await api.ask("POST", "/api/v1/wallet/low-balance", {
          walletId: data.SellingWallets[0].id,
          thresholdAmount: "1",
        });
      }
      return run();
    };
    const { status } = await api.remove(source.id, { env: { DB: wrapD1(env.DB, around) } });
    expect(status).toBe(200);
    const rows = await openDb(env).all(
      `SELECT mnemonic, deleted_at IS NULL AS used FROM managed_wallet
       UNION ALL SELECT id, 1 FROM low_balance_rule`,
    );
    expect(rows).toEqual(Array(2).fill({ mnemonic: "", used: 0 }));
    expect((await api.create(api.selling())).status).toBe(200);
  });

  it("removes a source whose secrets do not open any more", async () => {
    const { data: source } = await api.create(api.selling());
    await loseProviderKey(source.id);
    const { status, data } = await api.remove(source.id);
    expect(status).toBe(200);
    expect(data).toMatchObject({ id: source.id, PaymentSourceConfig: { rpcProviderApiKey: "" } });
    expect((await api.list()).data.ExtendedPaymentSources).toEqual([]);
  });

  it("reads as few rows however much has happened at the source", async () => {
    const rowsFor = async (things: number) => {
      const { data: source } = await api.create(api.selling());
      const [wallet] = source.SellingWallets;
      for (let i = 0; i < things; i++) await addRecord(source.id, wallet);
      if (things > 0) await addRegistered(source.id, wallet, things);
      // Those that have just ended are marked: a rollback may open them again.
      await env.DB.prepare("UPDATE escrow SET changed_at = 1").run();
      const { d1, rowsRead } = countingD1(env.DB);
      expect((await api.remove(source.id, { env: { DB: d1 } })).status).toBe(200);
      return rowsRead();
    };
    const things = 20;
    const few = await rowsFor(0);
    // A busy machine may repeat a read of a few rows.
    expect(await rowsFor(things)).toBeLessThan(few + things);
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
    expect((await api.remove(source.id, {}, true)).status).toBe(200);
    await api.chain.stats();
    await runPass(api.chain, source.id);
    expect((await api.chain.stats()).total).toBe(0);
    const [kept] = (await payments()).data.Payments;
    const { id, blockchainIdentifier, onChainState } = before.Payments[0];
    expect(kept).toMatchObject({ id, blockchainIdentifier, onChainState });
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
    await addRecord(source.id, wallet, "SubmitResult");
    const before = await storedSources();
    const refused = {
      status: 409,
      message:
        "force: 1 payment or purchase is not finished; with true, the service stops work on them",
    };
    const removal = { id: source.id, RemoveSellingWallets: [{ id: wallet.id }] };
    expect(await api.update(removal)).toMatchObject(refused);
    expect(await api.remove(source.id)).toMatchObject(refused);
    expect(await storedSources()).toBe(before);
    const [other] = source.PurchasingWallets;
    const rest = { id: source.id, RemovePurchasingWallets: [{ id: other.id }] };
    expect((await api.update(rest)).status).toBe(200);
  });

  it("is not removed while a registration of it is on its way, nor is its source (409)", async () => {
    const { fixture, id } = await requested();
    await fixture.work();
    expect((await fixture.shown(id)).state).toBe("RegistrationInitiated");
    const removal = () =>
      fixture.ask("DELETE", "/payment-source-extended", { id: fixture.sourceId });
    expect(await removal()).toMatchObject({
      status: 409,
      message: expect.stringMatching(/^wallet \S+: has a transaction that is not settled yet$/),
    });
    await fixture.settle();
    expect((await removal()).status).toBe(200);
  });

  it("goes once it is settled", async () => {
    const { data: source } = await api.create(api.selling());
    await addRecord(source.id, source.SellingWallets[0]);
    expect((await api.remove(source.id)).status).toBe(200);
  });
});
