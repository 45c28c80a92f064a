import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { formatAddress } from "../../../src/chain/address.ts";
import { runSchedule } from "../../../src/schedule.ts";
import { emptyTables } from "../../support/app.ts";
import { objectsLike } from "../../support/objects.ts";
import { TransferFixture } from "../../support/wallets/transfer-fixture.ts";

beforeEach(emptyTables);

describe("POST /wallet/transfer-funds 200", () => {
  it("is accepted, sent and confirmed, and told at each step", async () => {
    const transfers = await TransferFixture.open();
    const { fixture, from, recipients } = transfers;
    await fixture.chain.holdBlocks();
    const { status, data } = await transfers.send();
    expect({ status, data }).toEqual({
      status: 200,
      data: {
        id: expect.stringMatching(/^[0-9a-z]{26}$/),
        status: "Pending",
        txHash: null,
        blockHeight: null,
        blockTime: null,
        network: "Preprod",
        paymentSourceId: fixture.sourceId,
        hotWalletId: expect.any(String),
        fromWalletAddress: from,
        toAddress: recipients[0],
        minorUnitAmount: "5000000",
        sentMinorUnitAmount: null,
        assets: null,
        topUpRuleId: null,
        errorNote: null,
        createdAt: expect.stringMatching(/Z$/),
        updatedAt: expect.stringMatching(/Z$/),
        lastCheckedAt: null,
      },
    });
    await fixture.work();
    const [txHash] = await fixture.chain.mempool();
    const sent = await transfers.shown(data.id);
    expect(sent).toMatchObject({ status: "Sent", txHash, sentMinorUnitAmount: "5000000" });
    const { height, time } = await fixture.chain.mine();
    await fixture.settle();
    expect(await transfers.shown(data.id)).toEqual({
      ...sent,
      status: "Confirmed",
      blockHeight: height,
      blockTime: time,
      updatedAt: expect.any(String),
      lastCheckedAt: expect.stringMatching(/Z$/),
    });
    expect(await transfers.received()).toBe(5_000_000n);
    const [audited] = (
      await env.DB.prepare("SELECT api_key_id AS by, target, detail FROM audit WHERE action = ?")
        .bind("wallet.transfer")
        .all<{ by: string; target: string; detail: string }>()
    ).results;
    expect(audited).toMatchObject({ by: "env-admin", target: data.id });
    expect(JSON.parse(audited?.detail ?? "")).toMatchObject({ minorUnitAmount: "5000000" });
  });

  it("shares a transaction with what else the wallet has to pay", async () => {
    const transfers = await TransferFixture.open();
    const [, other] = transfers.recipients;
    const ids = await Promise.all([
      ...[2_000_000, 3_000_000, 4_000_000].map((n) => transfers.sent({ minorUnitAmount: `${n}` })),
      transfers.sent({ toAddress: other }),
    ]);
    await transfers.fixture.settle();
    expect(await transfers.statuses(ids)).toEqual(ids.map(() => "Confirmed"));
    expect(await transfers.transactions()).toHaveLength(1);
    expect(await transfers.received(0)).toBe(9_000_000n);
    expect(await transfers.received(1)).toBe(5_000_000n);
  });

  it("needs no block in between where there are more than share a transaction", async () => {
    const transfers = await TransferFixture.open();
    const { fixture } = transfers;
    await fixture.chain.holdBlocks();
    const ids = await Promise.all(Array.from({ length: 105 }, () => transfers.sent()));
    await fixture.work();
    const hashes = await fixture.chain.mempool();
    expect(hashes).toHaveLength(2);
    await fixture.chain.mine();
    await fixture.settle();
    expect(await transfers.transactions()).toEqual(
      hashes.map((hash) => ({ hash, phase: "Confirmed" })),
    );
    expect(await transfers.received()).toBe(5_000_000n * BigInt(ids.length));
  });

  it("may be paid to the wallet itself", async () => {
    const transfers = await TransferFixture.open();
    const ids = [await transfers.sent({ toAddress: transfers.from }), await transfers.sent()];
    await transfers.fixture.settle();
    expect(await transfers.statuses(ids)).toEqual(["Confirmed", "Confirmed"]);
    const id = await transfers.sent();
    await transfers.fixture.settle();
    expect(await transfers.shown(id)).toMatchObject({ status: "Confirmed" });
  });

  it("goes along with a registration of the same wallet", async () => {
    const transfers = await TransferFixture.open();
    const { fixture } = transfers;
    const agent = (await fixture.register()).data.id;
    const id = await transfers.sent();
    await fixture.work();
    await fixture.settle();
    expect(await fixture.shown(agent)).toMatchObject({ state: "RegistrationConfirmed" });
    expect(await transfers.shown(id)).toMatchObject({ status: "Confirmed" });
  });

  it("sends tokens, with as much of the native coin as the ledger wants", async () => {
    const transfers = await TransferFixture.open();
    const { fixture } = transfers;
    for (let i = 0; i < 8; i++) await fixture.register({ name: `Agent ${i}` });
    await fixture.settle();
    const { held } = await fixture.tokens();
    const assets = held.map((unit) => ({ unit, quantity: "1" }));
    const shouted = assets.map(({ unit, quantity }) => ({ unit: unit.toUpperCase(), quantity }));
    const { data } = await transfers.send({ minorUnitAmount: "2000000", assets: shouted });
    expect(data).toMatchObject({ assets });
    await fixture.settle();
    const shown = await transfers.shown(data.id);
    expect(shown).toMatchObject({ status: "Confirmed", minorUnitAmount: "2000000", assets });
    const sent = BigInt(shown.sentMinorUnitAmount ?? 0);
    expect(sent).toBeGreaterThan(2_000_000n);
    expect(await transfers.received()).toBe(sent);
    for (const unit of held) expect(await transfers.holds(unit)).toBe(1n);
  });

  it("is the same transfer under the same Idempotency-Key", async () => {
    const transfers = await TransferFixture.open();
    const key = { "Idempotency-Key": "rent of May" };
    const first = await transfers.send({}, key);
    await transfers.fixture.settle();
    expect(await transfers.send({}, key)).toEqual(first);
    expect((await transfers.send({ minorUnitAmount: "6000000" }, key)).status).toBe(422);
    await transfers.fixture.settle();
    expect(await transfers.received()).toBe(5_000_000n);
  });

  it("is found by the cron where the wallet could not be woken", async () => {
    const transfers = await TransferFixture.open();
    await transfers.sent();
    const woken: string[] = [];
    const HOT_WALLET = objectsLike("HOT_WALLET", () => ({
      wake: async (_: string, vkey: string) => void woken.push(vkey),
    }));
    await runSchedule(transfers.fixture.env({ HOT_WALLET }));
    expect(woken).toEqual([transfers.fixture.sellers[0].vkey]);
  });
});

