import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAddress } from "../../src/chain/address.ts";
import { encodeArray, encodeTag } from "../../src/chain/cbor.ts";
import {
  DATUM_STATES,
  decodeEscrowDatum,
  type EscrowDatum,
  encodeEscrowDatum,
} from "../../src/chain/contracts/escrow-datum.ts";
import { bytesToHex, hexToBytes } from "../../src/chain/hex.ts";
import {
  type Constr,
  decodePlutusData,
  encodePlutusData,
  type PlutusData,
} from "../../src/chain/plutus/data.ts";
import VECTORS from "../vectors/chain.json" with { type: "json" };
import { datumOf } from "./check-vectors.ts";

const CONTEXTS = {
  Web3ChainV1: {
    version: "Web3ChainV1",
    network: "Preprod",
    contractAddress: VECTORS.contracts.V1,
  },
  Web3ChainV2: {
    version: "Web3ChainV2",
    network: "Preprod",
    contractAddress: VECTORS.contracts.V2,
  },
} as const;

const V1 = vector("v1-locked");
const V2 = vector("v2-locked-returns");

function vector(name: string): EscrowDatum {
  const row = VECTORS.datums.find((one) => one.name === name);
  if (!row) throw new Error(`no vector ${name}`);
  return datumOf(row);
}

const decode = (datum: EscrowDatum, cbor: Uint8Array | string = encodeEscrowDatum(datum)) =>
  decodeEscrowDatum(cbor, CONTEXTS[datum.version]);

/** The datum with some fields replaced, by position. */
function withFields(datum: EscrowDatum, fields: Record<number, PlutusData>): Uint8Array {
  const data = decodePlutusData(encodeEscrowDatum(datum)) as Constr;
  const replaced: PlutusData[] = Object.assign([...data.fields], fields);
  return encodePlutusData({ ...data, fields: replaced });
}

const hex = (characters: number) =>
  fc.uint8Array({ minLength: characters / 2, maxLength: characters / 2 }).map(bytesToHex);
const time = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const cooldown = fc.bigInt({ min: 0n, max: 2n ** 600n });
const address = fc.constantFrom(V1.buyer, V1.seller, V2.buyer, V2.buyerReturnAddress ?? "");
const bytes = fc.uint8Array({ maxLength: 300 }).map(bytesToHex);

const anyDatum: fc.Arbitrary<EscrowDatum> = fc
  .record({
    version: fc.constantFrom("Web3ChainV1", "Web3ChainV2"),
    buyer: address,
    seller: address,
    buyerReturnAddress: fc.option(address),
    sellerReturnAddress: fc.option(address),
    referenceKey: bytes,
    referenceSignature: fc.uint8Array({ minLength: 16, maxLength: 300 }).map(bytesToHex),
    sellerNonce: hex(64),
    buyerNonce: bytes,
    agentIdentifier: fc.option(fc.uint8Array({ minLength: 1, maxLength: 80 }).map(bytesToHex)),
    collateralReturn: time,
    inputHash: bytes,
    resultHash: fc.uint8Array({ maxLength: 2_000 }).map(bytesToHex),
    payByTime: time,
    submitResultTime: time,
    unlockTime: time,
    externalDisputeUnlockTime: time,
    sellerCooldownTime: cooldown,
    buyerCooldownTime: cooldown,
    state: fc.constantFrom(...DATUM_STATES),
  })
  .map((datum) => ({
    ...datum,
    ...(datum.version === "Web3ChainV1" && {
      buyerReturnAddress: null,
      sellerReturnAddress: null,
      state: DATUM_STATES[DATUM_STATES.indexOf(datum.state) % 4] ?? "FundsLocked",
    }),
    buyerVkey: parseAddress(datum.buyer)?.payment.hash ?? "",
    sellerVkey: parseAddress(datum.seller)?.payment.hash ?? "",
  }));

describe("escrow datums", () => {
  it("are the same after writing and reading, in bytes and in hex", () => {
    fc.assert(
      fc.property(anyDatum, (datum) => {
        const cbor = encodeEscrowDatum(datum);
        expect(decode(datum, cbor)).toEqual({ ok: true, datum });
        expect(decode(datum, bytesToHex(cbor))).toEqual({ ok: true, datum });
      }),
    );
  });

  it("are read from CBOR of definite length too", () => {
    const definite = definiteForm(decodePlutusData(encodeEscrowDatum(V1)));
    expect(definite).not.toEqual(encodeEscrowDatum(V1));
    expect(decode(V1, definite)).toEqual({ ok: true, datum: V1 });
  });

  it("of V1 may name the contract as a party, for its contract does not look", () => {
    const own = { ...V1, buyer: CONTEXTS.Web3ChainV1.contractAddress };
    expect(decode(V1, encodeEscrowDatum(own)).ok).toBe(true);
  });

  it("cannot be written with something that is no address", () => {
    expect(() => encodeEscrowDatum({ ...V1, buyer: "addr_test1" })).toThrow(/not a base/);
  });
});

