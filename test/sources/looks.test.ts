import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { createBlockfrostProvider } from "../../src/chain/provider/blockfrost/blockfrost.ts";
import type { Block } from "../../src/chain/provider/provider.ts";
import { openDb } from "../../src/db/client.ts";
import { readSyncStatuses } from "../../src/sources/cursor.ts";
import { findBudgetObject } from "../../src/sources/provider.ts";
import { call, emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { PaymentSourceFixture } from "../support/escrow/payment-source-fixture.ts";
import { objectsLike } from "../support/objects.ts";
import { requested } from "../support/registry/registration-fixture.ts";
import { createSource, runPass } from "../support/sources/sync.ts";

const EVERY_20_S = { env: { SYNC_EVERY_SECONDS: "20" } };

beforeEach(emptyTables);

async function followed() {
  const chain = await TestChain.create();
  return { chain, source: await createSource(chain) };
}

const blockAt = ({ url }: TestChain) =>
  createBlockfrostProvider({ baseUrl: url, projectId: "any" }).latestBlock();

const errorOf = async (source: string) =>
  (await readSyncStatuses(openDb(env, "Preprod"), [source], Date.now())).get(source)?.error;

/** Uses up what the source's key has for looks that nobody waits for. */
async function useUp(chain: TestChain): Promise<void> {
  const budget = await findBudgetObject(
    { ...env, BLOCKFROST_URL_PREPROD: chain.url },
    "Preprod",
    "local",
  );
  // Wallets may take more than looks, which so have no call back within seconds.
  const { granted } = await budget.lease(1_000_000, "wallet");
  expect(granted).toBeGreaterThan(0);
}

describe("a payment source", () => {
  it.each([
    ["20", 20_000],
    ["5", 5_000],
    ["", 20_000],
    ["soon", 20_000],
  ])("looks again of itself, SYNC_EVERY_SECONDS being %j", async (seconds, ms) => {
    const { chain, source } = await followed();
    const before = Date.now();
    const again = await runPass(chain, source, { env: { SYNC_EVERY_SECONDS: seconds } });
    expect(again).toBeGreaterThanOrEqual(before + ms);
    expect(again).toBeLessThanOrEqual(Date.now() + ms);
  });

  it("looks when it is asked to alone, SYNC_EVERY_SECONDS being 0", async () => {
    const { chain, source } = await followed();
    expect(await runPass(chain, source, { env: { SYNC_EVERY_SECONDS: "0" } })).toBeNull();
  });

  it("looks no more once it is removed", async () => {
    const { chain, source } = await followed();
    const removed = await call("/api/v1/payment-source-extended", {
      method: "DELETE",
      body: JSON.stringify({ id: source, force: true }),
    });
    expect(removed.status).toBe(200);
    expect(await runPass(chain, source, EVERY_20_S)).toBeNull();
  });

  it("leaves it to the cron, which has calls, when there are none for looks of itself", async () => {
    const { chain, source } = await followed();
    await useUp(chain);
    await chain.stats();
    expect(await runPass(chain, source, { ...EVERY_20_S, isAsked: false })).toBeNull();
    expect([(await chain.stats()).total, await errorOf(source)]).toEqual([0, null]);
    expect(await runPass(chain, source, EVERY_20_S)).not.toBeNull();
    expect((await chain.stats()).total).toBeGreaterThan(0);
  });

  it("tells of what goes wrong with a look of itself", async () => {
    const { chain, source } = await followed();
    await chain.faults({ status: 500 });
    await runPass(chain, source, { ...EVERY_20_S, isAsked: false });
    expect(await errorOf(source)).toMatch(/^provider: /);
  });

  it("asks for the tip and the listing alone when one block was added since", async () => {
    const { chain, source } = await followed();
    await chain.act([{ do: "lock", as: "a", version: "Web3ChainV1" }]);
    await runPass(chain, source);
    await chain.mine(1);
    await chain.stats();
    await runPass(chain, source);
    const one = (await chain.stats()).calls;
    await chain.mine(2);
    await runPass(chain, source);
    expect([one, (await chain.stats()).calls]).toEqual([
      { "GET /blocks/latest": 1, "GET /addresses/{address}/transactions": 1 },
      {
        "GET /blocks/latest": 1,
        "GET /addresses/{address}/transactions": 1,
        "GET /blocks/{hash_or_number}": 1,
      },
    ]);
  });
});

it("a wallet hands over the tip up to which it looked: its own lock then costs the source the listing alone", async () => {
  const buying = await PaymentSourceFixture.open();
  await buying.sync();
  await buying.buy();
  await buying.work();
  const tips: Block[] = [];
  const tick = async (...[, , tip]: [string, string, Block]) => void tips.push(tip);
  buying.fixture.bindings = { SOURCE_CURSOR: objectsLike("SOURCE_CURSOR", () => ({ tick })) };
  await buying.work();
  const [tip] = tips;
  expect(tip).toMatchObject({ hash: (await buying.chain.tip()).hash });
  await buying.chain.stats();
  await runPass(buying.chain, buying.fixture.sourceId, { ...(tip && { tip }) });
  expect((await buying.chain.stats()).calls).toEqual({
    "GET /addresses/{address}/transactions": 1,
  });
  expect(await buying.only("purchase")).toMatchObject({ onChainState: "FundsLocked" });
});

it("a source that has come further than the tip it is handed asks for the tip itself", async () => {
  const { chain, source } = await followed();
  const old = await blockAt(chain);
  await chain.act([{ do: "lock", as: "a", version: "Web3ChainV1" }]);
  await runPass(chain, source);
  await chain.stats();
  await runPass(chain, source, { tip: old });
  expect((await chain.stats()).calls).toEqual({ "GET /blocks/latest": 1 });
  expect(await errorOf(source)).toBeNull();
});

it("a wallet whose transaction is confirmed has its source read at once, once", async () => {
  const { fixture } = await requested();
  const asked: string[] = [];
  const tick = async (sourceId: string) => void asked.push(sourceId);
  fixture.bindings = { SOURCE_CURSOR: objectsLike("SOURCE_CURSOR", () => ({ tick })) };
  await fixture.work();
  expect(asked).toEqual([]);
  await fixture.chain.mine();
  await fixture.work();
  expect(asked).toEqual([fixture.sourceId]);
  await fixture.chain.mine();
  await fixture.work();
  expect(asked).toEqual([fixture.sourceId]);
});
