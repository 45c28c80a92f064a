import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AUTOMATION_MODES, selectAutomationMode } from "../../src/sources/automation-mode.ts";
import { emptyTables } from "../support/app.ts";
import { type Answer, SourceApi } from "../support/sources/api.ts";

let api: SourceApi;

beforeAll(async () => {
  // Its chain has one open escrow on Web3ChainV1, between buyer-0 and seller-0.
  api = await SourceApi.open();
});

beforeEach(async () => {
  await emptyTables();
  await api.chain.faults();
});

const wallet = (name: string, more: object = {}) => ({
  walletMnemonic: api.wallet(name).mnemonic,
  note: name,
  ...more,
});

/** What a source's wallets do, by their notes. */
function drivesIn({ data }: Answer): Record<string, string> {
  const { PurchasingWallets, SellingWallets, FundingWallets } = data;
  return Object.fromEntries(
    [...PurchasingWallets, ...SellingWallets, ...FundingWallets].map(
      ({ note, drives }: { note: string; drives: string }) => [note, drives],
    ),
  );
}

describe("the stricter of source and wallet", () => {
  it.each(
    AUTOMATION_MODES.flatMap((source, i) =>
      AUTOMATION_MODES.map((one, j) => [source, one, AUTOMATION_MODES[Math.min(i, j)]] as const),
    ),
  )("of %s and %s is %s", (source, one, held) => {
    expect(selectAutomationMode({ drives: source }, { drives: one })).toBe(held);
  });
});

describe("POST /payment-source-extended", () => {
  it("drives everything, but no wallet that an open escrow of the contract names", async () => {
    const created = await api.create({
      PurchasingWallets: [wallet("buyer-0"), wallet("buyer-1")],
      SellingWallets: [wallet("seller-0"), wallet("seller-1")],
    });
    expect(created.data.drives).toBe("all");
    expect(drivesIn(created)).toEqual({
      ...{ "buyer-0": "nothing", "buyer-1": "all" },
      ...{ "seller-0": "nothing", "seller-1": "all" },
    });
  });

  it("does with a source and its wallets what it is told, without looking", async () => {
    await api.chain.faults({ match: `^/addresses/${api.contract().address}/utxos`, status: 403 });
    const created = await api.create({
      drives: "finish",
      PurchasingWallets: [wallet("buyer-0", { drives: "all" })],
      SellingWallets: [wallet("seller-1", { drives: "nothing" })],
    });
    expect(created.data.drives).toBe("finish");
    expect(drivesIn(created)).toEqual({ "buyer-0": "all", "seller-1": "nothing" });
  });

  it("only watches where the contract has more outputs than are looked through", async () => {
    const { address } = api.contract();
    const output = { address, inline_datum: null, amount: [], reference_script_hash: null };
    const pages = Array.from({ length: 10 }, (_, page) => ({
      match: `^/addresses/${address}/utxos.*[?&]page=${page + 1}$`,
      status: 200,
      body: JSON.stringify(
        Array.from({ length: 100 }, (_, i) => ({
          ...output,
          tx_hash: `${page}b`.repeat(32),
          output_index: i,
        })),
      ),
    }));
    await api.chain.faults(...pages);
    const created = await api.create({ SellingWallets: [wallet("seller-1")] });
    expect(drivesIn(created)).toEqual({ "seller-1": "nothing" });
  });

  it("drives a wallet again whose escrows are over", async () => {
    await api.chain.act([
      { do: "lock", as: "over", version: "Web3ChainV1", buyer: 1, seller: 1 },
      { do: "withdrawRefund", on: "over" },
    ]);
    const created = await api.create({
      PurchasingWallets: [wallet("buyer-1")],
      SellingWallets: [wallet("seller-1")],
    });
    expect(drivesIn(created)).toEqual({ "buyer-1": "all", "seller-1": "all" });
  });

  it("refuses what is no such word (400)", async () => {
    expect(await api.create({ drives: "some" })).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^drives: /),
    });
  });
});

describe("PATCH /payment-source-extended", () => {
  it("changes what a source does, and keeps the setting when the field is absent", async () => {
    const { data: source } = await api.create();
    const { id } = source;
    expect((await api.update({ id, drives: "nothing" })).data.drives).toBe("nothing");
    expect((await api.update({ id })).data.drives).toBe("nothing");
    expect((await api.list()).data.ExtendedPaymentSources[0].drives).toBe("nothing");
  });

  it("looks for open escrows of a wallet that it adds", async () => {
    const { data: source } = await api.create();
    const updated = await api.update({
      id: source.id,
      AddSellingWallets: [wallet("seller-0"), wallet("seller-1")],
      AddFundingWallets: [wallet("buyer-1", { drives: "finish" })],
    });
    expect(drivesIn(updated)).toEqual({
      ...{ "seller-0": "nothing", "seller-1": "all", "buyer-1": "finish" },
    });
  });

  it("adds nothing while the provider does not say (502)", async () => {
    const { data: source } = await api.create();
    await api.chain.faults({ match: `^/addresses/${api.contract().address}/utxos`, status: 403 });
    const refused = await api.update({ id: source.id, AddSellingWallets: [wallet("seller-1")] });
    expect(refused.status).toBe(502);
    expect((await api.list()).data.ExtendedPaymentSources[0].SellingWallets).toEqual([]);
  });
});

describe("PATCH /wallet", () => {
  it("changes what a wallet does, and keeps the rest", async () => {
    const { data: source } = await api.create({ SellingWallets: [wallet("seller-0")] });
    const [before] = source.SellingWallets;
    const change = { id: before.id, drives: "all" };
    expect((await api.ask("PATCH", "/api/v1/wallet", change)).data).toMatchObject({
      ...before,
      drives: "all",
    });
    const noted = await api.ask("PATCH", "/api/v1/wallet", { id: before.id, note: "new" });
    expect(noted.data).toMatchObject({ note: "new", drives: "all" });
  });
});

describe("a source from before there was a choice", () => {
  it("is only watched, as its wallets are", async () => {
    const { data: source } = await api.create({ SellingWallets: [wallet("seller-1")] });
    for (const table of ["payment_source", "managed_wallet"]) {
      const { results } = await env.DB.prepare(`SELECT * FROM ${table}`).all();
      const { drives: _, ...row } = results[0] ?? {};
      const columns = Object.keys(row);
      await env.DB.prepare(`DELETE FROM ${table}`).run();
      await env.DB.prepare(
        `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
      )
        .bind(...Object.values(row))
        .run();
    }
    const listed = await api.list();
    const [shown] = listed.data.ExtendedPaymentSources;
    expect(shown).toMatchObject({ id: source.id, drives: "nothing" });
    expect(drivesIn({ ...listed, data: shown })).toEqual({ "seller-1": "nothing" });
  });
});
