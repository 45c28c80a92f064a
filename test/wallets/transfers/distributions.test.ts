import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { TransferFixture } from "../../support/wallets/transfer-fixture.ts";

const UNTIL_INVALID_MS = 15 * 60_000;

beforeEach(emptyTables);

interface Told {
  kind: string;
  sequence: number;
  data: { batchId: string; distributions: { requestId: string }[]; [field: string]: unknown };
}

/** All events so far, in their order. */
async function told(): Promise<Told[]> {
  const { results } = await env.DB.prepare(
    "SELECT kind, record_id AS recordId, sequence, data FROM event ORDER BY seq",
  ).all<{ kind: string; recordId: string; sequence: number; data: string }>();
  return results.map(({ kind, recordId, sequence, data: text }) => {
    const data = JSON.parse(text) as Told["data"];
    expect(data.batchId).toBe(recordId);
    return { kind: kind.replace("FUND_DISTRIBUTION_", ""), sequence, data };
  });
}

const brief = async () =>
  (await told()).map(({ kind, sequence, data }) => [kind, sequence, data.distributions.length]);

/** Top-ups of so many wallets, and a transfer that is none. */
async function topUps(count: number, options: Parameters<typeof TransferFixture.open>[0] = {}) {
  const transfers = await TransferFixture.open(options);
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push(await transfers.sent());
  await env.DB.prepare(
    "UPDATE transfer SET top_up_rule_id = 'rule', top_up_wallet_id = 'target'",
  ).run();
  await transfers.sent();
  return { transfers, fixture: transfers.fixture, ids };
}

describe("FUND_DISTRIBUTION events", () => {
  it("tell once of each transaction that it was sent, and that it was confirmed", async () => {
    const { transfers, fixture, ids } = await topUps(2);
    await fixture.chain.holdBlocks();
    await fixture.work();
    const { txHash, hotWalletId } = await transfers.shown(ids[0] ?? "");
    const [sent] = await told();
    const data = {
      batchId: expect.stringMatching(/^[0-9a-z]{26}$/),
      fundWalletId: hotWalletId,
      fundWalletAddress: transfers.from,
      network: "Preprod",
      paymentSourceId: fixture.sourceId,
      txHash,
      distributions: ids.toSorted().map((requestId) => ({
        requestId,
        targetWalletId: "target",
        targetWalletAddress: transfers.recipients[0],
        assetUnit: "",
        amount: "5000000",
      })),
      error: null,
      willRetry: false,
    };
    expect(sent).toEqual({ kind: "SENT", sequence: 1, data });
    await fixture.chain.mine();
    await fixture.settle();
    expect(await told()).toEqual([sent, { kind: "CONFIRMED", sequence: 2, data: sent?.data }]);
  });

  it("tell that a transaction has ended, and of the one that does the same", async () => {
    const { fixture } = await topUps(2);
    await fixture.chain.faults({ match: "/tx/submit", status: 504 });
    await fixture.work();
    await fixture.chain.advance(UNTIL_INVALID_MS);
    await fixture.chain.mine();
    await fixture.work();
    await fixture.chain.faults();
    await fixture.settle();
    expect(await brief()).toEqual([
      ["SENT", 1, 2],
      ["FAILED", 2, 2],
      ["SENT", 1, 2],
      ["CONFIRMED", 2, 2],
    ]);
    const [, failed, , confirmed] = await told();
    expect(failed?.data).toMatchObject({
      error: "the network did not accept the transaction in time",
      willRetry: true,
    });
    expect(confirmed?.data.batchId).not.toBe(failed?.data.batchId);
  });

  it("tell of a confirmation again after a rollback", async () => {
    const { fixture } = await topUps(1);
    await fixture.settle();
    await fixture.chain.rollback(1);
    await fixture.chain.mine(2);
    await fixture.settle();
    expect(await brief()).toEqual([
      ["SENT", 1, 1],
      ["CONFIRMED", 2, 1],
      ["CONFIRMED", 3, 1],
    ]);
  });

  it("tell of what fails with its payment source", async () => {
    const { fixture } = await topUps(2);
    await env.DB.prepare("UPDATE payment_source SET deleted_at = 1").run();
    await fixture.settle();
    expect(await told()).toMatchObject([
      {
        kind: "FAILED",
        data: { error: "the wallet's payment source was removed", willRetry: false },
      },
    ]);
    expect(await brief()).toEqual([["FAILED", 1, 2]]);
  });

  it("tell of what was given up, and why", async () => {
    const { fixture } = await topUps(1, { sellerFunds: [3_000_000] });
    await fixture.settle();
    expect(await told()).toMatchObject([
      {
        kind: "FAILED",
        sequence: 1,
        data: {
          txHash: null,
          error: expect.stringContaining("lacks"),
          willRetry: false,
          distributions: [{ amount: "5000000" }],
        },
      },
    ]);
  });
});
