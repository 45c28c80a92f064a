import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { unseal } from "../../src/db/sealed.ts";
import { emptyTables } from "../support/app.ts";
import { failingD1, RETRYABLE_ERRORS, wrapD1 } from "../support/d1.ts";
import { type Answer, count, SourceApi, storedSources } from "../support/sources/api.ts";

const WALLET = "/api/v1/wallet";

let api: SourceApi;
let sourceId: string;

beforeAll(async () => {
  // Its chain has one open escrow, between buyer-0 and seller-0.
  api = await SourceApi.open();
});

beforeEach(async () => {
  await emptyTables();
  await api.chain.faults();
  sourceId = (await api.create()).data.id;
  api.woken.length = 0;
});

const add = (body: object = {}, options?: Parameters<SourceApi["ask"]>[3]): Promise<Answer> =>
  api.ask(
    "POST",
    WALLET,
    { network: "Preprod", paymentSourceId: sourceId, walletType: "Selling", ...body },
    options,
  );

const existing = (name: string) => ({ walletMnemonic: api.wallet(name).mnemonic });

async function source() {
  return (await api.list()).data.ExtendedPaymentSources[0];
}

describe("POST /wallet 200", () => {
  it("adds a new wallet to a source, and keeps its words sealed alone", async () => {
    await api.chain.faults({ match: "^/addresses/", status: 403 });
    const to = api.wallet("buyer-1").address;
    const { data } = await add({ note: "sells", collectionAddress: to });
    expect(data.walletMnemonic.split(" ")).toHaveLength(24);
    const wallet = {
      ...{ id: data.Wallet.id, walletVkey: data.walletVkey, walletAddress: data.walletAddress },
      ...{ note: "sells", collectionAddress: to, drives: "all" },
    };
    expect(data.Wallet).toEqual({
      ...wallet,
      ...{ type: "Selling", network: "Preprod", paymentSourceId: sourceId },
      createdAt: expect.stringMatching(/Z$/),
    });
    expect(await source()).toMatchObject({ SellingWallets: [wallet], syncInProgress: true });
    expect(api.woken).toEqual([sourceId]);

    expect(await storedSources()).not.toContain(data.walletMnemonic);
    const row = await env.DB.prepare("SELECT id, mnemonic FROM managed_wallet").first();
    const place = { table: "managed_wallet", id: String(row?.id), column: "mnemonic" };
    expect(await unseal(env, place, String(row?.mnemonic))).toBe(data.walletMnemonic);
    const audit = await env.DB.prepare("SELECT * FROM audit ORDER BY id DESC").first();
    expect(audit).toMatchObject({ action: "wallet.create", target: data.Wallet.id });
  });

  it.each([
    ["seller-0", "nothing"],
    ["seller-1", "all"],
  ])("adds a wallet that exists, and does with %s: %s", async (name, drives) => {
    const { data } = await add(existing(name));
    expect(data).toMatchObject({
      walletMnemonic: null,
      walletVkey: api.wallet(name).vkey,
      walletAddress: api.wallet(name).address,
      Wallet: { note: "", collectionAddress: null, drives },
    });
  });

  it("does with a wallet what it is told", async () => {
    expect((await add({ ...existing("seller-0"), drives: "all" })).data.Wallet.drives).toBe("all");
    expect((await add({ drives: "finish" })).data.Wallet.drives).toBe("finish");
  });

  it("adds a funding wallet, whose past nobody reads", async () => {
    await env.DB.prepare("UPDATE source_cursor SET tip_hash = 'seen'").run();
    const { data } = await add({ walletType: "Funding" });
    expect(await source()).toMatchObject({
      FundingWallets: [{ id: data.Wallet.id }],
      ...{ SellingWallets: [], syncInProgress: false },
    });
  });

  it("answers a repeat under the same Idempotency-Key with the same wallet and words", async () => {
    const headers = { "idempotency-key": "once" };
    const first = await add({}, { headers });
    expect((await add({}, { headers })).data).toEqual(first.data);
    expect(await count("managed_wallet")).toBe(1);
    expect((await add({ walletType: "Funding" }, { headers })).status).toBe(422);

    const other = { headers: { "idempotency-key": "of no source" } };
    const make = () => api.ask("POST", WALLET, { network: "Preprod" }, other);
    const made = await make();
    expect(made.data).toMatchObject({ Wallet: null });
    expect((await make()).data).toEqual(made.data);
    expect(await storedSources()).not.toContain(made.data.walletMnemonic);
  });

  it("makes one wallet when the answer of the database is lost", async () => {
    const calls = async (fails: (n: number) => boolean) => {
      const { d1, calls } = failingD1(env.DB, RETRYABLE_ERRORS[0] ?? "", "after", fails);
      const { status } = await add({}, { env: { DB: d1 } });
      expect(status).toBe(200);
      return calls();
    };
    const all = await calls(() => false);
    for (let nth = 1; nth <= all; nth++) {
      await env.DB.prepare("DELETE FROM managed_wallet").run();
      await calls((n) => n === nth);
      expect(await count("managed_wallet")).toBe(1);
    }
  });
});

