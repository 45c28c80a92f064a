import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { validateMnemonic } from "../../src/chain/wallet-keys.ts";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { loseProviderKey, SourceApi, storedSources } from "../support/sources/api.ts";

const LIST = "/api/v1/wallet/list";
const WALLET = "/api/v1/wallet";

let api: SourceApi;

beforeAll(async () => {
  api = await SourceApi.open();
});

beforeEach(async () => {
  await emptyTables();
  await api.chain.faults();
});

describe("GET /wallet/list 200", () => {
  it("shows the wallets of all sources, newest first, with what lies at their addresses", async () => {
    const { data: source } = await api.create({ ...api.purchasing(), ...api.selling() });
    const { data } = await api.ask("GET", LIST);
    expect(data.Wallets).toHaveLength(2);
    const selling = data.Wallets.find(({ type }: { type: string }) => type === "Selling");
    expect(selling).toEqual({
      ...source.SellingWallets[0],
      type: "Selling",
      network: "Preprod",
      paymentSourceId: source.id,
      createdAt: expect.stringMatching(/Z$/),
      Balance: expect.arrayContaining([{ unit: "", amount: expect.stringMatching(/^[1-9]\d+$/) }]),
      Outputs: {
        ...{ count: expect.any(Number), largest: expect.stringMatching(/^[1-9]\d+$/) },
        ...{ Line: null, Collateral: null },
      },
      ...{ Transactions: [], Waiting: [], HeldUp: null, SpentElsewhere: null, Missing: [] },
      LowBalanceSummary: { isLow: false, lowRuleCount: 0, lastCheckedAt: null },
    });
  });

  it("shows an address that never held anything as empty", async () => {
    const { data: fresh } = await api.ask("POST", WALLET, { network: "Preprod" });
    await api.create({ SellingWallets: [{ walletMnemonic: fresh.walletMnemonic }] });
    const { data } = await api.ask("GET", LIST);
    expect(data.Wallets).toMatchObject([{ walletVkey: fresh.walletVkey, Balance: [] }]);
  });

  it("adds up what lies in more outputs than one question shows", async () => {
    await api.create(api.selling());
    const output = (page: number, i: number) => ({
      ...{ address: api.wallet("seller-0").address, tx_hash: `${page}b`.repeat(32) },
      ...{ output_index: i, amount: [{ unit: "lovelace", quantity: "3" }] },
      ...{ inline_datum: null, reference_script_hash: null },
    });
    const pages = Array.from({ length: 10 }, (_, page) => ({
      match: `^/addresses/[^/]+/utxos.*[?&]page=${page + 1}$`,
      status: 200,
      body: JSON.stringify(Array.from({ length: 100 }, (_, i) => output(page, i))),
    }));
    await api.chain.faults(...pages, {
      match: "^/addresses/[^/]+$",
      status: 200,
      body: JSON.stringify({ amount: [{ unit: "lovelace", quantity: "3001" }] }),
    });
    const { data } = await api.ask("GET", LIST);
    expect(data.Wallets[0].Balance).toEqual([{ unit: "", amount: "3001" }]);
  });

  it("shows wallets without balance while the provider fails", async () => {
    await api.create({ ...api.purchasing(), ...api.selling() });
    await api.chain.faults({ match: "^/addresses/", status: 403 });
    const { status, data } = await api.ask("GET", LIST);
    expect(status).toBe(200);
    expect(data.Wallets).toMatchObject([{ Balance: null }, { Balance: null }]);
  });

  it("shows wallets without balance whose provider never answers, and the others with theirs", async () => {
    await api.create(api.selling());
    await api.create(api.elsewhere());
    await api.chain.faults({
      match: `^/addresses/${api.wallet("seller-0").address}/utxos`,
      hang: true,
    });
    const shortTimer = { env: { REQUEST_DEADLINE_MS: "10000" } };
    const { status, data } = await api.ask("GET", LIST, null, shortTimer);
    expect(status).toBe(200);
    expect(data.Wallets).toMatchObject([
      { note: "sells elsewhere", Balance: [{ unit: "" }] },
      { note: "sells", Balance: null },
    ]);
  });

  it("shows wallets without balance whose source's provider key does not open", async () => {
    const { data: source } = await api.create(api.selling());
    await api.create(api.elsewhere());
    await loseProviderKey(source.id);
    const { status, data } = await api.ask("GET", LIST);
    expect(status).toBe(200);
    expect(data.Wallets).toMatchObject([
      { note: "sells elsewhere", Balance: [{ unit: "" }] },
      { note: "sells", Balance: null },
    ]);
  });

  it("finds by source, type, key hash and address, and pages", async () => {
    const { data: source } = await api.create({ ...api.purchasing(), ...api.selling() });
    const [buyer, seller] = [source.PurchasingWallets[0], source.SellingWallets[0]];
    const idsAt = async (query: string) => {
      const { data } = await api.ask("GET", `${LIST}?${query}`);
      return data.Wallets.map(({ id }: { id: string }) => id);
    };
    expect(await idsAt("walletType=Selling")).toEqual([seller.id]);
    expect(await idsAt(`walletVkey=${buyer.walletVkey}`)).toEqual([buyer.id]);
    expect(await idsAt(`walletAddress=${seller.walletAddress}`)).toEqual([seller.id]);
    expect(await idsAt(`paymentSourceId=${source.id}`)).toHaveLength(2);
    expect(await idsAt("paymentSourceId=another")).toEqual([]);
    const [newest, oldest] = await idsAt("");
    expect(await idsAt("limit=1")).toEqual([newest]);
    expect(await idsAt("take=1")).toEqual([newest]);
    expect(await idsAt(`limit=1&cursorId=${newest}`)).toEqual([oldest]);
  });
});