describe("a datum by a stranger is refused with a reason:", () => {
  const SCRIPT = parseAddress(VECTORS.contracts.V2)?.payment.hash ?? "";
  const OWN: PlutusData = {
    index: 0,
    fields: [
      { index: 1, fields: [hexToBytes(SCRIPT)] },
      { index: 1, fields: [] },
    ],
  };
  const some = (data: PlutusData): Constr => ({ index: 0, fields: [data] });
  const POINTER: PlutusData = {
    index: 0,
    fields: [some(new Uint8Array(28)), some({ index: 1, fields: [1n, 2n, 3n] })],
  };
  const short = (length: number): PlutusData => ({
    index: 0,
    fields: [some(new Uint8Array(length)), { index: 1, fields: [] }],
  });

  it.each([
    ["not hex", V2, "xyz", "not hex"],
    ["not CBOR", V2, "ff", /break/],
    ["not Plutus data", V2, "6161", /not Plutus data/],
    ["another constructor", V2, encodePlutusData({ index: 1, fields: [] }), /datum/],
    ["an integer", V2, encodePlutusData(1n), /datum/],
    ["a list", V2, encodePlutusData([]), /datum/],
    ["a map", V2, encodePlutusData({ entries: [] }), /datum/],
    ["no field", V2, encodePlutusData({ index: 0, fields: [] }), "buyer: missing"],
    ["a field too many", V2, withFields(V2, { 19: 0n }), "20 fields instead of 19"],
    ["the layout of the other version", V1, encodeEscrowDatum(V2), /./],
    ["the layout of the other version", V2, encodeEscrowDatum(V1), /./],
    ["a negative time", V2, withFields(V2, { 14: -1n }), "unlock time: negative"],
    ["a time beyond 64 bits", V2, withFields(V2, { 14: 2n ** 63n }), "unlock time: beyond 64 bits"],
    ["a negative cooldown", V2, withFields(V2, { 17: -1n }), "buyer cooldown time: negative"],
    [
      "a result that no transaction can hold",
      V2,
      withFields(V2, { 11: new Uint8Array(16_385) }),
      "result hash: longer than 16384 bytes",
    ],
    ["a negative collateral", V1, withFields(V1, { 6: -1n }), "collateral: negative"],
    ["bytes for a time", V1, withFields(V1, { 9: new Uint8Array(0) }), /pay-by time: not an/],
    ["an integer for a nonce", V1, withFields(V1, { 5: 1n }), "buyer nonce: not a byte string"],
    ["a state with a field", V1, withFields(V1, { 15: { index: 0, fields: [0n] } }), /state: 1 f/],
    ["a V2 state on V1", V1, withFields(V1, { 15: { index: 4, fields: [] } }), /state/],
    ["an unknown state", V2, withFields(V2, { 18: { index: 6, fields: [] } }), /state/],
    ["a short signature", V2, withFields(V2, { 5: new Uint8Array(15) }), /shorter than 16/],
    ["a megabyte", V2, withFields(V2, { 6: new Uint8Array(2 ** 20) }), /longer than/],
    ["the contract as buyer", V2, withFields(V2, { 0: OWN }), /the contract itself/],
    ["the contract as return address", V2, withFields(V2, { 3: some(OWN) }), /the contract itself/],
    [
      "a pointer address",
      V2,
      withFields(V2, { 0: POINTER }),
      "buyer: not the expected constructor",
    ],
    ["a hash of 27 bytes", V2, withFields(V2, { 2: short(27) }), "seller: not a hash of 28 bytes"],
    ["a hash of 29 bytes", V2, withFields(V2, { 2: short(29) }), "seller: longer than 28 bytes"],
    ["an option of two", V2, withFields(V2, { 1: { index: 0, fields: [OWN, OWN] } }), /2 fields/],
  ] as [string, EscrowDatum, Uint8Array | string, string | RegExp][])(
    "%s",
    (_, like, cbor, why) => {
      const decoded = decode(like, cbor);
      expect(decoded.ok).toBe(false);
      if (typeof why === "string") expect(decoded).toEqual({ ok: false, reason: why });
      else expect(decoded).toMatchObject({ reason: expect.stringMatching(why) });
    },
  );

  it("10,000 levels deep", () => {
    const deep = "81".repeat(10_000);
    expect(decode(V2, `${deep}80`).ok).toBe(false);
    expect(decode(V2, `d8799f${deep}80ff`).ok).toBe(false);
  });

  it("any bytes whatever, and any datum with a byte changed", () => {
    const genuine = encodeEscrowDatum(V2);
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 100 }),
        fc.nat(genuine.length - 1),
        fc.nat(255),
        (junk, at, byte) => {
          expect(decode(V2, junk)).toHaveProperty("ok");
          const changed = genuine.slice();
          changed[at] = byte;
          const decoded = decode(V2, changed);
          // What is still readable must be what the bytes say.
          if (decoded.ok) expect(decode(V2, encodeEscrowDatum(decoded.datum))).toEqual(decoded);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

/** A constructor whose lists, in all depths, are of definite length. */
function definiteForm(data: PlutusData): Uint8Array {
  if (typeof data === "bigint" || data instanceof Uint8Array) return encodePlutusData(data);
  if (!("index" in data)) throw new Error("a datum holds neither list nor map");
  return encodeTag(121 + data.index, encodeArray(data.fields.map(definiteForm)));
}
