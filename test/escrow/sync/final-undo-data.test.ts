import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { saveDatabase } from "../../support/restore.ts";
import { createSource, leftBehind, settle } from "../../support/sources/sync.ts";

const V1 = "Web3ChainV1";
/** More than the blocks of the deepest rollback. */
const FINAL_BLOCKS = 2_200;

beforeEach(emptyTables);

const lock = (as: string) => ({ do: "lock", as, version: V1 });
const act = (on: string, action: string) => ({ do: action, on });

async function countUndoData(): Promise<number | null> {
  return env.DB.prepare("SELECT count(*) AS n FROM escrow_undo").first<number>("n");
}

/** Records with a lock, and their histories. */
async function recordsOf(source: string): Promise<unknown> {
  const { escrows, steps, actions } = await leftBehind(source);
  return {
    escrows: escrows.filter(({ doc }) => (doc as { onChainState: unknown }).onChainState !== null),
    steps: steps.map(({ undoData: _, ...step }) => step),
    actions,
  };
}

async function recordsOfFreshSync(chain: TestChain): Promise<unknown> {
  await emptyTables();
  const source = await createSource(chain, V1);
  await settle(chain, source);
  return recordsOf(source);
}

it.each([20, 2_000])(
  "Undo data of final blocks is deleted, and a rollback of %i blocks ends as without that",
  async (blocks) => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1);
    await chain.act([lock("a"), lock("b"), act("a", "submitResult")]);
    await settle(chain, source);
    expect(await countUndoData()).toBe(6);
    await chain.mine(FINAL_BLOCKS);
    await settle(chain, source);
    expect(await countUndoData()).toBe(0);

    await chain.act([lock("c"), act("c", "submitResult")]);
    await settle(chain, source);
    expect(await countUndoData()).toBe(4);
    await chain.mine(blocks - 5);
    await settle(chain, source);
    await chain.rollback(blocks);
    await chain.mine(blocks + 1);
    await settle(chain, source);
    expect(await countUndoData()).toBe(0);
    const undone = await recordsOf(source);
    expect(undone).toEqual(await recordsOfFreshSync(chain));
  },
);

it("A database that is restored to before or after the deletion ends as a sync from nothing", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain, V1);
  await chain.act([lock("a"), lock("b"), act("a", "submitResult")]);
  await settle(chain, source);
  const restoreEarlier = await saveDatabase();
  await chain.mine(FINAL_BLOCKS);
  await settle(chain, source);
  const restoreLater = await saveDatabase();
  await chain.act([lock("c"), act("c", "submitResult"), act("b", "requestRefund")]);
  await chain.mine(FINAL_BLOCKS);
  await settle(chain, source);
  await chain.rollback(20);
  await chain.mine(21);
  const restored: unknown[] = [];
  for (const restore of [restoreLater, restoreEarlier]) {
    await restore();
    await settle(chain, source);
    expect(await countUndoData()).toBe(0);
    restored.push(await recordsOf(source));
  }
  const fresh = await recordsOfFreshSync(chain);
  expect(restored).toEqual([fresh, fresh]);
});
