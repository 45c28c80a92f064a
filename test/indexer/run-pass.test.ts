import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ProviderError, type TransactionPosition } from "../../src/chain/provider/provider.ts";
import { ProviderBehindError } from "../../src/indexer/checkpoints.ts";
import { StaleCursorError, StaleRecordError } from "../../src/indexer/cursor.ts";
import { emptyTables } from "../support/app.ts";
import { racedD1, wrapD1 } from "../support/d1.ts";
import { FakeChain } from "./fake-chain.ts";
import { createTally, expected, pass, tallied } from "./tally.ts";

const MOVE = "UPDATE registry_cursor SET version";

let chain: FakeChain;

beforeEach(async () => {
  await emptyTables();
  await createTally();
  chain = new FakeChain();
  chain.grow(["a0"]);
});

/** A D1 that stops for good at the n-th batch that moves the cursor, before or after it applied. */
function stoppedAt(n: number, when: "before" | "after"): D1Database {
  let moves = 0;
  return wrapD1(env.DB, async ({ sql }, run) => {
    if (sql[0]?.startsWith(MOVE)) moves++;
    if (moves > n || (moves === n && when === "before")) throw new Error("stopped here");
    const result = await run();
    if (moves === n) throw new Error("stopped here");
    return result;
  });
}

async function cursor() {
  const [row] = (await env.DB.prepare("SELECT * FROM registry_cursor").all()).results;
  return row;
}

describe("a pass", () => {
  it("applies what is listed in chain order, in batches, and is then complete", async () => {
    chain.grow(["b0", "a1"], [], ["c0", "a2", "b1"], ["a3"]);
    const read: string[] = [];
    let batches = 0;
    const again = await pass(chain, {
      read: (txHash) => read.push(txHash),
      committed: () => batches++,
    });
    expect(again).toBe(false);
    expect(read).toEqual(["a0", "b0", "a1", "c0", "a2", "b1", "a3"]);
    expect(batches).toBe(3);
    expect(await tallied()).toEqual({
      counts: { a: 4, b: 2, c: 1 },
      steps: ["a0", "b0", "a1", "c0", "a2", "b1", "a3"],
    });
    expect(await cursor()).toMatchObject({ tip_hash: chain.tip.hash, error: null });
  });

  it("leaves what lacks confirmations to a later one, and is complete all the same", async () => {
    chain.grow(["b0"], ["b1"], []);
    expect(await pass(chain, { threshold: 3 })).toBe(false);
    expect((await tallied()).steps).toEqual(["a0", "b0"]);
    expect(await cursor()).toMatchObject({ tip_hash: chain.tip.hash });
    chain.grow([]);
    await pass(chain, { threshold: 3 });
    expect((await tallied()).steps).toEqual(["a0", "b0", "b1"]);
  });

  it("that cannot read a transaction applies those before it, and then fails", async () => {
    chain.grow(["b0", "b1", "b2", "b3", "b4"]);
    const read = (txHash: string) => {
      if (txHash === "b3") throw new ProviderBehindError("not there yet");
    };
    await expect(pass(chain, { read })).rejects.toThrow("not there yet");
    expect((await tallied()).steps).toEqual(["a0", "b0", "b1", "b2"]);
    await pass(chain);
    expect(await tallied()).toEqual(expected(chain));
  });

  it("refuses a listing that is not in chain order, and writes nothing of it", async () => {
    chain.grow(["b0"], ["b1"]);
    await expect(pass(chain, { list: (rows) => rows.toReversed() })).rejects.toThrow(ProviderError);
    expect((await tallied()).steps).toEqual([]);
  });

  it.each([
    ["at the tip", 0],
    ["below it", 2],
  ])(
    "writes nothing while a late node shows its last transaction in a block of another fork, %s",
    async (_, more) => {
      chain.grow(["b0"], ...Array.from({ length: more }, () => []));
      const place = (found: TransactionPosition) => ({ ...found, blockHash: "of another fork" });
      await expect(pass(chain, { place })).rejects.toThrow(ProviderBehindError);
      expect((await tallied()).steps).toEqual([]);
      await pass(chain);
      expect(await tallied()).toEqual(expected(chain));
    },
  );

  it("does what is listed late, and what comes after it again: each counts once", async () => {
    chain.grow(["b0", "c0", "b1"], ["a1"]);
    chain.hidden.add("c0");
    await pass(chain);
    expect((await tallied()).steps).toEqual(["a0", "b0", "b1", "a1"]);
    chain.hidden.clear();
    chain.grow([]);
    const read: string[] = [];
    const warn = vi.spyOn(console, "warn");
    await pass(chain, { read: (txHash) => read.push(txHash) });
    const lines = warn.mock.calls.map(([line]) => JSON.parse(String(line)));
    warn.mockRestore();
    expect(read).toEqual(["c0", "b1", "a1"]);
    expect(lines).toMatchObject([{ event: "sync.transaction_late", tx: "c0" }]);
    expect(await tallied()).toEqual(expected(chain));
  });

  it("waits while a transaction that was done is not listed, and undoes nothing", async () => {
    chain.grow(["b0"], ["b1"]);
    await pass(chain);
    const before = await tallied();
    chain.grow(["b2"]);
    for (const missing of ["b0", "b1"]) {
      chain.hidden.add(missing);
      await expect(pass(chain)).rejects.toThrow(`does not list transaction ${missing} any more`);
      chain.hidden.clear();
    }
    expect(await tallied()).toEqual(before);
    await pass(chain);
    expect(await tallied()).toEqual(expected(chain));
  });
});

