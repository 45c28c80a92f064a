import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressToBytes } from "../../../src/chain/address.ts";
import {
  encodeArray,
  encodeBoolean,
  encodeBytes,
  encodeIndefiniteArray,
  encodeInt,
  encodeMap,
  encodeTag,
  encodeText,
} from "../../../src/chain/cbor.ts";
import { hexToBytes } from "../../../src/chain/hex.ts";
import { decodeMetadatum } from "../../../src/chain/metadata.ts";
import {
  decodeTransaction,
  TransactionError,
} from "../../../src/chain/transaction/decode-transaction.ts";
import VECTORS from "../../vectors/transactions.json" with { type: "json" };

const ADDRESS = "addr_test1vq0e6dy7cehm9zfqurcf8mwwg9te9nszsx5gy5q4eclpd0c75xvdu";
const BYRON =
  "37btjrVyb4KDXBNC4haBVPCrro8AQPHwvCMp3RFhhSVWwfFmZ6wwzSK6JK1hY6wHNmtrpTf1kdbva8TCneM2YsiXT7mrzT21EacHnPpz5YyUdj64na";
const POLICY = "ab".repeat(28);
const NULL = Uint8Array.of(0xf6);

const int = (value: number) => encodeInt(BigInt(value));
const map = (fields: Record<number, Uint8Array>) =>
  encodeMap(Object.entries(fields).map(([key, value]) => [int(Number(key)), value]));
const input = (byte: number, index: number) =>
  encodeArray([encodeBytes(new Uint8Array(32).fill(byte)), int(index)]);
const txHash = (byte: number) => byte.toString(16).padStart(2, "0").repeat(32);
const output = (address = ADDRESS, value = int(1)) =>
  encodeArray([encodeBytes(addressToBytes(address)), value]);

/** A transaction by hand: what is not given is as small as can be. */
function build(parts: {
  body?: Record<number, Uint8Array>;
  witnesses?: Record<number, Uint8Array>;
  auxiliary?: Uint8Array;
  isValid?: boolean;
}): Uint8Array {
  const body = {
    0: encodeArray([input(1, 0)]),
    1: encodeArray([output()]),
    2: int(5),
    ...parts.body,
  };
  return encodeArray([
    map(body),
    map(parts.witnesses ?? {}),
    encodeBoolean(parts.isValid ?? true),
    parts.auxiliary ?? NULL,
  ]);
}

describe("transactions of the ledger", () => {
  it.each(VECTORS.rows)("$name: is read as another library reads it", (row) => {
    const tx = decodeTransaction(row.cbor);
    expect({
      ...tx,
      inputs: tx.inputs.map(({ txHash: hash, index }) => [hash, index]),
      outputs: tx.outputs.map(({ address, funds, datum }) => ({
        address,
        funds: funds.map(({ unit, amount }) => [unit, String(amount)]),
        datum,
      })),
      mint: tx.mint.map(({ policyId, assetName, quantity }) => [
        policyId,
        assetName,
        String(quantity),
      ]),
      fee: String(tx.fee),
      spendRedeemers: tx.spendRedeemers.map((redeemer) => [
        redeemer.inputIndex,
        redeemer.constructor,
      ]),
    }).toMatchObject({
      hash: row.hash,
      isValid: row.isValid,
      inputs: row.inputs,
      outputs: row.outputs,
      fee: row.fee,
      validFrom: row.validFrom,
      validTo: row.validTo,
      mint: row.mint,
      spendRedeemers: row.spendRedeemers,
      redeemerCount: row.redeemerCount,
    });
    expect(decodeTransaction(hexToBytes(row.cbor))).toEqual(tx);
  });

  it("one that is valid until a slot beyond all bounds is read, and has no end", () => {
    const cbor = build({ body: { 3: encodeInt(2n ** 64n - 1n) } });
    expect(decodeTransaction(cbor)).toMatchObject({ fee: 5n, validTo: null });
  });

  it("the metadata of a mint names its token and says what it is", () => {
    const mint = VECTORS.rows.find(({ name }) => name === "a mint with metadata");
    const tx = decodeTransaction(mint?.cbor ?? "");
    const [token] = tx.mint;
    const label = tx.metadata.get("721");
    expect(label && decodeMetadatum(label)).toEqual(
      new Map<string, unknown>([
        [
          token?.policyId ?? "",
          new Map([
            [
              token?.assetName ?? "",
              new Map<string, unknown>([
                ["name", "Agent"],
                ["tags", ["a", "b"]],
                ["version", 7n],
              ]),
            ],
          ]),
        ],
        ["version", "1"],
      ]),
    );
  });
});

