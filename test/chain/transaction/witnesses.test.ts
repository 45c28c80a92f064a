import fc from "fast-check";
import { expect, it } from "vitest";
import {
  encodeArray,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeTag,
} from "../../../src/chain/cbor.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import { blake2b256 } from "../../../src/chain/transaction/encode.ts";
import { addWitnesses, readWitnesses } from "../../../src/chain/transaction/witnesses.ts";
import { runs } from "../../support/effort.ts";

const witness = fc.record({
  publicKey: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  signature: fc.uint8Array({ minLength: 64, maxLength: 64 }),
});
const FALSE = Uint8Array.of(0xf4);

it("signatures come back out of a transaction that keeps its body's bytes", () => {
  fc.assert(
    fc.property(fc.array(witness, { minLength: 1, maxLength: 4 }), fc.uint8Array(), (all, data) => {
      const body = encodeMap([[encodeInt(0n), encodeBytes(data)]]);
      const others = encodeMap([[encodeInt(5n), encodeMap([])]]);
      const unsigned = encodeArray([body, others, FALSE, FALSE]);
      const signed = addWitnesses(unsigned, all);
      expect(readWitnesses(bytesToHex(signed))).toEqual({
        witnesses: all,
        transaction: bytesToHex(blake2b256(body)),
      });
      expect(readWitnesses(bytesToHex(unsigned))).toBeNull();
    }),
    runs(50, 2_000),
  );
});

it("a witness set is read in either form of a set, whatever else is in it", () => {
  fc.assert(
    fc.property(witness, fc.boolean(), (one, isTagged) => {
      const list = encodeArray([
        encodeArray([encodeBytes(one.publicKey), encodeBytes(one.signature)]),
      ]);
      const set = encodeMap([
        [encodeInt(0n), isTagged ? encodeTag(258, list) : list],
        [encodeInt(1n), encodeArray([])],
      ]);
      expect(readWitnesses(bytesToHex(set))).toEqual({ witnesses: [one], transaction: null });
    }),
    runs(50, 2_000),
  );
});

it("what is no answer of a wallet is none, whatever it is", () => {
  const lists = ["a0", "a10080", "a100d9010280", "a1008101", "a100818201", "80", "8101", "00", ""];
  const short = bytesToHex(
    encodeMap([
      [
        encodeInt(0n),
        encodeArray([
          encodeArray([encodeBytes(new Uint8Array(31)), encodeBytes(new Uint8Array(64))]),
        ]),
      ],
    ]),
  );
  for (const hex of [...lists, short, "zz", "0"]) expect(readWitnesses(hex)).toBeNull();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      readWitnesses(bytesToHex(bytes));
    }),
    runs(200, 20_000),
  );
});
