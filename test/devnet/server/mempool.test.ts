import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DevnetNode } from "../../../devnet/server/node.ts";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { ask, brokenRules, control, submit } from "../ask.ts";
import {
  changeOf,
  FAILING_ADDRESS,
  OPEN_ADDRESS,
  type Payment,
  pay,
  payment,
  plainWallet,
} from "../hand-built.ts";

const alice = plainWallet("alice");
const bob = plainWallet("bob");
const TO_BOB = [{ address: bob.address, lovelace: 2_000_000n }];
const ALL_SPENT =
  'ConwayMempoolFailure "All inputs are spent. Transaction has probably already been included"';

let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet({
    funds: [1, 2, 3].map(() => ({ address: alice.address, lovelace: 1_000_000_000n })),
  });
});
afterAll(() => devnet.close());

async function newNode(): Promise<DevnetNode> {
  const { body } = await control(devnet.url, "create");
  const node = devnet.chains.get(body.name);
  if (!node) throw new Error("the chain is not there");
  return node;
}

const told = async (node: DevnetNode, action: string, body: object = {}) =>
  (await control(devnet.url, `${node.name}/${action}`, body)).body;
const mempool = async (node: DevnetNode, of = 0): Promise<string[]> =>
  (await told(node, "mempool", { node: of })).hashes;

/** Payments of which each spends the change of the one before. */
function chained({ chain }: DevnetNode, count: number, plan: Partial<Payment> = {}): Uint8Array[] {
  let inputs = plan.inputs ?? chain.utxosAt(alice.address).slice(0, 1);
  return Array.from({ length: count }, () => {
    const cbor = payment(chain, { from: alice, to: TO_BOB, ...plan, inputs });
    inputs = [changeOf(cbor)];
    return cbor;
  });
}

/** Hands over each; the provider must take them all. */
async function submitAll(node: DevnetNode, cbors: readonly Uint8Array[]): Promise<string[]> {
  const hashes: string[] = [];
  for (const cbor of cbors) {
    const answer = await submit(node, cbor);
    expect(answer).toMatchObject({ status: 200 });
    hashes.push(answer.body);
  }
  return hashes;
}

const isFound = async (node: DevnetNode, hash: string) =>
  (await ask(node, `/txs/${hash}`)).status === 200;

describe("a chain of dependent transactions", () => {
  it("is taken as it comes, is on no page before it is in a block, and then lands in order", async () => {
    const node = await newNode();
    const hashes = await submitAll(node, chained(node, 20));
    expect(await mempool(node)).toEqual(hashes);
    expect(await isFound(node, hashes[0] ?? "")).toBe(false);
    const { txs } = await told(node, "mine");
    expect(txs).toEqual(hashes);
    expect(await mempool(node)).toEqual([]);
  });

  it("is refused where a parent is unknown, as if its inputs were spent", async () => {
    const node = await newNode();
    const [, child] = chained(node, 2);
    expect(brokenRules(await submit(node, child ?? new Uint8Array()))).toEqual([ALL_SPENT]);
  });
});

describe("two nodes behind one URL", () => {
  it("have a mempool each: a child is refused by the node that lacks its parent", async () => {
    const node = await newNode();
    const [parent, child] = chained(node, 2);
    if (!parent || !child) throw new Error("there are two");
    const [first] = await submitAll(node, [parent]);
    await told(node, "faults", { rules: [{ match: "^/tx/submit", node: 1, times: 1 }] });
    expect(brokenRules(await submit(node, child))).toEqual([ALL_SPENT]);
    const [second] = await submitAll(node, [child]);
    expect([await mempool(node), await mempool(node, 1)]).toEqual([[first, second], []]);
  });

  it("may take rivals, of which the block's producer decides", async () => {
    const node = await newNode();
    const [one] = chained(node, 1);
    const [other] = chained(node, 1, { fee: 400_000n });
    const [winner] = await submitAll(node, [one ?? new Uint8Array()]);
    await told(node, "faults", { rules: [{ match: "^/tx/submit", node: 1 }] });
    const [loser] = await submitAll(node, [other ?? new Uint8Array()]);
    expect((await told(node, "mine", { node: 0 })).txs).toEqual([winner]);
    expect(await mempool(node, 1)).toEqual([]);
    expect(await isFound(node, loser ?? "")).toBe(false);
  });

  it("hear of each other's transactions by gossip, and take the same bytes from both", async () => {
    const node = await newNode();
    const hashes = await submitAll(node, chained(node, 2));
    expect(await mempool(node, 1)).toEqual([]);
    await told(node, "gossip");
    expect(await mempool(node, 1)).toEqual(hashes);
    expect((await told(node, "mine", { node: 1 })).txs).toEqual(hashes);
    expect(await mempool(node)).toEqual([]);
  });
});