describe("POST /wallet 200", () => {
  it("generates a wallet that can be added, and stores nothing", async () => {
    const before = await storedSources();
    const { data } = await api.ask("POST", WALLET, { network: "Preprod" });
    expect(await storedSources()).toBe(before);
    expect(data.walletMnemonic.split(" ")).toHaveLength(24);
    expect(validateMnemonic(data.walletMnemonic)).toEqual({ ok: true });
    const { data: source } = await api.create({
      PurchasingWallets: [{ walletMnemonic: data.walletMnemonic }],
    });
    expect(source.PurchasingWallets).toMatchObject([
      { walletVkey: data.walletVkey, walletAddress: data.walletAddress },
    ]);
  });

  it("makes an address of the network", async () => {
    const addressOf = async (network: string) =>
      (await api.ask("POST", WALLET, { network })).data.walletAddress;
    expect(await addressOf("Preprod")).toMatch(/^addr_test1/);
    expect(await addressOf("Mainnet")).toMatch(/^addr1/);
  });
});

describe("PATCH /wallet", () => {
  it("changes the collection address or the note, and keeps the rest", async () => {
    const { data: source } = await api.create(api.selling());
    const [wallet] = source.SellingWallets;
    const to = api.wallet("buyer-1").address;
    const moved = await api.ask("PATCH", WALLET, { id: wallet.id, collectionAddress: to });
    expect(moved.data).toMatchObject({ ...wallet, collectionAddress: to, type: "Selling" });
    const noted = await api.ask("PATCH", WALLET, { id: wallet.id, note: "new" });
    expect(noted.data).toMatchObject({ collectionAddress: to, note: "new" });
    const own = await api.ask("PATCH", WALLET, { id: wallet.id, collectionAddress: null });
    expect(own.data).toMatchObject({ collectionAddress: null, note: "new" });
    const { data } = await api.list();
    expect(data.ExtendedPaymentSources[0].SellingWallets).toEqual([
      { ...wallet, collectionAddress: null, note: "new" },
    ]);
    const row = await env.DB.prepare("SELECT * FROM audit ORDER BY id DESC").first();
    expect(row).toMatchObject({ action: "wallet.update", target: wallet.id });
  });

  it.each([
    ["note", { note: "new" }, { collectionAddress: null }],
    ["collection address", { collectionAddress: null }, { note: "new" }],
  ])("keeps what somebody else changed while it changed the %s", async (_, change, theirs) => {
    const { data: source } = await api.create(api.selling());
    const [wallet] = source.SellingWallets;
    let meanwhile = 0;
    const DB = wrapD1(env.DB, async ({ kind }, run) => {
      if (kind === "batch" && meanwhile++ === 0)
        await api.ask("PATCH", WALLET, { id: wallet.id, ...theirs });
      return run();
    });
    const body = { id: wallet.id, ...change };
    const { data } = await api.ask("PATCH", WALLET, body, { env: { DB } });
    expect(meanwhile).toBe(1);
    expect(data).toMatchObject({ ...wallet, ...change, ...theirs });
    expect((await api.list()).data.ExtendedPaymentSources[0].SellingWallets).toEqual([
      { ...wallet, ...change, ...theirs },
    ]);
  });

  it("takes the collection address by the name that clients of today send", async () => {
    const { data: source } = await api.create(api.selling());
    const { id } = source.SellingWallets[0];
    const newCollectionAddress = api.wallet("buyer-1").address;
    const moved = await api.ask("PATCH", WALLET, { id, newCollectionAddress });
    expect(moved.data.collectionAddress).toBe(newCollectionAddress);
    const own = await api.ask("PATCH", WALLET, { id, newCollectionAddress: null });
    expect(own.data.collectionAddress).toBeNull();
  });

  it("changes nothing when nothing is sent", async () => {
    const { data: source } = await api.create(api.selling());
    const [wallet] = source.SellingWallets;
    expect((await api.ask("PATCH", WALLET, { id: wallet.id })).data).toMatchObject(wallet);
  });

  it("refuses an address of another network (400)", async () => {
    const { data: source } = await api.create(api.selling());
    const { id } = source.SellingWallets[0];
    const { data: foreign } = await api.ask("POST", WALLET, { network: "Mainnet" });
    const before = await storedSources();
    for (const field of ["collectionAddress", "newCollectionAddress"])
      for (const address of [foreign.walletAddress, "address"])
        expect(await api.ask("PATCH", WALLET, { id, [field]: address })).toMatchObject({
          status: 400,
          message: `${field}: must be an address on Preprod`,
        });
    expect(await storedSources()).toBe(before);
  });

  it("knows no wallet that was removed (404)", async () => {
    const { data: source } = await api.create(api.selling());
    const { id } = source.SellingWallets[0];
    await api.update({ id: source.id, RemoveSellingWallets: [{ id }] });
    for (const unknown of [id, "nothing"])
      expect((await api.ask("PATCH", WALLET, { id: unknown })).status).toBe(404);
  });
});