describe("POST /wallet refuses", () => {
  it.each([
    ["words without a source", { paymentSourceId: undefined }, "paymentSourceId: is required"],
    ["a source without a type", { walletType: undefined }, "walletType: is required"],
    ["another network", { network: "Mainnet" }, "network: must be Preprod"],
    ["an address of another network", { collectionAddress: "addr1" }, "collectionAddress: must be"],
    ["words that are none", { walletMnemonic: "one two" }, "walletMnemonic: "],
  ])("%s (400)", async (_, body, message) => {
    const before = await storedSources();
    const refused = await add({ ...existing("seller-1"), ...body });
    expect(refused).toMatchObject({ status: 400, message: expect.stringContaining(message) });
    expect(await storedSources()).toBe(before);
  });

  const required = (...names: string[]) => names.map((name) => `${name}: is required`).join("; ");

  it.each([
    [{}, required("network")],
    [{ walletType: "Selling" }, required("network", "paymentSourceId")],
    [{ paymentSourceId: "a" }, required("network", "walletType")],
    [{ network: "Preprod", note: "" }, required("paymentSourceId", "walletType")],
    [{ network: "Preprod", walletType: "Selling" }, required("paymentSourceId")],
    [{ network: "Preprod", paymentSourceId: "a" }, required("walletType")],
    [{ network: "Preprod", type: "Selling" }, "type: this field is not known"],
    [
      { network: "Preprod", paymentSourceId: "a", type: "Selling" },
      `type: this field is not known (did you mean \`walletType\`?); ${required("walletType")}`,
    ],
    [{ network: "Preprod", paymentSourceId: "a", walletType: 5 }, "walletType: must be one of"],
    [{ network: 5 }, "network: must be one of Preprod, Mainnet"],
    [[], "body: must be an object"],
  ])("%j, and names what it lacks (400)", async (body, message) => {
    const refused = await api.ask("POST", "/api/v1/wallet", body);
    const [field] = message.split(": ");
    expect(refused).toMatchObject({
      status: 400,
      message: expect.stringContaining(message),
      field,
    });
  });

  it("a source that is not there, or is removed meanwhile (404)", async () => {
    const unknown = await add({ paymentSourceId: "nothing" });
    expect(unknown).toMatchObject({
      status: 404,
      message: "paymentSourceId: there is no such payment source",
    });
    let isRemoved = false;
    const DB = wrapD1(env.DB, async ({ kind }, run) => {
      if (kind === "batch" && !isRemoved) {
        isRemoved = true;
        await api.remove(sourceId);
      }
      return run();
    });
    expect((await add({}, { env: { DB } })).status).toBe(404);
    expect(isRemoved).toBe(true);
    expect(await count("managed_wallet")).toBe(0);
  });

  it("a wallet that is managed already, even when both come at once (409)", async () => {
    const both = await Promise.all([add(existing("seller-1")), add(existing("seller-1"))]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(both.find(({ status }) => status === 409)?.message).toBe(
      "walletMnemonic: a payment source already manages this wallet",
    );
    expect(await count("managed_wallet")).toBe(1);
  });

  it("while the provider does not say whether the wallet is named (502)", async () => {
    await api.chain.faults({ match: "^/addresses/", status: 403 });
    expect((await add(existing("seller-1"))).status).toBe(502);
    expect(await count("managed_wallet")).toBe(0);
  });
});
