import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Utxo } from "../../../devnet/ledger/chain.ts";
import type { DevnetNode } from "../../../devnet/server/node.ts";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { ask, brokenRules, submit } from "../ask.ts";
import {
  FAILING_ADDRESS,
  FAILING_POLICY,
  type Payment,
  pay,
  payment,
  plainWallet,
} from "../hand-built.ts";

const alice = plainWallet("alice");
const bob = plainWallet("bob");
const FUNDS = [
  { address: alice.address, lovelace: 1_000_000_000n },
  { address: alice.address, lovelace: 500_000_000n },
];
const TO_BOB = [{ address: bob.address, lovelace: 2_000_000n }];

const ALL_SPENT =
  'ConwayMempoolFailure "All inputs are spent. Transaction has probably already been included"';

/** An output as one who takes it for a unit more would spend it. */
function richer(utxo: Utxo | undefined): Utxo {
  if (!utxo) throw new Error("there is no output");
  return {
    ...utxo,
    amount: utxo.amount.map(({ unit, quantity }) => ({ unit, quantity: quantity + 1n })),
  };
}

let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet();
});
afterAll(() => devnet.close());

let count = 0;
function newNode(autoMine = true): DevnetNode {
  return devnet.createChain(`submit-${count++}`, { funds: FUNDS, autoMine });
}

