import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { askProvider } from "../../../devnet/client/chain.ts";
import { emptyTables } from "../../support/app.ts";
import { wrapD1 } from "../../support/d1.ts";
import { TransferFixture } from "../../support/wallets/transfer-fixture.ts";

/** Past the validity of any transaction made now, and past the time a provider may be late. */
const UNTIL_INVALID_MS = 15 * 60_000;
const FINAL_DEPTH = 20;
const REFUSED = { match: "/tx/submit", status: 400, body: '{"message":"BadInputsUTxO"}' };
const LOST = { match: "/tx/submit", truncate: true };

beforeEach(emptyTables);

async function letValidityPass({ fixture }: TransferFixture): Promise<void> {
  await fixture.chain.advance(UNTIL_INVALID_MS);
  await fixture.chain.mine();
}

/** Runs the wallet so often that it gives up what is refused: each time with bytes of their own. */
async function tryAllTimes({ fixture }: TransferFixture): Promise<void> {
  for (let runs = 0; runs < 8; runs++) {
    await fixture.chain.advance(2_000);
    await fixture.chain.mine();
    await fixture.skipPauses();
    await fixture.work();
  }
}

const storesAnother = (sql: string[]) =>
  sql.some((one) => one.includes("INSERT INTO wallet_transaction"));

describe("a transfer whose record changes while its transaction is stored", () => {
  it("has the same bytes stored for the new revision, when it asks for the same", async () => {
    const transfers = await TransferFixture.open();
    const id = await transfers.sent();
    let stored = 0;
    const DB = wrapD1(env.DB, async ({ kind, sql }, run) => {
      if (kind === "batch" && storesAnother(sql) && stored++ === 0)
        await env.DB.prepare("UPDATE transfer SET revision = revision + 1").run();
      return run();
    });
    await transfers.fixture.chain.stats();
    await transfers.fixture.work(undefined, { DB });
    expect(stored).toBe(2);
    const { calls } = await transfers.fixture.chain.stats();
    expect(calls["POST /tx/submit"]).toBe(1);
    expect(calls["GET /epochs/latest/parameters"]).toBe(1);
    expect(await transfers.transactions()).toHaveLength(1);
    expect(await transfers.shown(id)).toMatchObject({ status: "Sent" });
  });

  it("has none stored when it is not to be paid any more", async () => {
    const transfers = await TransferFixture.open();
    const id = await transfers.sent();
    let stored = 0;
    const DB = wrapD1(env.DB, async ({ kind, sql }, run) => {
      if (kind === "batch" && storesAnother(sql) && stored++ === 0)
        await env.DB.batch([
          env.DB.prepare("UPDATE transfer SET revision = revision + 1, state = 'Failed'"),
          env.DB.prepare("DELETE FROM wallet_task"),
        ]);
      return run();
    });
    await transfers.fixture.work(undefined, { DB });
    expect(stored).toBe(1);
    expect(await transfers.transactions()).toEqual([]);
    expect(await transfers.shown(id)).toMatchObject({ status: "Failed", txHash: null });
  });
});

describe("a provider that refuses every call, as with a key that is over", () => {
  it.each(["/blocks/latest", "/epochs/latest/parameters", "/utxos"])(
    "holds up the wallet, and fails no transfer (%s)",
    async (match) => {
      const transfers = await TransferFixture.open();
      const { fixture } = transfers;
      const id = await transfers.sent();
      await fixture.chain.faults({ match, status: 403, body: "{}" });
      await tryAllTimes(transfers);
      const errorNote = expect.stringMatching(/^waits for the chain provider: .* status 403$/);
      expect(await transfers.shown(id)).toMatchObject({ status: "Pending", errorNote });
      const held = await env.DB.prepare("SELECT blocker FROM hot_wallet").first("blocker");
      expect(held).toMatch(/^waits for the chain provider: .* status 403$/);
      expect(await env.DB.prepare("SELECT attempts FROM wallet_task").first("attempts")).toBe(0);
      await fixture.chain.faults();
      await fixture.settle();
      expect(await transfers.shown(id)).toMatchObject({ status: "Confirmed" });
    },
  );
});

