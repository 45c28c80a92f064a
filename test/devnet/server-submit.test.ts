import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DevnetNode } from "../../devnet/node.ts";
import { type Devnet, startDevnet } from "../../devnet/server.ts";
import { ask } from "./ask.ts";
import {
  FAILING_ADDRESS,
  FAILING_POLICY,
  type Payment,
  pay,
  payment,
  plainWallet,
} from "./hand-built.ts";

const alice = plainWallet("alice");
const bob = plainWallet("bob");
const FUNDS = [
  { address: alice.address, lovelace: 1_000_000_000n },
  { address: alice.address, lovelace: 500_000_000n },
];
const TO_BOB = [{ address: bob.address, lovelace: 2_000_000n }];

let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet();
});
afterAll(() => devnet.close());

let count = 0;
function newNode(autoMine = true): DevnetNode {
  return devnet.createChain(`submit-${count++}`, { funds: FUNDS, autoMine });
}

function submit(node: DevnetNode, cbor: Uint8Array<ArrayBufferLike>) {
  return ask(node, "/tx/submit", {
    method: "POST",
    headers: { "content-type": "application/cbor" },
    body: new Uint8Array(cbor),
  });
}

describe("POST /tx/submit", () => {
  it("answers with the hash, under which the transaction is then found", async () => {
    const node = newNode();
    const { status, body } = await submit(node, payment(node.chain, { from: alice, to: TO_BOB }));
    expect(status).toBe(200);
    expect((await ask(node, `/txs/${body}`)).body.hash).toBe(body);
  });

  const refused: [why: string, token: RegExp, plan: (node: DevnetNode) => Payment][] = [
    [
      "too late",
      /^OutsideValidityIntervalUTxO/,
      ({ chain }) => ({ from: alice, to: TO_BOB, validTo: chain.tip().slot }),
    ],
    [
      "too early",
      /^OutsideValidityIntervalUTxO/,
      ({ chain }) => ({ from: alice, to: TO_BOB, validFrom: chain.tip().slot + 1_000 }),
    ],
    ["too cheap", /^FeeTooSmallUTxO/, () => ({ from: alice, to: TO_BOB, fee: 1_000n })],
    [
      "below the minimum of an output",
      /^BabbageOutputTooSmallUTxO/,
      () => ({ from: alice, to: [{ address: bob.address, lovelace: 1_000n }] }),
    ],
    [
      "signed by a stranger",
      /^MissingVKeyWitnessesUTXOW/,
      ({ chain }) => ({ from: bob, to: TO_BOB, inputs: chain.utxosAt(alice.address) }),
    ],
    [
      "claimed to fail when nothing does",
      /^ValidationTagMismatch/,
      () => ({ from: alice, to: TO_BOB, isValid: false }),
    ],
  ];
  for (const [why, token, plan] of refused) {
    it(`answers 400 to a transaction that is ${why}`, async () => {
      const node = newNode();
      const { status, body } = await submit(node, payment(node.chain, plan(node)));
      expect(status).toBe(400);
      expect(body).toMatchObject({ status_code: 400, error: "Bad Request" });
      expect(body.message).toMatch(token);
      expect(node.chain.tip().height).toBe(0);
    });
  }

  it("answers 400 to a double spend, whether the first is mined or waits", async () => {
    const node = newNode(false);
    const cbor = payment(node.chain, { from: alice, to: TO_BOB });
    const rival = payment(node.chain, { from: alice, to: TO_BOB, fee: 400_000n });
    expect((await submit(node, cbor)).status).toBe(200);
    for (const again of [cbor, rival]) {
      expect((await submit(node, again)).body.message).toMatch(/^BadInputsUTxO/);
    }
    node.chain.mine();
    for (const again of [cbor, rival]) {
      expect((await submit(node, again)).body.message).toMatch(/^BadInputsUTxO/);
    }
  });

  it("answers 400 to bytes that are no transaction, and to another content type", async () => {
    const node = newNode();
    const cbor = payment(node.chain, { from: alice, to: TO_BOB });
    for (const junk of [new Uint8Array(), Uint8Array.of(1, 2, 3), cbor.slice(0, 80)]) {
      const { status, body } = await submit(node, junk);
      expect([status, body.message]).toEqual([400, expect.stringMatching(/^DecoderFailure/)]);
    }
    const { status } = await ask(node, "/tx/submit", { method: "POST", body: "{}" });
    expect(status).toBe(400);
  });
});

