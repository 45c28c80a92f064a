import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CborError,
  encodeArray,
  encodeBytes,
  encodeChunked,
  encodeIndefiniteArray,
  encodeInt,
  encodeMap,
  encodeTag,
  encodeText,
  readCbor,
  toInteger,
} from "../../src/chain/cbor.ts";
import { bytesToHex, hexToBytes } from "../../src/chain/hex.ts";

const read = (hex: string) => readCbor(hexToBytes(hex));

describe("reading CBOR", () => {
  // Examples of RFC 8949, appendix A.
  it.each([
    ["00", 0n],
    ["17", 23n],
    ["1818", 24n],
    ["1903e8", 1000n],
    ["1a000f4240", 1_000_000n],
    ["1bffffffffffffffff", 18_446_744_073_709_551_615n],
    ["c249010000000000000000", 18_446_744_073_709_551_616n],
    ["3bffffffffffffffff", -18_446_744_073_709_551_616n],
    ["c349010000000000000000", -18_446_744_073_709_551_617n],
    ["20", -1n],
    ["3903e7", -1000n],
  ])("reads the integer %s and writes it the same", (hex, value) => {
    expect(toInteger(read(hex))).toBe(value);
    expect(bytesToHex(encodeInt(value))).toBe(hex);
  });

  it("keeps the place of every item", () => {
    const node = read("8201820203");
    if (node.kind !== "array") throw new Error("not an array");
    expect(node.items.map(({ start, end }) => [start, end])).toEqual([
      [1, 2],
      [2, 5],
    ]);
  });

  it.each([
    ["an array", "9f018202039f0405ffff", "8301820203820405"],
    ["a map", "bf61610161629f0203ffff", "a26161016162820203"],
    ["a byte string", "5f42010243030405ff", "450102030405"],
    ["a text", "7f657374726561646d696e67ff", "6973747265616d696e67"],
  ])("reads %s of indefinite length as one of definite length", (_, indefinite, definite) => {
    expect(withoutPlaces(read(indefinite))).toEqual(withoutPlaces(read(definite)));
  });

  it("keeps a byte order mark, which is part of a text", () => {
    expect(read("64efbbbf61")).toMatchObject({ kind: "text", value: "\ufeffa" });
  });

  it.each([
    ["nothing", ""],
    ["an item that ends early", "1903"],
    ["a string that ends early", "4401"],
    ["an array that ends early", "8201"],
    ["an array that claims 2^64 items", "9bffffffffffffffff00"],
    ["an indefinite array without its break", "9f01"],
    ["bytes behind the item", "0000"],
    ["a break where there is nothing to end", "ff"],
    ["a break in a definite array", "81ff"],
    ["a map key without a value", "bf01ff"],
    ["a chunk of another type", "5f6161ff"],
    ["a chunk of indefinite length", "5f5f4101ffff"],
    ["a reserved length", "1c"],
    ["a tag without content", "c1"],
    ["text that is not UTF-8", "61ff"],
    ["a floating point number", "f93c00"],
  ])("refuses %s", (_, hex) => {
    expect(() => read(hex)).toThrow(CborError);
  });

  it("reads or refuses any bytes, and never fails otherwise", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          expect(readCbor(bytes).end).toBe(bytes.length);
        } catch (error) {
          expect(error).toBeInstanceOf(CborError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("reads nesting of any depth without exhausting the stack", () => {
    let node = read(`${"81".repeat(200_000)}80`);
    let depth = 0;
    for (; node.kind === "array" && node.items[0]; node = node.items[0]) depth++;
    expect(depth).toBe(200_000);
  });

  it("refuses nesting that never ends", () => {
    expect(() => read("9f".repeat(200_000))).toThrow(CborError);
  });

  it("reads a megabyte in a million chunks", () => {
    const bytes = new Uint8Array(2_000_002).fill(0x41);
    bytes[0] = 0x5f;
    bytes[bytes.length - 1] = 0xff;
    const node = readCbor(bytes);
    expect(node).toMatchObject({ kind: "bytes", end: bytes.length });
    expect(node.kind === "bytes" && node.value.length).toBe(1_000_000);
  });
});

describe("writing CBOR", () => {
  it("writes every form in its shortest head", () => {
    const item = encodeMap([
      [encodeInt(0n), encodeArray([encodeBytes(Uint8Array.of(1)), encodeText("é")])],
      [encodeInt(1n), encodeTag(258, encodeIndefiniteArray([encodeInt(-1n)]))],
    ]);
    expect(bytesToHex(item)).toBe("a20082410162c3a901d901029f20ff");
  });

  it("writes a byte string beyond 64 bytes in chunks", () => {
    expect(bytesToHex(encodeChunked(new Uint8Array(64)))).toBe(`5840${"00".repeat(64)}`);
    expect(bytesToHex(encodeChunked(new Uint8Array(65)))).toBe(`5f5840${"00".repeat(64)}4100ff`);
  });

  it("writes integers of any size so that they are read back", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 600n), max: 2n ** 600n }), (value) => {
        expect(toInteger(readCbor(encodeInt(value)))).toBe(value);
      }),
    );
  });
});

/** A tree without the places, which differ between the forms. */
function withoutPlaces(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map(withoutPlaces);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== "start" && key !== "end");
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutPlaces(inner)]));
}