describe("forms that other wallets write", () => {
  it("sorts inputs as the ledger does, which is what redeemers count by", () => {
    const inputs = [input(2, 0), input(1, 10), input(1, 9)];
    const sorted = [
      { txHash: txHash(1), index: 9 },
      { txHash: txHash(1), index: 10 },
      { txHash: txHash(2), index: 0 },
    ];
    for (const set of [
      encodeArray(inputs),
      encodeIndefiniteArray(inputs),
      encodeTag(258, encodeArray(inputs)),
    ])
      expect(decodeTransaction(build({ body: { 0: set } })).inputs).toEqual(sorted);
  });

  it("reads redeemers in the array and in the map form", () => {
    const units = encodeArray([int(1), int(2)]);
    const submit = hexToBytes("d87e80");
    const number = int(7);
    const asArray = encodeArray([
      encodeArray([int(0), int(1), submit, units]),
      encodeArray([int(1), int(0), submit, units]),
      encodeArray([int(0), int(2), number, units]),
    ]);
    const asMap = encodeMap([
      [encodeArray([int(0), int(1)]), encodeArray([submit, units])],
      [encodeArray([int(1), int(0)]), encodeArray([submit, units])],
      [encodeArray([int(0), int(2)]), encodeArray([number, units])],
    ]);
    for (const redeemers of [asArray, asMap])
      expect(decodeTransaction(build({ witnesses: { 5: redeemers } }))).toMatchObject({
        redeemerCount: 3,
        spendRedeemers: [
          { inputIndex: 1, constructor: 5, data: submit },
          { inputIndex: 2, constructor: null, data: number },
        ],
      });
  });

  it("reads the last of several redeemers for one input, which is the one the ledger runs", () => {
    const units = encodeArray([int(1), int(2)]);
    const [withdraw, submit] = [hexToBytes("d87980"), hexToBytes("d87e80")];
    const key = encodeArray([int(0), int(0)]);
    const asArray = encodeArray([
      encodeArray([int(0), int(0), withdraw, units]),
      encodeArray([int(0), int(0), submit, units]),
    ]);
    const asMap = encodeMap([
      [key, encodeArray([withdraw, units])],
      [key, encodeArray([submit, units])],
    ]);
    for (const redeemers of [asArray, asMap])
      expect(decodeTransaction(build({ witnesses: { 5: redeemers } }))).toMatchObject({
        redeemerCount: 1,
        spendRedeemers: [{ inputIndex: 0, constructor: 5, data: submit }],
      });
  });

  it("reads outputs in the array and in the map form", () => {
    const address = encodeBytes(addressToBytes(ADDRESS));
    const assets = encodeMap([
      [encodeBytes(hexToBytes(POLICY)), encodeMap([[encodeBytes(hexToBytes("00ff")), int(3)]])],
    ]);
    const value = encodeArray([int(9), assets]);
    const hash = encodeBytes(new Uint8Array(32).fill(7));
    const outputs = [
      encodeArray([address, value]),
      encodeArray([address, value, hash]),
      map({ 0: address, 1: value }),
      map({ 0: address, 1: value, 2: encodeArray([int(0), hash]) }),
      map({ 0: address, 1: value, 2: encodeArray([int(1), encodeTag(24, encodeBytes(int(42)))]) }),
      map({ 0: address, 1: value, 3: encodeTag(24, encodeBytes(int(0))) }),
    ];
    const plain = {
      address: ADDRESS,
      funds: [
        { unit: "", amount: 9n },
        { unit: `${POLICY}00ff`, amount: 3n },
      ],
      datum: null,
      datumHash: null,
      hasReferenceScript: false,
    };
    const datumHash = txHash(7);
    expect(decodeTransaction(build({ body: { 1: encodeArray(outputs) } })).outputs).toEqual([
      plain,
      { ...plain, datumHash },
      plain,
      { ...plain, datumHash },
      { ...plain, datum: "182a" },
      { ...plain, hasReferenceScript: true },
    ]);
  });

  it("reads outputs to Byron addresses", () => {
    const body = { 1: encodeArray([output(BYRON)]) };
    expect(decodeTransaction(build({ body })).outputs[0]?.address).toBe(BYRON);
  });

  it.each([
    ["as a map of labels", (labels: Uint8Array) => labels],
    ["first of an array", (labels: Uint8Array) => encodeArray([labels, encodeArray([])])],
    [
      "in a tagged map",
      (labels: Uint8Array) => encodeTag(259, map({ 0: labels, 1: encodeArray([]) })),
    ],
  ])("reads metadata %s", (_, wrap) => {
    const labels = map({ 674: map({ 0: encodeText("hi") }), 721: int(1) });
    const { metadata } = decodeTransaction(build({ auxiliary: wrap(labels) }));
    expect([...metadata].map(([label, cbor]) => [label, decodeMetadatum(cbor)])).toEqual([
      ["674", new Map([[0n, "hi"]])],
      ["721", 1n],
    ]);
  });

  it("has no metadata when there is only a script beside it", () => {
    const auxiliary = encodeTag(259, map({ 1: encodeArray([]) }));
    expect(decodeTransaction(build({ auxiliary })).metadata.size).toBe(0);
  });

  it("reads validity, burns, and a failed script's flag", () => {
    const burn = encodeMap([
      [encodeBytes(hexToBytes(POLICY)), encodeMap([[encodeBytes(new Uint8Array(0)), int(-2)]])],
    ]);
    const body = { 3: int(200), 8: int(100), 9: burn };
    expect(decodeTransaction(build({ body, isValid: false }))).toMatchObject({
      validFrom: 100,
      validTo: 200,
      mint: [{ policyId: POLICY, assetName: "", quantity: -2n }],
      isValid: false,
    });
  });

  it("takes the hash from the bytes as they are, not as it would write them", () => {
    const short = decodeTransaction(build({}));
    const long = decodeTransaction(build({ body: { 2: hexToBytes("1805") } }));
    expect(long).toMatchObject({ fee: short.fee, inputs: short.inputs });
    expect(long.hash).not.toBe(short.hash);
  });

  it("reads a transaction from before there was a validity flag", () => {
    const [body, witnesses] = [map({ 0: encodeArray([]), 1: encodeArray([]), 2: int(5) }), map({})];
    expect(decodeTransaction(encodeArray([body, witnesses, NULL]))).toMatchObject({
      fee: 5n,
      isValid: true,
    });
  });
});

