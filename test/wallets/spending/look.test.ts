import { describe, expect, it } from "vitest";
import type { Block } from "../../../src/chain/provider/provider.ts";
import type { WalletTransaction } from "../../../src/wallets/model/wallet-transaction.ts";
import type { TransactionEvent } from "../../../src/wallets/spending/model/apply-events.ts";
import { pollChain as lookInPortions } from "../../../src/wallets/spending/poll-chain.ts";
import { transaction } from "./transactions.ts";

const inBlock = (blockHeight: number, phase: WalletTransaction["phase"] = "InBlock") => ({
  phase,
  blockHeight,
  blockHash: `block ${blockHeight}`,
  blockTime: 0,
});

/** All portions together. */
async function look(...asked: Parameters<typeof lookInPortions>) {
  const all: TransactionEvent[] = [];
  for await (const some of lookInPortions(...asked)) all.push(...some);
  return all;
}

/** A chain with blocks up to a height, and which of them hold which transactions. */
function chain(height: number, held: Record<string, number> = {}, otherFrom = height + 1) {
  const calls: string[] = [];
  const block = (at: number): Block => ({
    height: at,
    hash: at >= otherFrom ? `other ${at}` : `block ${at}`,
    slot: at * 20,
    time: 0,
  });
  return {
    calls,
    tip: block(height),
    provider: {
      async block(at: number | string) {
        calls.push(`block ${at}`);
        return typeof at === "number" && at <= height ? block(at) : null;
      },
      async transaction(hash: string) {
        calls.push(hash);
        const at = held[hash];
        if (at === undefined) return null;
        const { hash: blockHash } = block(at);
        return { hash, blockHash, blockHeight: at, txIndex: 0, blockTime: 0, validContract: true };
      },
    },
  };
}

/** A chain that forks once a transaction is asked for. */
function forking(before: ReturnType<typeof chain>, after: ReturnType<typeof chain>) {
  let now = before.provider;
  return {
    block: (at: number | string) => now.block(at),
    transaction(hash: string) {
      now = after.provider;
      return now.transaction(hash);
    },
  };
}