describe("POST /wallet/transfer-funds refused", () => {
  it("404 for an address that is none of a managed wallet", async () => {
    const transfers = await TransferFixture.open();
    const { vkey } = transfers.fixture.sellers[0];
    const payment = { kind: "key", hash: vkey } as const;
    for (const fromWalletAddress of [
      transfers.recipients[0],
      "addr_test1",
      formatAddress({ network: "Mainnet", payment, stake: null }),
      formatAddress({ network: "Preprod", payment, stake: null }),
    ])
      expect(await transfers.send({ fromWalletAddress })).toMatchObject({
        status: 404,
        message: "fromWalletAddress: there is no such wallet",
      });
  });

  it("400 for who cannot be paid", async () => {
    const transfers = await TransferFixture.open();
    const payment = { kind: "key", hash: "ab".repeat(28) } as const;
    const elsewhere = formatAddress({ network: "Mainnet", payment, stake: null });
    expect(await transfers.send({ toAddress: elsewhere })).toMatchObject({
      status: 400,
      message: "toAddress: must be an address on Preprod",
    });
    expect(await transfers.send({ toAddress: transfers.fixture.contract.address })).toMatchObject({
      status: 400,
      message: expect.stringContaining("toAddress: must have a payment key"),
    });
    expect((await transfers.list()).data.transfers).toEqual([]);
  });
});

describe("GET /wallet/transfer-funds 200", () => {
  it("pages, newest first, and filters", async () => {
    const transfers = await TransferFixture.open();
    const other = transfers.fixture.sellers[1].address;
    const ids: string[] = [];
    for (const fromWalletAddress of [transfers.from, other, transfers.from])
      ids.unshift(await transfers.sent({ fromWalletAddress }));
    const listed = async (query?: string) =>
      (await transfers.list(query)).data.transfers.map(({ id }) => id);
    expect((await listed()).toSorted()).toEqual(ids.toSorted());
    const all = await listed();
    expect(await listed("limit=2")).toEqual(all.slice(0, 2));
    expect(await listed(`cursorId=${all[1]}`)).toEqual(all.slice(2));
    expect(await listed(`id=${ids[1]}`)).toEqual([ids[1]]);
    expect(await listed(`walletAddress=${other}`)).toEqual([ids[1]]);
    const { hotWalletId } = await transfers.shown(ids[1] ?? "");
    expect(await listed(`hotWalletId=${hotWalletId}`)).toEqual([ids[1]]);
    expect(await listed("network=Mainnet")).toEqual([]);
  });
});