describe("POST /tx/submit", () => {
  it("answers with the hash, under which the transaction is then found", async () => {
    const node = newNode();
    const { status, body } = await submit(node, payment(node.chain, { from: alice, to: TO_BOB }));
    expect(status).toBe(200);
    expect((await ask(node, `/txs/${body}`)).body.hash).toBe(body);
  });

  const refused: [why: string, rule: RegExp, plan: (node: DevnetNode) => Payment][] = [
    [
      "too late",
      /^ConwayUtxowFailure \(UtxoFailure \(OutsideValidityIntervalUTxO \(ValidityInterval \{invalidBefore = SNothing, invalidHereafter = SJust \(SlotNo \d+\)\}\) \(SlotNo \d+\)\)\)$/,
      ({ chain }) => ({ from: alice, to: TO_BOB, validTo: chain.tip().slot }),
    ],
    [
      "too early",
      /^ConwayUtxowFailure \(UtxoFailure \(OutsideValidityIntervalUTxO \(ValidityInterval \{invalidBefore = SJust \(SlotNo \d+\), invalidHereafter = SNothing\}\) /,
      ({ chain }) => ({ from: alice, to: TO_BOB, validFrom: chain.tip().slot + 1_000 }),
    ],
    [
      "too cheap",
      /^ConwayUtxowFailure \(UtxoFailure \(FeeTooSmallUTxO \(Mismatch \{mismatchSupplied = Coin 1000, mismatchExpected = Coin \d+\}\)\)\)$/,
      () => ({ from: alice, to: TO_BOB, fee: 1_000n }),
    ],
    [
      "out of balance",
      /^ConwayUtxowFailure \(UtxoFailure \(ValueNotConservedUTxO \(Mismatch \{mismatchSupplied = MaryValue \(Coin 1000000000\) \(MultiAsset \(fromList \[\]\)\), mismatchExpected = MaryValue \(Coin 1000000001\) \(MultiAsset \(fromList \[\]\)\)\}\)\)\)$/,
      ({ chain }) => ({
        from: alice,
        to: TO_BOB,
        inputs: [richer(chain.utxosAt(alice.address)[0])],
      }),
    ],
    [
      "below the minimum of an output",
      /^ConwayUtxowFailure \(UtxoFailure \(BabbageOutputTooSmallUTxO /,
      () => ({ from: alice, to: [{ address: bob.address, lovelace: 1_000n }] }),
    ],
    [
      "signed by a stranger",
      /^ConwayUtxowFailure \(MissingVKeyWitnessesUTXOW \(fromList \[KeyHash \{unKeyHash = "[0-9a-f]{56}"\}\]\)\)$/,
      ({ chain }) => ({ from: bob, to: TO_BOB, inputs: chain.utxosAt(alice.address) }),
    ],
    [
      "claimed to fail when nothing does",
      /^ConwayUtxowFailure \(UtxoFailure \(UtxosFailure \(ValidationTagMismatch \(IsValid False\) PassedUnexpectedly\)\)\)$/,
      () => ({ from: alice, to: TO_BOB, isValid: false }),
    ],
  ];
  for (const [why, rule, plan] of refused) {
    it(`answers 400 to a transaction that is ${why}`, async () => {
      const node = newNode();
      const refusal = await submit(node, payment(node.chain, plan(node)));
      expect(refusal.body).toMatchObject({ status_code: 400, error: "Bad Request" });
      expect(brokenRules(refusal)).toEqual([expect.stringMatching(rule)]);
      expect(node.chain.tip().height).toBe(0);
    });
  }

  it("answers 400 'All inputs are spent' to bytes it has, and to a rival, mined or waiting", async () => {
    const node = newNode(false);
    const cbor = payment(node.chain, { from: alice, to: TO_BOB });
    const rival = payment(node.chain, { from: alice, to: TO_BOB, fee: 400_000n });
    expect((await submit(node, cbor)).status).toBe(200);
    for (const place of ["mempool", "block"]) {
      for (const again of [cbor, rival])
        expect([place, brokenRules(await submit(node, again))]).toEqual([place, [ALL_SPENT]]);
      node.chain.mine();
    }
  });

  it("answers 400 with what is missing, and missing in the balance, when some inputs are spent", async () => {
    const node = newNode(false);
    const [first, second] = node.chain.utxosAt(alice.address);
    if (!first || !second) throw new Error("alice has two outputs");
    node.chain.submit(payment(node.chain, { from: alice, to: TO_BOB, inputs: [first] }));
    const both = payment(node.chain, { from: alice, to: TO_BOB, inputs: [first, second] });
    const input = `TxIn (TxId {unTxId = SafeHash "${first.txHash}"}) (TxIx {unTxIx = ${first.index}})`;
    const coin = (amount: number) => `MaryValue (Coin ${amount}) (MultiAsset (fromList []))`;
    expect(brokenRules(await submit(node, both))).toEqual([
      `ConwayUtxowFailure (UtxoFailure (BadInputsUTxO (fromList [${input}])))`,
      `ConwayUtxowFailure (UtxoFailure (ValueNotConservedUTxO (Mismatch {mismatchSupplied = ${coin(500_000_000)}, mismatchExpected = ${coin(1_500_000_000)}})))`,
    ]);
  });

  it("answers 400 to bytes that are no transaction, and to another content type", async () => {
    const node = newNode();
    const cbor = payment(node.chain, { from: alice, to: TO_BOB });
    for (const junk of [new Uint8Array(), Uint8Array.of(1, 2, 3), cbor.slice(0, 80)]) {
      const { status, body } = await submit(node, junk);
      expect(status).toBe(400);
      expect(JSON.parse(body.message)).toMatchObject({
        tag: "TxSubmitFail",
        contents: { tag: "TxCmdTxReadError" },
      });
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
    expect(brokenRules(refusal)).toEqual([
      expect.stringMatching(
        /^ConwayUtxowFailure \(UtxoFailure \(UtxosFailure \(ValidationTagMismatch \(IsValid True\) \(FailedUnexpectedly \(PlutusFailure /,
      ),
    ]);

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
    const plan = { from: alice, to: TO_BOB, failing, mints: [""], isValid: false };
    const { body: hash } = await submit(node, payment(node.chain, plan));
    expect((await ask(node, `/assets/${FAILING_POLICY}`)).status).toBe(404);
    const { body } = await ask(node, `/txs/${hash}/redeemers`);
    expect(body).toMatchObject([
      { purpose: "spend", script_hash: FAILING_POLICY },
      { purpose: "mint", script_hash: FAILING_POLICY, tx_index: 0 },
    ]);
  });
});