describe("a transfer whose wallet is short", () => {
  it("fails with what is missing, and holds up none that can be paid", async () => {
    const transfers = await TransferFixture.open({ sellerFunds: [30_000_000] });
    const ids: string[] = [];
    for (const whole of [4, 900, 5, 6])
      ids.push(await transfers.sent({ minorUnitAmount: `${whole}000000` }));
    await transfers.fixture.work();
    expect(await transfers.statuses(ids)).toEqual(["Sent", "Pending", "Sent", "Sent"]);
    const [, large = ""] = ids;
    const waiting = await transfers.shown(large);
    expect(waiting.errorNote).toMatch(
      /^the wallet lacks \d+ minor units .* send them to addr_test1/,
    );
    await transfers.fixture.settle();
    expect(await transfers.statuses(ids)).toEqual([
      "Confirmed",
      "Failed",
      "Confirmed",
      "Confirmed",
    ]);
    expect((await transfers.shown(large)).errorNote).toMatch(/lacks \d+ minor units/);
    expect(await transfers.received()).toBe(15_000_000n);
  });

  it("is paid once funds come", async () => {
    const transfers = await TransferFixture.open({ sellerFunds: [3_000_000] });
    const id = await transfers.sent();
    await transfers.fixture.work();
    expect(await transfers.shown(id)).toMatchObject({ status: "Pending", txHash: null });
    const [, rich] = transfers.fixture.sellers;
    await transfers.sent({
      fromWalletAddress: rich.address,
      toAddress: transfers.from,
      minorUnitAmount: "20000000",
    });
    await transfers.fixture.settle(rich);
    await transfers.fixture.settle();
    expect(await transfers.shown(id)).toMatchObject({ status: "Confirmed", errorNote: null });
  });

  const MOST = "9".repeat(20);

  it.each([
    [
      "a token that the wallet does not hold",
      { assets: [{ unit: "ab".repeat(30), quantity: MOST }] },
      "does not hold the token",
    ],
    ["more than there is", { minorUnitAmount: MOST }, "lacks"],
  ])("fails for %s", async (_, fields, reason) => {
    const transfers = await TransferFixture.open();
    const id = await transfers.sent(fields);
    await transfers.fixture.settle();
    expect(await transfers.shown(id)).toMatchObject({
      status: "Failed",
      txHash: null,
      errorNote: expect.stringContaining(reason),
    });
  });
});

describe("a transfer while the chain provider fails", () => {
  it("waits, says so, and is paid afterwards", async () => {
    const transfers = await TransferFixture.open();
    const id = await transfers.sent();
    await transfers.fixture.chain.faults({ match: "/utxos", status: 500 });
    await transfers.fixture.work();
    expect(await transfers.shown(id)).toMatchObject({
      status: "Pending",
      errorNote: expect.stringMatching(/^waits for the chain provider: /),
    });
    await transfers.fixture.chain.faults();
    await transfers.fixture.settle();
    expect(await transfers.shown(id)).toMatchObject({ status: "Confirmed", errorNote: null });
  });
});

describe("a transfer whose submission is lost", () => {
  it("is made anew once it can no longer land, and pays once", async () => {
    const transfers = await TransferFixture.open();
    const { fixture } = transfers;
    const ids = [await transfers.sent(), await transfers.sent()];
    await fixture.chain.faults({ match: "/tx/submit", status: 504 });
    await fixture.work();
    expect(await transfers.statuses(ids)).toEqual(["Sent", "Sent"]);
    await letValidityPass(transfers);
    await fixture.work();
    expect(await transfers.shown(ids[0] ?? "")).toMatchObject({
      status: "Pending",
      errorNote: "the network did not accept the transaction in time",
    });
    await fixture.chain.faults();
    await fixture.settle();
    expect(await transfers.statuses(ids)).toEqual(["Confirmed", "Confirmed"]);
    expect(await transfers.received()).toBe(10_000_000n);
  });

  it("is taken for paid when it comes after it was given up", async () => {
    const transfers = await TransferFixture.open();
    const { fixture } = transfers;
    const id = await transfers.sent();
    await fixture.chain.faults(LOST, { match: "^/txs/", status: 404 });
    await fixture.work();
    const { txHash } = await transfers.shown(id);
    await letValidityPass(transfers);
    await fixture.work();
    expect(await transfers.shown(id)).toMatchObject({ status: "Pending" });
    await fixture.chain.faults();
    await fixture.settle();
    expect(await transfers.shown(id)).toMatchObject({ status: "Confirmed", txHash });
    expect(await transfers.received()).toBe(5_000_000n);
  });
});

describe("a transfer that the network refuses", () => {
  it("has failed only when nothing of it can land any more", async () => {
    const transfers = await TransferFixture.open();
    const { fixture } = transfers;
    const id = await transfers.sent();
    await fixture.chain.faults(REFUSED);
    await tryAllTimes(transfers);
    expect(await transfers.shown(id)).toMatchObject({
      status: "Pending",
      errorNote: expect.stringMatching(/^the service does not try again, .*BadInputsUTxO/),
    });
    expect((await fixture.chain.stats()).calls["POST /tx/submit"]).toBe(5);
    await letValidityPass(transfers);
    await fixture.work();
    await fixture.chain.mine(FINAL_DEPTH);
    await fixture.work();
    await fixture.work();
    expect(await transfers.shown(id)).toMatchObject({
      status: "Failed",
      errorNote: expect.stringMatching(/^the network refused the transaction: .*BadInputsUTxO/),
    });
    await fixture.settle();
    expect(await transfers.received()).toBe(0n);
  });

  it("is paid where one of the refused transactions lands all the same", async () => {
    const transfers = await TransferFixture.open();
    const { fixture } = transfers;
    const id = await transfers.sent();
    await fixture.chain.holdBlocks();
    await fixture.chain.faults(REFUSED);
    await tryAllTimes(transfers);
    const [{ hash } = { hash: "" }] = await transfers.transactions();
    const cbor = await env.DB.prepare("SELECT cbor FROM wallet_transaction_content WHERE hash = ?")
      .bind(hash)
      .first<string>("cbor");
    await fixture.chain.faults();
    await askProvider(fixture.chain.url, "/tx/submit", {
      method: "POST",
      headers: { "content-type": "application/cbor" },
      body: Buffer.from(cbor ?? "", "base64"),
    });
    await fixture.chain.mine();
    await fixture.settle();
    expect(await transfers.shown(id)).toMatchObject({
      status: "Confirmed",
      txHash: hash,
      errorNote: null,
    });
    expect(await transfers.received()).toBe(5_000_000n);
  });
});

