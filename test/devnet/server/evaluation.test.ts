import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Utxo } from "../../../devnet/ledger/chain.ts";
import type { DevnetNode } from "../../../devnet/server/node.ts";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { ask, evaluated } from "../ask.ts";
import {
  changeOf,
  FAILING_ADDRESS,
  FAILING_POLICY,
  OPEN_ADDRESS,
  pay,
  payment,
  plainWallet,
} from "../hand-built.ts";

const alice = plainWallet("alice");
const bob = plainWallet("bob");
const TO_BOB = [{ address: bob.address, lovelace: 2_000_000n }];
const LOCKED = 10_000_000n;
const OPEN_COST = { memory: 500, steps: 64_100 };

let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet();
});
afterAll(() => devnet.close());

let count = 0;
function newNode(): DevnetNode {
  const funds = [1, 2, 3].map(() => ({ address: alice.address, lovelace: 1_000_000_000n }));
  return devnet.createChain(`evaluation-${count++}`, { funds });
}

const resultOf = async (...args: Parameters<typeof evaluated>) => {
  const { status, body } = await evaluated(...args);
  expect(status).toBe(200);
  expect(body).toMatchObject({ type: "jsonwsp/response", methodname: "EvaluateTx" });
  return body.result;
};

/** An output in the form of Ogmios 5, which `additionalUtxoSet` takes. */
function additional({ txHash, index, address, amount, inlineDatum }: Utxo) {
  const coins = Number(amount.find(({ unit }) => unit === "lovelace")?.quantity);
  const tokens = amount.filter(({ unit }) => unit !== "lovelace");
  const assets = Object.fromEntries(
    tokens.map(({ unit, quantity }) => [
      unit.length > 56 ? `${unit.slice(0, 56)}.${unit.slice(56)}` : unit,
      Number(quantity),
    ]),
  );
  return [
    { txId: txHash, index },
    { address, value: { coins, assets }, ...(inlineDatum && { datum: inlineDatum }) },
  ];
}

/** A lock that waits in the mempool, and the transaction that takes it out. */
function lockAndSpend({ chain }: DevnetNode, address = OPEN_ADDRESS) {
  const lock = payment(chain, { from: alice, to: [{ address, lovelace: LOCKED }] });
  chain.submit(lock);
  const [locked] = chain.utxosAt(address);
  if (!locked) throw new Error("nothing is locked");
  const guarded = { txHash: locked.txHash, index: locked.index, lovelace: LOCKED };
  const inputs = [changeOf(lock)];
  const spend = payment(chain, {
    from: alice,
    to: TO_BOB,
    inputs,
    ...(address === OPEN_ADDRESS ? { open: guarded } : { failing: guarded }),
  });
  return { spend, parents: [locked, ...inputs] };
}

describe("an evaluation", () => {
  it("does not know an output of the mempool, and says which", async () => {
    const node = newNode();
    const { spend, parents } = lockAndSpend(node);
    const { EvaluationFailure } = await resultOf(node, spend);
    const { reason } = EvaluationFailure.CannotCreateEvaluationContext;
    expect(reason).toMatch(/^Unknown transaction input \(missing from UTxO set\): /);
    for (const { txHash, index } of parents) expect(reason).toContain(`${txHash}#${index}`);
  });

  it("runs on unconfirmed parents that come with it", async () => {
    const node = newNode();
    const { spend, parents } = lockAndSpend(node);
    expect(await resultOf(node, spend, parents.map(additional))).toEqual({
      EvaluationResult: { [`spend:${indexOf(parents)}`]: OPEN_COST },
    });
  });

  it("refuses parents that the node has, and runs without them", async () => {
    const node = newNode();
    const { spend, parents } = lockAndSpend(node);
    node.chain.mine();
    const overlap = parents.map(({ txHash, index }) => ({ txId: txHash, index }));
    expect(await resultOf(node, spend, parents.map(additional))).toEqual({
      EvaluationFailure: { AdditionalUtxoOverlap: overlap },
    });
    expect(await resultOf(node, spend)).toHaveProperty("EvaluationResult");
  });

  it("does not know an output that a block has spent", async () => {
    const node = newNode();
    const { spend } = lockAndSpend(node);
    node.chain.mine();
    node.chain.submit(spend);
    expect(await resultOf(node, spend)).toHaveProperty("EvaluationResult");
    node.chain.mine();
    expect(await resultOf(node, spend)).toHaveProperty(
      "EvaluationFailure.CannotCreateEvaluationContext",
    );
  });

  it("may be asked of a node that lags behind the one that shows the parent", async () => {
    const node = newNode();
    const { spend, parents } = lockAndSpend(node);
    node.chain.mine();
    node.faults.add({ match: "/utils/txs/evaluate", behind: 1 });
    expect((await ask(node, `/txs/${parents[0]?.txHash}`)).status).toBe(200);
    expect(await resultOf(node, spend)).toHaveProperty(
      "EvaluationFailure.CannotCreateEvaluationContext",
    );
    expect(await resultOf(node, spend, parents.map(additional))).toHaveProperty("EvaluationResult");
  });

  it("counts tokens, names and datums of the parents", async () => {
    const node = newNode();
    const mint = payment(node.chain, { from: alice, to: TO_BOB, mints: ["", "00ff"] });
    const lock = pay(node.chain, alice, OPEN_ADDRESS, LOCKED);
    node.chain.mine();
    const inputs = [changeOf(mint)];
    const open = { txHash: lock, index: 0, lovelace: LOCKED };
    const spend = payment(node.chain, { from: alice, to: TO_BOB, inputs, open });
    expect(await resultOf(node, spend, inputs.map(additional))).toHaveProperty("EvaluationResult");
  });

  it("names the redeemers whose scripts fail, and no other", async () => {
    const node = newNode();
    const { spend, parents } = lockAndSpend(node, FAILING_ADDRESS);
    node.chain.mine();
    const failure = [{ validatorFailed: { error: expect.any(String), traces: [] } }];
    const spending = `spend:${indexOf(parents)}`;
    expect(await resultOf(node, spend)).toEqual({
      EvaluationFailure: { ScriptFailures: { [spending]: failure } },
    });
    const [locked, change] = parents;
    if (!locked || !change) throw new Error("there are two");
    const failing = { txHash: locked.txHash, index: locked.index, lovelace: LOCKED };
    const minting = payment(node.chain, {
      from: alice,
      to: TO_BOB,
      inputs: [change],
      failing,
      mints: ["aa"],
    });
    expect(await resultOf(node, minting)).toEqual({
      EvaluationFailure: { ScriptFailures: { [spending]: failure, "mint:0": failure } },
    });
    expect((await ask(node, `/assets/${FAILING_POLICY}aa`)).status).toBe(404);
  });

  it("answers 400 to additional outputs that are malformed", async () => {
    const node = newNode();
    const { spend } = lockAndSpend(node);
    for (const set of [[1], [[]], [[{ txId: "zz", index: 0 }, {}]], [[{ txId: "00", index: 0 }]]]) {
      const { status, body } = await evaluated(node, spend, set);
      expect([status, body.message]).toEqual([
        400,
        expect.stringMatching(/^body\/additionalUtxoSet\/0/),
      ]);
    }
  });
});

/** Position of the first of a transaction's inputs in the ledger's order. */
function indexOf([first, ...others]: Utxo[]): number {
  const before = others.filter(
    (other) =>
      first &&
      (other.txHash < first.txHash || (other.txHash === first.txHash && other.index < first.index)),
  );
  return before.length;
}
