import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { db } from "../../src/db/client.ts";
import { syncStatus } from "../../src/sources/cursor.ts";
import { emptyTables } from "../support/app.ts";
import { addWallets, lockMany, sides } from "../support/backfill.ts";
import { TestChain } from "../support/chain.ts";
import { type Around, wrapD1 } from "../support/d1.ts";
import { createSource, leftBehind, runPass, settle } from "../support/sync.ts";

const V1 = "Web3ChainV1";

const act = (on: string, action: string) => ({ do: action, on });

/** Expects what a source leaves on the same chain that had all its wallets from the beginning. */
async function expectAsIfFromTheBeginning(chain: TestChain, source: string): Promise<void> {
  const added = await comparable(source);
  await emptyTables();
  const whole = await createSource(chain, V1);
  await settle(chain, whole);
  expect(added).toEqual(await comparable(whole));
}

/** Without what a rollback may leave different: events, and records whose lock did not return. */
async function comparable(source: string) {
  const { escrows, steps, actions, cursor } = await leftBehind(source);
  const alive = escrows.filter(({ doc }) => (doc as { onChainState: unknown }).onChainState);
  return { escrows: alive, steps, actions, position: cursor?.position };
}

/** One pass whose deadline comes with its first batch of the past. */
async function shortPass(chain: TestChain, source: string): Promise<void> {
  const begun = Date.now();
  let late = 0;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => begun + late);
  const around: Around = async ({ sql }, run) => {
    const result = await run();
    const movesCursor = sql[0]?.includes("UPDATE source_cursor SET version") ?? false;
    if (movesCursor && !sql.some((one) => one.includes("INSERT INTO checkpoint"))) late = 30_000;
    return result;
  };
  await runPass(chain, source, { env: { DB: wrapD1(env.DB, around) } });
  clock.mockRestore();
}

async function isBackfilling(source: string): Promise<boolean> {
  const [row] = await db(env).all<{ backfill: string | null }>(
    "SELECT backfill FROM source_cursor WHERE source_id = ?",
    source,
  );
  const status = (await syncStatus(db(env), [source], Date.now())).get(source);
  expect(status?.syncInProgress).toBe(row?.backfill !== null);
  return row?.backfill !== null;
}

beforeEach(emptyTables);
afterEach(() => vi.restoreAllMocks());

describe("wallets added later", () => {
  it("get all of 500 escrows, once, while new blocks keep coming", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, (name) => name.startsWith("seller"));
    await chain.act([...lockMany("old", 500), act("old-0", "submitResult")]);
    await chain.act([act("old-1", "requestRefund")]);
    await settle(chain, source);
    expect(await sides(source)).toEqual({ payment: 500 });

    await addWallets(chain, source, "buyer");
    let passes = 0;
    for (; await isBackfilling(source); passes++) {
      await chain.act([{ do: "lock", as: `new-${passes}`, version: V1 }]);
      if (passes === 1) await chain.act([act("old-0", "withdraw"), act("old-499", "submitResult")]);
      await shortPass(chain, source);
      expect((await sides(source)).payment).toBe(500 + passes + 1);
    }
    expect(passes).toBeGreaterThan(3);
    await settle(chain, source);
    expect(await sides(source)).toEqual({ payment: 500 + passes, purchase: 500 + passes });
    const { steps, events } = await leftBehind(source);
    const stepsOf = (side: string) =>
      steps.flatMap(({ key, fields }) =>
        key.startsWith(side) ? [{ escrow: key.slice(side.length), fields }] : [],
      );
    expect(stepsOf("purchase")).toEqual(stepsOf("payment"));
    expect(stepsOf("payment")).toHaveLength(500 + passes + 4);
    expect(new Set(events.map((one) => JSON.stringify(one))).size).toBe(2 * (500 + passes + 4));
    expect(events).toHaveLength(2 * (500 + passes + 4));
  }, 60_000);

  it.each([1, 4])("get theirs across a rollback of %i blocks", async (blocks) => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, (name) => name.startsWith("seller"));
    await chain.act([...lockMany("old", 90), act("old-0", "submitResult")]);
    await settle(chain, source);
    await addWallets(chain, source, "buyer");
    await shortPass(chain, source);
    expect(await isBackfilling(source)).toBe(true);

    await chain.act([act("old-0", "withdraw"), ...lockMany("lost", 20)]);
    await shortPass(chain, source);
    await chain.rollback(blocks);
    await chain.act([...lockMany("kept", 20), act("old-1", "requestRefund")]);
    await chain.mine(blocks);
    await settle(chain, source);
    expect(await isBackfilling(source)).toBe(false);
    await expectAsIfFromTheBeginning(chain, source);
  });

  it("that are added while others wait get theirs together with them", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, () => false);
    await chain.act(lockMany("old", 90));
    await settle(chain, source);
    await addWallets(chain, source, "seller");
    await shortPass(chain, source);
    expect(await isBackfilling(source)).toBe(true);
    await addWallets(chain, source, "buyer");
    await settle(chain, source);
    await expectAsIfFromTheBeginning(chain, source);
  });

  it("to a source without history are followed at once", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, () => false);
    await settle(chain, source);
    await addWallets(chain, source, "seller");
    await settle(chain, source);
    expect(await isBackfilling(source)).toBe(false);
    await chain.act(lockMany("first", 20));
    await settle(chain, source);
    expect(await sides(source)).toEqual({ payment: 20 });
  });

  it("wait for a provider that does not list all of the past", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, () => false);
    await chain.act(lockMany("old", 20));
    await settle(chain, source);
    await addWallets(chain, source, "seller");
    await chain.faults({ match: "^/addresses/", dropRows: 1 });
    await runPass(chain, source);
    expect(await isBackfilling(source)).toBe(true);
    await chain.faults();
    await settle(chain, source);
    expect(await sides(source)).toEqual({ payment: 20 });
  });
});
