import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createChain } from "../../../devnet/ledger/chain.ts";
import type { DevnetNode } from "../../../devnet/server/node.ts";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { ask } from "../ask.ts";
import { SCRIPT_HASH, UNIT, walletAddress, walletOn } from "../evolution.ts";
import { pay, payment, plainWallet } from "../hand-built.ts";

const alice = plainWallet("alice");
const bob = plainWallet("bob");
const FUNDS = [{ address: alice.address, lovelace: 1_000_000_000n }];

let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet();
});
afterAll(() => devnet.close());

/** Everything that the provider tells of the chain, but for what depends on the tip alone. */
async function everything(node: DevnetNode, addresses: string[]) {
  const paths = [
    "/blocks/latest",
    "/blocks/1",
    "/epochs/latest",
    ...addresses.flatMap((address) => [
      `/addresses/${address}`,
      `/addresses/${address}/transactions`,
      `/addresses/${address}/utxos`,
    ]),
    ...[...node.chain.view().transactions.keys()].flatMap((hash) => [
      `/txs/${hash}`,
      `/txs/${hash}/utxos`,
    ]),
    `/assets/${UNIT}`,
    `/assets/${UNIT}/history`,
    `/assets/${UNIT}/addresses`,
    `/assets/${UNIT}/transactions`,
    `/assets/policy/${SCRIPT_HASH}`,
    `/scripts/${SCRIPT_HASH}`,
  ];
  const answers = await Promise.all(paths.map((path) => ask(node, path)));
  return Object.fromEntries(
    answers.map(({ status, body }, index) => [paths[index], { status, body }]),
  );
}

describe("a rollback", () => {
  it("leaves nothing behind of the blocks it took: spent marks, history, tokens, scripts", async () => {
    const wallet = await walletAddress();
    const funds = [{ address: wallet, lovelace: 10_000_000_000n }];
    const node = devnet.createChain("traces", { funds, autoMine: true });
    const owner = walletOn(node);
    const lock = await owner.lock();
    const before = await everything(node, [wallet]);

    const mint = await owner.mint();
    const spend = await owner.spend();
    const after = await everything(node, [wallet]);
    expect(after[`/txs/${lock}/utxos`]?.body.outputs[0].consumed_by_tx).toBe(spend);
    expect(after[`/assets/${UNIT}`]?.status).toBe(200);

    const gone = node.chain.rollback(2);
    expect(gone).toHaveLength(2);
    expect(await everything(node, [wallet])).toEqual(before);
    expect((await ask(node, `/txs/${mint}`)).status).toBe(404);
    expect(before[`/assets/${UNIT}`]?.status).toBe(404);
    expect(before[`/scripts/${SCRIPT_HASH}`]?.status).toBe(200);

    expect(node.chain.replay(gone)).toEqual({ accepted: [mint, spend], rejected: [] });
    const replayed = await everything(node, [wallet]);
    expect(Object.keys(replayed)).toEqual(Object.keys(after));
    expect(replayed[`/txs/${lock}/utxos`]).toEqual(after[`/txs/${lock}/utxos`]);
    expect(replayed[`/assets/${UNIT}/history`]).toEqual(after[`/assets/${UNIT}/history`]);
  });

  it("of many blocks frees what they spent, and lets something else spend it", () => {
    const chain = createChain({ funds: FUNDS, autoMine: true });
    const genesis = chain.utxosAt(alice.address);
    const first = pay(chain, alice, bob.address);
    for (let i = 0; i < 19; i++) chain.mine();
    expect(chain.tip().height).toBe(20);
    expect(chain.rollback(20)).toHaveLength(1);
    expect(chain.tip().height).toBe(0);
    expect(chain.utxosAt(alice.address)).toEqual(genesis);
    expect(chain.utxosAt(bob.address)).toEqual([]);
    expect(pay(chain, alice, bob.address, 3_000_000n)).not.toBe(first);
  });

  it("leads to the same ledger however often it is taken back to", () => {
    const chain = createChain({ funds: FUNDS, autoMine: true });
    const first = pay(chain, alice, bob.address);
    chain.rollback(1);
    expect(pay(chain, alice, bob.address)).toBe(first);
    chain.rollback(1);
    expect(pay(chain, alice, bob.address)).toBe(first);
  });

  it("makes other blocks at the same heights, even of the same transactions", () => {
    const chain = createChain({ funds: FUNDS, autoMine: true });
    pay(chain, alice, bob.address);
    chain.mine();
    const old = chain.view().blocks.map(({ hash }) => hash);
    chain.replay(chain.rollback(2));
    chain.mine();
    const fresh = chain.view().blocks.map(({ hash }) => hash);
    expect(fresh).toHaveLength(old.length);
    expect(fresh[0]).toBe(old[0]);
    expect(fresh[1]).not.toBe(old[1]);
    expect(fresh[2]).not.toBe(old[2]);
  });

  it("empties the mempool, and hands its transactions back after those of the blocks", () => {
    const chain = createChain({ funds: FUNDS });
    const mined = pay(chain, alice, bob.address);
    chain.mine();
    const waiting = pay(chain, alice, bob.address);
    const gone = chain.rollback(1);
    expect(chain.mine().txs).toEqual([]);
    expect(chain.replay(gone).accepted).toEqual([mined, waiting]);
    expect(chain.mine().txs.map(({ hash }) => hash)).toEqual([mined, waiting]);
  });

  it("cannot reach below the first block", () => {
    const chain = createChain({ funds: FUNDS });
    chain.mine();
    expect(() => chain.rollback(2)).toThrow(RangeError);
    expect(() => chain.rollback(-1)).toThrow(RangeError);
    expect(chain.tip().height).toBe(1);
  });
});

describe("a replay", () => {
  it("takes back a transaction whose validity has passed since", () => {
    const chain = createChain({ funds: FUNDS, autoMine: true });
    const cbor = payment(chain, {
      from: alice,
      to: [{ address: bob.address, lovelace: 2_000_000n }],
      validFrom: chain.tip().slot,
      validTo: chain.tip().slot + 60,
    });
    const hash = chain.submit(cbor);
    chain.advance(3_600_000);
    const gone = chain.rollback(1);
    expect(() => chain.submit(cbor)).toThrow(/^OutsideValidityIntervalUTxO/);
    expect(chain.replay(gone)).toEqual({ accepted: [hash], rejected: [] });
  });

  it("tells what the ledger refuses because another spend came first, and all that hangs on it", () => {
    const chain = createChain({ funds: FUNDS, autoMine: true });
    const lost = [pay(chain, alice, bob.address), pay(chain, alice, bob.address)];
    const gone = chain.rollback(2);
    pay(chain, alice, bob.address, 7_000_000n);
    const { accepted, rejected } = chain.replay(gone);
    expect(accepted).toEqual([]);
    expect(rejected.map(({ hash }) => hash)).toEqual(lost);
    for (const { reason } of rejected) expect(reason).toMatch(/^ConwayMempoolFailure: All inputs/);
  });
});