describe("an eviction", () => {
  it("is silent, takes what hangs on it, and the same bytes are taken again", async () => {
    const node = await newNode();
    const chain = chained(node, 3);
    const [first, second, third] = await submitAll(node, chain);
    expect((await told(node, "evict", { hashes: [second] })).hashes).toEqual([second, third]);
    expect(await mempool(node)).toEqual([first]);
    await told(node, "mine");
    expect(await isFound(node, second ?? "")).toBe(false);
    expect(await submitAll(node, chain.slice(1))).toEqual([second, third]);
    expect((await told(node, "mine")).txs).toEqual([second, third]);
  });

  it("happens by itself when the validity is over", async () => {
    const node = await newNode();
    const validTo = node.chain.tip().slot + 600;
    const [spare] = node.chain.utxosAt(alice.address).slice(1);
    if (!spare) throw new Error("alice has several outputs");
    const short = payment(node.chain, { from: alice, to: TO_BOB, validTo });
    const child = payment(node.chain, { from: alice, to: TO_BOB, inputs: [changeOf(short)] });
    const other = payment(node.chain, { from: alice, to: TO_BOB, inputs: [spare] });
    const [, , kept] = await submitAll(node, [short, child, other]);
    await told(node, "advance", { ms: 700_000 });
    expect((await told(node, "mine")).txs).toEqual([kept]);
    expect(await mempool(node)).toEqual([]);
  });
});

describe("a rollback", () => {
  it("leaves the mempool what is still possible, and brings nothing back by itself", async () => {
    const node = await newNode();
    const [one, other] = node.chain.utxosAt(alice.address);
    if (!one || !other) throw new Error("alice has several outputs");
    const [inBlock, onTop] = chained(node, 2, { inputs: [one] });
    if (!inBlock || !onTop) throw new Error("there are two");
    const [mined] = await submitAll(node, [inBlock]);
    await told(node, "mine");
    await submitAll(node, [onTop]);
    const [free] = await submitAll(node, chained(node, 1, { inputs: [other] }));
    const { transactions } = await told(node, "rollback", { blocks: 1 });
    expect(transactions).toHaveLength(2);
    expect(await mempool(node)).toEqual([free]);
    expect((await told(node, "mine")).txs).toEqual([free]);
    expect(await isFound(node, mined ?? "")).toBe(false);
    expect((await told(node, "replay", { transactions })).accepted).toHaveLength(2);
  });
});

describe("a transaction whose scripts fail in the block", () => {
  it("costs its collateral, returns the rest of it, and moves nothing else", async () => {
    const node = await newNode();
    const { chain } = node;
    const lock = pay(chain, alice, OPEN_ADDRESS, 10_000_000n);
    await told(node, "mine");
    const open = { txHash: lock, index: 0, lovelace: 10_000_000n };
    const [spent, collateral] = chain.utxosAt(alice.address);
    if (!spent || !collateral) throw new Error("alice has several outputs");
    const plan = { from: alice, to: TO_BOB, inputs: [spent], collateral: [collateral], open };
    const cbor = payment(chain, plan);
    const child = payment(chain, { from: alice, to: TO_BOB, inputs: [changeOf(cbor)] });
    const [hash, orphan] = await submitAll(node, [cbor, child]);

    expect((await told(node, "mine", { failed: [hash] })).txs).toEqual([hash]);
    expect((await ask(node, `/txs/${hash}`)).body).toMatchObject({
      valid_contract: false,
      fees: "5000000",
    });
    expect((await ask(node, `/txs/${hash}/utxos`)).body.outputs).toMatchObject([
      { collateral: true, address: alice.address, output_index: 2 },
    ]);
    const unspent = (await ask(node, `/addresses/${alice.address}/utxos`)).body.map(
      (row: { tx_hash: string; output_index: number }) => `${row.tx_hash}#${row.output_index}`,
    );
    expect(unspent).toContain(`${spent.txHash}#${spent.index}`);
    expect(unspent).not.toContain(`${collateral.txHash}#${collateral.index}`);
    expect(unspent).toContain(`${hash}#2`);
    expect((await ask(node, `/addresses/${OPEN_ADDRESS}/utxos`)).body).toHaveLength(1);
    expect(await mempool(node)).toEqual([]);
    expect(await isFound(node, orphan ?? "")).toBe(false);

    const returned = chain.utxosAt(alice.address).filter(({ txHash }) => txHash === hash);
    await submitAll(node, [
      payment(chain, { from: alice, to: TO_BOB, inputs: returned }),
      payment(chain, { ...plan, collateral: [spent], fee: 400_000n }),
    ]);
  });

  it("must be in the mempool and run a script", async () => {
    const node = await newNode();
    const [plain] = await submitAll(node, chained(node, 1));
    for (const failed of [[plain], ["00".repeat(32)]]) {
      const { status } = await control(devnet.url, `${node.name}/mine`, { failed });
      expect(status).toBe(400);
    }
    expect(await mempool(node)).toEqual([plain]);
  });

  it("that its sender owns up to is in a block as well", async () => {
    const node = await newNode();
    const lock = pay(node.chain, alice, FAILING_ADDRESS, 10_000_000n);
    const failing = { txHash: lock, index: 0, lovelace: 10_000_000n };
    const plan = { from: alice, to: TO_BOB, failing, isValid: false };
    const [hash] = await submitAll(node, [payment(node.chain, plan)]);
    await told(node, "mine");
    expect((await ask(node, `/txs/${hash}`)).body.valid_contract).toBe(false);
  });
});