describe("a batch", () => {
  it("that loses a record to another writer is folded anew, without reading again", async () => {
    await pass(chain);
    chain.grow(["a1", "b0"]);
    const { d1, lost } = racedD1(env.DB, MOVE, 3, "UPDATE tally SET revision = revision + 1");
    const read: string[] = [];
    await pass(chain, { d1, read: (txHash) => read.push(txHash) });
    expect(lost()).toBe(3);
    expect(read).toEqual(["a1", "b0"]);
    expect(await tallied()).toEqual(expected(chain));
  });

  it("that loses it always gives up, with nothing written", async () => {
    await pass(chain);
    chain.grow(["a1"]);
    const { d1, lost } = racedD1(
      env.DB,
      MOVE,
      Number.POSITIVE_INFINITY,
      "UPDATE tally SET revision = revision + 1",
    );
    await expect(pass(chain, { d1 })).rejects.toThrow(StaleRecordError);
    expect(lost()).toBe(5);
    expect((await tallied()).steps).toEqual(["a0"]);
  });

  it("that loses the cursor is not folded anew, and writes nothing", async () => {
    const { d1, lost } = racedD1(
      env.DB,
      MOVE,
      Number.POSITIVE_INFINITY,
      "UPDATE registry_cursor SET version = version + 1",
    );
    const failure = await pass(chain, { d1 }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StaleCursorError);
    expect(failure).not.toBeInstanceOf(StaleRecordError);
    expect(lost()).toBe(1);
    expect((await tallied()).steps).toEqual([]);
  });

  it("whose answer is lost is sent again, and counts once", async () => {
    chain.grow(["a1", "b0", "b1", "c0"]);
    let moves = 0;
    const d1 = wrapD1(env.DB, async ({ sql }, run) => {
      const result = await run();
      if (sql[0]?.startsWith(MOVE) && moves++ === 0)
        throw new Error("D1_ERROR: Network connection lost.");
      return result;
    });
    expect(await pass(chain, { d1 })).toBe(false);
    expect(moves).toBe(2);
    expect(await tallied()).toEqual(expected(chain));
  });
});

describe("a rollback", () => {
  const FORK = [["b0", "a1"], ["cd2"], ["a2"], ["a3"]];
  const OTHER = [["b0", "a1"], ["d0"], ["d1"], ["a3"], []];

  it("undoes what the chain lost, and leaves alone what stands", async () => {
    chain.grow(...FORK);
    await pass(chain);
    const [before] = (await env.DB.prepare("SELECT version FROM registry_cursor").all()).results;
    chain.cut(1);
    chain.grow([], []);
    await pass(chain);
    expect(await tallied()).toEqual(expected(chain));
    expect(await cursor()).toMatchObject({ version: Number(before?.version) + 1 });
  });

  describe.each(["before", "after"] as const)("stopped %s a batch", (when) => {
    it.each([
      ["comes to the other chain", () => {}],
      [
        "comes to the old chain when it returns",
        (old: Parameters<FakeChain["switchTo"]>[0]) => chain.switchTo(old),
      ],
      [
        "comes to the part of the old chain that returns",
        (old: Parameters<FakeChain["switchTo"]>[0]) => {
          chain.switchTo(old);
          chain.cut(2);
          chain.grow(["e0"], [], []);
        },
      ],
    ])("%s", async (_, then) => {
      for (let n = 1; n <= 3; n++) {
        await emptyTables();
        await createTally();
        chain = new FakeChain();
        chain.grow(["a0"], ...FORK);
        await pass(chain);
        const old = chain.cut(FORK.length);
        chain.grow(...OTHER);
        await expect(pass(chain, { d1: stoppedAt(n, when) })).rejects.toThrow("stopped here");
        then(old);
        while (await pass(chain));
        expect(await tallied(), `stopped at batch ${n}`).toEqual(expected(chain));
      }
    });
  });
});