describe("a look at the chain", () => {
  it("asks for the oldest that no block has, and not for what spends from it", async () => {
    const { provider, tip, calls } = chain(10);
    const open = [transaction("a", ["x#0"]), transaction("b", ["a#0"]), transaction("c", ["b#0"])];
    expect(await look(provider, open, tip, 1)).toEqual([]);
    expect(calls).toEqual(["a"]);
  });

  it("follows a chain of transactions as far as blocks have it", async () => {
    const { provider, tip, calls } = chain(10, { a: 9, b: 10 });
    const open = [transaction("a", ["x#0"]), transaction("b", ["a#0"]), transaction("c", ["b#0"])];
    const seen = await look(provider, open, tip, 2);
    expect(calls).toEqual(["a", "c", "b", "block 10"]);
    expect(seen.map(({ hash, event }) => `${hash} ${event}`)).toEqual([
      "a Seen",
      "a Deep",
      "b Seen",
    ]);
  });

  it("asks for the ends of chains alone, where one block has them whole", async () => {
    const held = { a: 9, b: 9, c: 9, d: 9, e: 9, f: 10, g: 10, h: 10 };
    const { provider, tip, calls } = chain(10, held);
    const open = [
      // Two chains that part at `a`, the second of them in two blocks.
      ...[transaction("a", ["x#0"]), transaction("b", ["a#0"]), transaction("c", ["b#0"])],
      ...[transaction("d", ["c#0"]), transaction("e", ["a#1"]), transaction("f", ["e#0"])],
      ...[transaction("g", ["f#0"]), transaction("h", ["g#0"]), transaction("i", ["x#1"])],
    ];
    const seen = await look(provider, open, tip, 3);
    expect(seen).toEqual(
      Object.entries(held).map(([hash, blockHeight]) => ({
        hash,
        event: "Seen",
        facts: { blockHeight, blockHash: `block ${blockHeight}`, blockTime: 0 },
      })),
    );
    expect(calls).toEqual(["a", "h", "b", "d", "e", "f", "i", "block 10"]);
  });

  it("asks for what spends what a failed script left of the collateral", async () => {
    const { provider, tip, calls } = chain(10, { b: 10 });
    const open = [transaction("a", ["x#0"], inBlock(9, "Failed")), transaction("b", ["a#1"])];
    const seen = await look(provider, open, tip, 1);
    expect(calls).toEqual(["block 9", "b"]);
    expect(seen.map(({ hash, event }) => `${hash} ${event}`)).toContain("b Seen");
  });

  it("asks for one block where all stand that are in one", async () => {
    const { provider, tip, calls } = chain(30);
    const open = [
      transaction("a", ["x#0"], inBlock(8, "Confirmed")),
      transaction("b", ["a#0"], inBlock(12)),
    ];
    const seen = await look(provider, open, tip, 1);
    expect(calls).toEqual(["block 12"]);
    expect(seen.map(({ hash, event }) => `${hash} ${event}`)).toEqual([
      "a Deep",
      "a Buried",
      "b Deep",
    ]);
  });

  it("finds gone what stood on a block that another has replaced, and looks where it is now", async () => {
    const { provider, tip, calls } = chain(13, { b: 13 }, 11);
    const open = [
      transaction("a", ["x#0"], inBlock(8, "Confirmed")),
      transaction("b", ["a#0"], inBlock(12)),
    ];
    const seen = await look(provider, open, tip, 2);
    expect(calls).toEqual(["block 12", "block 8", "b"]);
    expect(seen.map(({ hash, event }) => `${hash} ${event}`)).toEqual([
      "b Gone",
      "a Deep",
      "b Seen",
    ]);
  });

  it("takes a provider that is behind for late, not for another chain", async () => {
    const { provider, tip } = chain(11);
    const open = [transaction("a", ["x#0"], inBlock(12))];
    expect(await look(provider, open, tip, 2)).toEqual([]);
  });

  it.each([
    ["at the tip's height", chain(10, { b: 10 }, 9), []],
    ["above the tip", chain(12, { b: 12 }, 9), ["block 10"]],
  ])(
    "tells nothing when the chain forks during it, and one fork has what is found %s",
    async (_, after, asked) => {
      const before = chain(10);
      const open = [transaction("a", ["x#0"], inBlock(9)), transaction("b", ["y#0"])];
      expect(await look(forking(before, after), open, before.tip, 1)).toEqual([]);
      expect([...before.calls, ...after.calls]).toEqual(["block 9", "b", ...asked]);
    },
  );

  it("tells nothing of what is found above the tip while it is not known what stands there", async () => {
    const { provider } = chain(13, { b: 13 }, 10);
    const open = [transaction("a", ["x#0"], inBlock(12)), transaction("b", ["y#0"])];
    expect(await look(provider, open, chain(10, {}, 10).tip, 1)).toEqual([]);
  });

  it("asks for the tip again when it finds what stands elsewhere, and not when it finds nothing", async () => {
    const open = [transaction("a", ["x#0"])];
    for (const [height, asked] of [
      [8, ["a", "block 10"]],
      [10, ["a"]],
      [11, ["a", "block 10"]],
    ] as const) {
      const { provider, calls } = chain(11, { a: height });
      const seen = await look(provider, open, chain(10).tip, 1);
      expect(seen.map(({ event }) => event)).toContain("Seen");
      expect(calls).toEqual(asked);
    }
    const { provider, calls, tip } = chain(10);
    await look(provider, open, tip, 1);
    expect(calls).toEqual(["a"]);
  });

  it("gives back what many have come to in portions, so that a run that ends early has got so far", async () => {
    const many = Array.from({ length: 450 }, (_, i) =>
      transaction(`t${i}`, [i === 0 ? "x#0" : `t${i - 1}#0`]),
    );
    const { provider, tip } = chain(
      450,
      Object.fromEntries(many.map(({ hash }, i) => [hash, i + 1])),
    );
    const hashes: Set<string>[] = [];
    for await (const some of lookInPortions(provider, many, tip, 1))
      hashes.push(new Set(some.map(({ hash }) => hash)));
    expect(hashes.map(({ size }) => size)).toEqual([99, 100, 100, 100, 51]);
    expect(new Set(hashes.flatMap((some) => [...some])).size).toBe(450);
  });

  it("gives up the first of a chain alone: the others fall with it", async () => {
    const { provider, tip } = chain(57);
    const open = [transaction("a", ["x#0"]), transaction("b", ["a#0"]), transaction("c", ["b#0"])];
    const seen = await look(provider, open, tip, 1);
    expect(seen.map(({ hash, event }) => `${hash} ${event}`)).toEqual(["a Over"]);
  });

  it("expires an absent transaction two minutes after its validity, and ends it for good twenty blocks later", async () => {
    const at = async (height: number, one: WalletTransaction) => {
      const { provider, tip } = chain(height);
      return (await look(provider, [one], tip, 1)).map(({ event }) => event);
    };
    const sent = transaction("a", ["x#0"], { validTo: 1_000 });
    // Slot 1120.
    expect(await at(56, sent)).toEqual([]);
    expect(await at(57, sent)).toEqual(["Over"]);
    const expired = transaction("a", ["x#0"], { phase: "Expired", overHeight: 57 });
    expect(await at(76, expired)).toEqual([]);
    expect(await at(77, expired)).toEqual(["Buried"]);
  });
});