describe("the mempool", () => {
  it("chains transactions, and puts them into one block in order", async () => {
    const node = newNode(false);
    const hashes = [1, 2, 3].map(() => pay(node.chain, alice, bob.address));
    expect((await ask(node, `/txs/${hashes[0]}`)).status).toBe(404);
    expect((await ask(node, `/addresses/${bob.address}/utxos`)).status).toBe(404);
    expect(node.chain.utxosAt(bob.address).map(({ txHash }) => txHash)).toEqual(hashes);

    const block = node.chain.mine();
    expect((await ask(node, `/blocks/${block.hash}/txs`)).body).toEqual(hashes);
    expect((await ask(node, "/blocks/latest")).body).toMatchObject({ height: 1, tx_count: 3 });
    const listed = (await ask(node, `/addresses/${bob.address}/transactions`)).body;
    expect(listed.map((row: { tx_hash: string }) => row.tx_hash)).toEqual(hashes);
    expect(listed.map((row: { tx_index: number }) => row.tx_index)).toEqual([0, 1, 2]);
  });
});

describe("a transaction whose script fails", () => {
  it("is refused when it claims to be valid, and costs its collateral when it does not", async () => {
    const node = newNode();
    const { chain } = node;
    const lock = pay(chain, alice, FAILING_ADDRESS, 10_000_000n);
    const failing = { txHash: lock, index: 0, lovelace: 10_000_000n };
    const plan = { from: alice, to: TO_BOB, failing };
    const refusal = await submit(node, payment(chain, plan));
    expect(refusal.body.message).toMatch(/^PlutusFailure/);

    const collateral = chain.utxosAt(alice.address).slice(0, 1);
    const { body: hash } = await submit(node, payment(chain, { ...plan, isValid: false }));
    expect((await ask(node, `/txs/${hash}`)).body).toMatchObject({
      valid_contract: false,
      fees: "5000000",
    });
    const { outputs } = (await ask(node, `/txs/${hash}/utxos`)).body;
    expect(outputs).toMatchObject([{ collateral: true, output_index: 2, address: alice.address }]);
    const kept = (await ask(node, `/txs/${lock}/utxos`)).body.outputs[0];
    expect(kept.consumed_by_tx).toBeNull();
    expect((await ask(node, `/addresses/${bob.address}/utxos`)).status).toBe(404);
    const listed = (await ask(node, `/addresses/${FAILING_ADDRESS}/transactions`)).body;
    expect(listed.map((row: { tx_hash: string }) => row.tx_hash)).toEqual([lock]);

    const returned = chain.utxosAt(alice.address).filter(({ txHash }) => txHash === hash);
    expect(returned).toHaveLength(1);
    expect(chain.utxosAt(alice.address)).not.toContainEqual(collateral[0]);
    const next = payment(chain, { from: alice, to: TO_BOB, inputs: returned });
    expect((await submit(node, next)).status).toBe(200);
  });

  it("mints nothing, though its redeemers can be read", async () => {
    const node = newNode();
    const lock = pay(node.chain, alice, FAILING_ADDRESS, 10_000_000n);
    const failing = { txHash: lock, index: 0, lovelace: 10_000_000n };
    const plan = { from: alice, to: TO_BOB, failing, mints: true, isValid: false };
    const { body: hash } = await submit(node, payment(node.chain, plan));
    expect((await ask(node, `/assets/${FAILING_POLICY}`)).status).toBe(404);
    const { body } = await ask(node, `/txs/${hash}/redeemers`);
    expect(body).toMatchObject([
      { purpose: "spend", script_hash: FAILING_POLICY },
      { purpose: "mint", script_hash: FAILING_POLICY, tx_index: 0 },
    ]);
  });

  it("is told apart by evaluation", async () => {
    const node = newNode();
    const lock = pay(node.chain, alice, FAILING_ADDRESS, 10_000_000n);
    const failing = { txHash: lock, index: 0, lovelace: 10_000_000n };
    const cbor = payment(node.chain, { from: alice, to: TO_BOB, failing });
    const asked = await ask(node, "/utils/txs/evaluate/utxos", {
      method: "POST",
      body: JSON.stringify({ cbor: Buffer.from(cbor).toString("hex"), additionalUtxoSet: [] }),
    });
    expect(asked.status).toBe(200);
    expect(asked.body.result.EvaluationFailure.message).toMatch(/^PlutusFailure/);
  });
});