describe("what strangers put into a transaction", () => {
  const deep = hexToBytes(`${"81".repeat(10_000)}80`);

  it("does not matter in metadata and redeemers, however deep it is", () => {
    const redeemers = encodeArray([encodeArray([int(0), int(0), deep, int(0)])]);
    const tx = decodeTransaction(
      build({ witnesses: { 5: redeemers }, auxiliary: map({ 1: deep }) }),
    );
    expect(tx.spendRedeemers).toEqual([{ inputIndex: 0, constructor: null, data: deep }]);
    const label = tx.metadata.get("1");
    expect(() => label && decodeMetadatum(label)).toThrow("nested deeper than 64");
  });

  it("does not matter in a datum, which may be no datum at all", () => {
    const datum = encodeArray([int(1), encodeTag(24, encodeBytes(deep))]);
    const outputs = encodeArray([
      map({ 0: encodeBytes(addressToBytes(ADDRESS)), 1: int(1), 2: datum }),
    ]);
    const [first] = decodeTransaction(build({ body: { 1: outputs } })).outputs;
    expect(first?.datum).toHaveLength(2 * deep.length);
  });

  it.each([
    ["nothing", new Uint8Array(0)],
    ["no list", int(1)],
    ["a list of two", encodeArray([map({}), map({})])],
    ["a body that is no map", encodeArray([int(1), map({}), encodeBoolean(true), NULL])],
    ["a body without inputs", encodeArray([map({}), map({}), encodeBoolean(true), NULL])],
    ["an input that is no list", build({ body: { 0: encodeArray([int(1)]) } })],
    ["an output without a value", build({ body: { 1: encodeArray([encodeArray([])]) } })],
    [
      "an output to no address",
      build({ body: { 1: encodeArray([encodeArray([encodeBytes(hexToBytes("91")), int(1)])]) } }),
    ],
    ["a fee that is text", build({ body: { 2: encodeText("free") } })],
    [
      "an incomplete redeemer",
      build({ witnesses: { 5: encodeArray([encodeArray([int(0), int(0)])]) } }),
    ],
    [
      "a redeemer's index beyond all bounds",
      build({
        witnesses: { 5: encodeArray([encodeArray([int(0), encodeInt(2n ** 60n), int(0)])]) },
      }),
    ],
  ])("is refused when it is %s", (_, cbor) => {
    expect(() => decodeTransaction(cbor)).toThrow(TransactionError);
  });

  it("is refused or read, whatever byte is changed, and text that is no hex is refused", () => {
    const genuine = hexToBytes(VECTORS.rows[1]?.cbor ?? "");
    fc.assert(
      fc.property(fc.nat(genuine.length - 1), fc.nat(255), (at, byte) => {
        const changed = genuine.slice();
        changed[at] = byte;
        try {
          expect(decodeTransaction(changed).hash).toHaveLength(64);
        } catch (error) {
          expect(error).toBeInstanceOf(TransactionError);
        }
      }),
      { numRuns: 1000 },
    );
    expect(() => decodeTransaction("84a")).toThrow(TransactionError);
  });
});
