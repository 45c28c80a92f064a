import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDb } from "../../src/db/client.ts";
import { readSyncStatuses } from "../../src/sources/cursor.ts";
import { emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { type Around, wrapD1 } from "../support/d1.ts";
import { sized } from "../support/effort.ts";
import { addWallets, lockMany, lockSame, lockSigned, sides } from "../support/sources/backfill.ts";
import { createSource, leftBehind, runPass, settle } from "../support/sources/sync.ts";

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
  const [row] = await openDb(env).all<{ backfill: string | null }>(
    "SELECT backfill FROM source_cursor WHERE source_id = ?",
    source,
  );
  const status = (await readSyncStatuses(openDb(env), [source], Date.now())).get(source);
  expect(status?.syncInProgress).toBe(row?.backfill !== null);
  return row?.backfill !== null;
}

beforeEach(emptyTables);
afterEach(() => vi.restoreAllMocks());

/** More than a pass reads of the past. */
const ESCROWS = sized(250, 500);

describe("wallets added later", () => {
  it("get all of hundreds of escrows, once, while new blocks keep coming", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, (name) => name.startsWith("seller"));
    await chain.act([...lockMany("old", ESCROWS), act("old-0", "submitResult")]);
    await chain.act([act("old-1", "requestRefund")]);
    await settle(chain, source);
    expect(await sides(source)).toEqual({ payment: ESCROWS });

    await addWallets(chain, source, "buyer");
    let passes = 0;
    for (; await isBackfilling(source); passes++) {
      await chain.act([{ do: "lock", as: `new-${passes}`, version: V1 }]);
      if (passes === 1)
        await chain.act([act(`old-${ESCROWS - 1}`, "submitResult"), act("old-0", "withdraw")]);
      await shortPass(chain, source);
      expect((await sides(source)).payment).toBe(ESCROWS + passes + 1);
    }
    expect(passes).toBeGreaterThan(sized(1, 3));
    await settle(chain, source);
    expect(await sides(source)).toEqual({ payment: ESCROWS + passes, purchase: ESCROWS + passes });
    const { steps, events } = await leftBehind(source);
    const stepsOf = (side: string) =>
      steps.flatMap(({ key, fields }) =>
        key.startsWith(side) ? [{ escrow: key.slice(side.length), fields }] : [],
      );
    expect(stepsOf("purchase")).toEqual(stepsOf("payment"));
    expect(stepsOf("payment")).toHaveLength(ESCROWS + passes + 4);
    expect(new Set(events.map((one) => JSON.stringify(one))).size).toBe(2 * (ESCROWS + passes + 4));
    expect(events).toHaveLength(2 * (ESCROWS + passes + 4));
  });

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
    await chain.act([...lockMany("kept", 20), act("old-1", "withdrawRefund")]);
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

/** The purchases of a source by the buyer whose wallet they are of, and whether its sync failed. */
async function purchases(source: string) {
  const rows = await openDb(env).all<{ buyer: string; identifier: string; state: string }>(
    `SELECT note AS buyer, lower(hex(blockchain_identifier)) AS identifier, on_chain_state AS state
     FROM escrow JOIN managed_wallet ON vkey = wallet_vkey
     WHERE escrow.source_id = ? AND side = 'purchase' ORDER BY escrow.id`,
    source,
  );
  const [cursor] = await openDb(env).all<{ error: string | null }>(
    "SELECT error FROM source_cursor WHERE source_id = ?",
    source,
  );
  return { rows, error: cursor?.error };
}

describe("a second lock of one identifier, from another of our wallets,", () => {
  const identifierOf = (step: { escrows: { identifier: string }[] } | undefined) =>
    step?.escrows[0]?.identifier ?? "";

  it("does not change the first and stops nothing when both wallets were there from the beginning", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, (name) => name.startsWith("buyer"));
    const [first] = await chain.act([lockSigned("first", "buyer-0")]);
    await settle(chain, source);
    const [, later] = await chain.act([
      lockSame(first, "second", "buyer-1"),
      lockSigned("later", "buyer-1"),
    ]);
    await chain.act([act("second", "requestRefund")]);
    await settle(chain, source);
    expect(await purchases(source)).toEqual({
      rows: [
        { buyer: "buyer-0", identifier: identifierOf(first), state: "FundsLocked" },
        { buyer: "buyer-1", identifier: identifierOf(later), state: "FundsLocked" },
      ],
      error: null,
    });
  });

  it("does not stop the backfill of a wallet that is added later", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, (name) => name === "buyer-0");
    const [first] = await chain.act([lockSigned("first", "buyer-0")]);
    const [, later] = await chain.act([
      lockSame(first, "second", "buyer-1"),
      lockSigned("later", "buyer-1"),
    ]);
    await settle(chain, source);
    await addWallets(chain, source, "buyer-1");
    await settle(chain, source);
    expect(await isBackfilling(source)).toBe(false);
    await chain.act([act("second", "requestRefund"), act("later", "requestRefund")]);
    await settle(chain, source);
    expect(await purchases(source)).toEqual({
      rows: [
        { buyer: "buyer-0", identifier: identifierOf(first), state: "FundsLocked" },
        { buyer: "buyer-1", identifier: identifierOf(later), state: "RefundRequested" },
      ],
      error: null,
    });
  });

  it("does not stop the sync of new transactions during the backfill of the first", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, (name) => name === "buyer-1");
    const [first] = await chain.act([lockSigned("first", "buyer-0"), ...lockMany("old", 90)]);
    await settle(chain, source);
    await addWallets(chain, source, "buyer-0");
    await shortPass(chain, source);
    expect(await isBackfilling(source)).toBe(true);
    const [, later] = await chain.act([
      lockSame(first, "second", "buyer-1"),
      lockSigned("later", "buyer-1"),
      act("first", "submitResult"),
    ]);
    await settle(chain, source);
    const { rows, error } = await purchases(source);
    expect(error).toBeNull();
    expect(rows).toHaveLength(92);
    expect(rows.filter(({ identifier }) => identifier === identifierOf(first))).toEqual([
      { buyer: "buyer-0", identifier: identifierOf(first), state: "ResultSubmitted" },
    ]);
    expect(rows.filter(({ buyer }) => buyer === "buyer-1")).toEqual([
      { buyer: "buyer-1", identifier: identifierOf(later), state: "FundsLocked" },
    ]);
  });

  it("gets the record when the first lock was rolled back for good", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V1, (name) => name === "buyer-0");
    const [first] = await chain.act([lockSigned("first", "buyer-0")]);
    await settle(chain, source);
    await chain.rollback(1);
    await chain.act([lockSame(first, "second", "buyer-1")]);
    await chain.mine(2);
    await settle(chain, source);
    await addWallets(chain, source, "buyer-1");
    await settle(chain, source);
    expect(await purchases(source)).toEqual({
      rows: [{ buyer: "buyer-1", identifier: identifierOf(first), state: "FundsLocked" }],
      error: null,
    });
  });
});
