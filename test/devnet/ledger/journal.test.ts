import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Chain, createChain } from "../../../devnet/ledger/chain.ts";
import { type Journal, openJournal } from "../../../devnet/ledger/journal.ts";
import { LedgerRejection } from "../../../devnet/ledger/rejection.ts";
import { runs } from "../../support/effort.ts";
import { OPEN_ADDRESS, pay, payment, plainWallet } from "../hand-built.ts";

const alice = plainWallet("alice");
const bob = plainWallet("bob");
const FUNDS = [{ address: alice.address, lovelace: 1_000_000_000n }];

let folder: string;
let journal: Journal | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "journal-"));
});
afterEach(() => {
  journal?.close();
  journal = undefined;
  rmSync(folder, { recursive: true });
});

/** The chain that a file keeps, as the next process would find it. */
function reopen(name = "chain.sqlite", funds = FUNDS): Chain {
  journal?.close();
  journal = openJournal(join(folder, name));
  return createChain({ funds, journal });
}

/** Hands a payment to a node, which may not know the output that it spends. */
function payAt(chain: Chain, node: number): void {
  const to = [{ address: bob.address, lovelace: 2_000_000n }];
  try {
    chain.submit(payment(chain, { from: alice, to }), node);
  } catch (error) {
    if (!(error instanceof LedgerRejection)) throw error;
  }
}

/** All that can be asked of a chain. */
function everything(chain: Chain) {
  return {
    blocks: chain.view().blocks,
    utxos: [alice, bob].map(({ address }) => chain.utxosAt(address)),
    mempools: [0, 1].map((node) => chain.mempool(node)),
    outputs: [...chain.view().outputs],
  };
}

it("a chain that is opened again is the same, whatever happened to it, and goes on the same", () => {
  const happening = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("pay" as const), node: fc.nat(1) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("mine" as const), node: fc.nat(1) }) },
    fc.record({ do: fc.constant("evict" as const), node: fc.nat(1), first: fc.boolean() }),
    fc.constant({ do: "gossip" as const }),
    fc.record({
      do: fc.constant("clock" as const),
      kind: fc.constantFrom("runs" as const, "stands" as const),
    }),
    fc.record({ do: fc.constant("rollback" as const), blocks: fc.nat(3) }),
    fc.record({ do: fc.constant("replay" as const), blocks: fc.nat(3) }),
    fc.record({ do: fc.constant("advance" as const), ms: fc.nat(600_000) }),
    fc.constant({ do: "reopen" as const }),
  );
  let opened = 0;
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 20 }), (happenings) => {
      const name = `${opened++}.sqlite`;
      let chain = reopen(name);
      for (const one of happenings) {
        if (one.do === "pay") payAt(chain, one.node);
        if (one.do === "mine") chain.mine({ node: one.node });
        if (one.do === "evict")
          chain.evict(one.first ? chain.mempool(one.node).slice(0, 1) : undefined, one.node);
        if (one.do === "gossip") chain.gossip();
        if (one.do === "clock") chain.setClock(one.kind);
        if (one.do === "advance") chain.advance(one.ms);
        if (one.do === "reopen") chain = reopen(name);
        if (one.do !== "rollback" && one.do !== "replay") continue;
        const gone = chain.rollback(Math.min(one.blocks, chain.tip().height));
        if (one.do === "replay") chain.replay(gone);
      }
      const [before, clock] = [everything(chain), chain.now()];
      chain = reopen(name);
      expect(everything(chain)).toEqual(before);
      expect(chain.now()).toBeGreaterThanOrEqual(clock);

      const paid = pay(chain, alice, bob.address);
      expect(chain.mine().txs.at(-1)?.hash).toBe(paid);
    }),
    runs(10, 250),
  );
});

it("a chain that is opened again still knows the forks it left", () => {
  let chain = reopen();
  const paid = pay(chain, alice, bob.address);
  const abandoned = chain.mine();
  chain.rollback(1);
  chain = reopen();
  expect(chain.view({ fork: 0 }).tip).toEqual(abandoned);
  const other = pay(chain, alice, bob.address);
  expect(other).toBe(paid);
  expect(chain.mine().hash).not.toBe(abandoned.hash);
});

it("a transaction whose validity has passed since is taken up at the slot of its time", () => {
  let chain = reopen();
  const { slot } = chain.tip();
  const to = [{ address: bob.address, lovelace: 2_000_000n }];
  const hash = chain.submit(
    payment(chain, { from: alice, to, validFrom: slot, validTo: slot + 60 }),
  );
  chain.mine();
  chain.advance(3_600_000);
  chain = reopen();
  expect(chain.tip().txs.map((tx) => tx.hash)).toEqual([hash]);
});

it("a chain that is opened again knows which scripts had failed", () => {
  let chain = reopen();
  const locked = pay(chain, alice, OPEN_ADDRESS, 10_000_000n);
  const open = { txHash: locked, index: 0, lovelace: 10_000_000n };
  const to = [{ address: bob.address, lovelace: 2_000_000n }];
  const hash = chain.submit(payment(chain, { from: alice, to, open }));
  chain.mine({ failed: [hash] });
  const before = everything(chain);
  chain = reopen();
  expect(everything(chain)).toEqual(before);
  expect(chain.tip().txs.map(({ isValid }) => isValid)).toEqual([true, false]);
});

it("a clock that stood stands when the chain is opened again, and one that ran goes on", async () => {
  let chain = reopen();
  chain.setClock("stands");
  chain.advance(5_000);
  const at = chain.now();
  chain = reopen();
  expect(chain.now()).toBe(at);
  chain.setClock("runs");
  chain = reopen();
  expect(chain.now()).toBeGreaterThanOrEqual(at);
  await vi.waitUntil(() => chain.now() > at, { timeout: 60_000 });
});

it("what the ledger refuses is not kept", () => {
  let chain = reopen();
  const to = [{ address: bob.address, lovelace: 2_000_000n }];
  expect(() => chain.submit(payment(chain, { from: alice, to, fee: 1n }))).toThrow(/^FeeTooSmall/);
  expect(() => chain.rollback(1)).toThrow(RangeError);
  chain = reopen();
  expect(chain.tip().height).toBe(0);
});

it("a chain that began with other funds is refused in words", () => {
  pay(reopen(), alice, bob.address);
  const others = [{ address: bob.address, lovelace: 5_000_000n }];
  expect(() => reopen("chain.sqlite", others)).toThrow(
    /^the chain that was kept does not fit this version: /,
  );
});

it("a file that is open cannot be opened a second time", () => {
  reopen();
  expect(() => openJournal(join(folder, "chain.sqlite"))).toThrow(
    `${folder} is in use by another copy`,
  );
});