describe("a transfer that fails while its transaction is made", () => {
  it("is not paid", async () => {
    const transfers = await TransferFixture.open();
    const ids = [await transfers.sent(), await transfers.sent()];
    const failed = [
      `UPDATE transfer SET state = 'Failed', revision = revision + 1 WHERE id = '${ids[0]}'`,
      `DELETE FROM wallet_task WHERE subject_id = '${ids[0]}'`,
    ];
    let fails = 0;
    const DB = wrapD1(env.DB, async ({ sql }, run) => {
      if (storesAnother(sql) && fails++ === 0)
        await env.DB.batch(failed.map((one) => env.DB.prepare(one)));
      return run();
    });
    await transfers.fixture.work(undefined, { DB });
    expect(fails).toBe(2);
    await transfers.fixture.settle();
    expect(await transfers.statuses(ids)).toEqual(["Failed", "Confirmed"]);
    expect(await transfers.received()).toBe(5_000_000n);
  });
});

describe("a transfer whose block is rolled back", () => {
  it("is sent again, the same bytes, and confirmed again", async () => {
    const transfers = await TransferFixture.open();
    const { fixture } = transfers;
    const id = await transfers.sent();
    await fixture.settle();
    const { txHash } = await transfers.shown(id);
    await fixture.chain.rollback(1);
    await fixture.chain.holdBlocks();
    await fixture.chain.mine(2);
    await fixture.work();
    expect(await transfers.shown(id)).toMatchObject({ status: "Sent", txHash, blockHeight: null });
    await fixture.chain.mine();
    await fixture.settle();
    expect(await transfers.shown(id)).toMatchObject({ status: "Confirmed", txHash });
    expect(await transfers.received()).toBe(5_000_000n);
  });

  it("waits again where its validity is over, and is paid by another transaction", async () => {
    const transfers = await TransferFixture.open();
    const { fixture } = transfers;
    const id = await transfers.sent();
    await fixture.settle();
    const { txHash } = await transfers.shown(id);
    await fixture.chain.rollback(1);
    await letValidityPass(transfers);
    await fixture.chain.mine();
    await fixture.work();
    expect(await transfers.shown(id)).toMatchObject({
      status: "Pending",
      errorNote: "the network did not accept the transaction",
    });
    await fixture.settle();
    const paid = await transfers.shown(id);
    expect(paid.status).toBe("Confirmed");
    expect(paid.txHash).not.toBe(txHash);
    expect(await transfers.received()).toBe(5_000_000n);
  });
});

describe("a transfer whose wallet or source is removed", () => {
  it("keeps its wallet while it is sent, and not settled", async () => {
    const transfers = await TransferFixture.open();
    const { fixture } = transfers;
    await fixture.chain.holdBlocks();
    const { id, hotWalletId } = (await transfers.send()).data;
    await fixture.work();
    const change = { id: fixture.sourceId, RemoveSellingWallets: [{ id: hotWalletId }] };
    expect(await fixture.ask("PATCH", "/payment-source-extended", change)).toMatchObject({
      status: 409,
      message: `wallet ${hotWalletId}: has a transaction that is not settled yet`,
    });
    await fixture.chain.mine();
    await fixture.settle();
    expect(await transfers.shown(id)).toMatchObject({ status: "Confirmed" });
    expect((await fixture.ask("PATCH", "/payment-source-extended", change)).status).toBe(200);
  });

  it("fails, and says what to do", async () => {
    const transfers = await TransferFixture.open();
    const id = await transfers.sent();
    await env.DB.prepare("UPDATE managed_wallet SET deleted_at = 1, mnemonic = ''").run();
    await transfers.fixture.settle();
    expect(await transfers.shown(id)).toMatchObject({
      status: "Failed",
      errorNote: expect.stringContaining("add the wallet"),
    });
  });

  it("fails where no provider is left", async () => {
    const transfers = await TransferFixture.open();
    const id = await transfers.sent();
    await env.DB.prepare("UPDATE payment_source SET deleted_at = 1").run();
    await transfers.fixture.settle();
    expect(await transfers.shown(id)).toMatchObject({
      status: "Failed",
      errorNote: "the wallet's payment source was removed",
    });
  });
});
