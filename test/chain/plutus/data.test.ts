import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesToHex, hexToBytes } from "../../../src/chain/hex.ts";
import {
  decodePlutusData,
  encodePlutusData,
  type PlutusData,
  PlutusDataError,
} from "../../../src/chain/plutus/data.ts";

const decode = (hex: string) => decodePlutusData(hexToBytes(hex));

const { data: anyData } = fc.letrec<{ data: PlutusData }>((tie) => ({
  data: fc.oneof(
    { maxDepth: 4 },
    fc.bigInt({ min: -(2n ** 100n), max: 2n ** 100n }),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Uint8Array.from(bytes)),
    fc.array(tie("data"), { maxLength: 4 }),
    fc.record({
      index: fc.oneof(fc.integer({ min: 0, max: 130 }), fc.constant(Number.MAX_SAFE_INTEGER)),
      fields: fc.array(tie("data"), { maxLength: 4 }),
    }),
    fc.record({ entries: fc.array(fc.tuple(tie("data"), tie("data")), { maxLength: 3 }) }),
  ),
}));

describe("Plutus data", () => {
  it("is the same after writing and reading", () => {
    fc.assert(
      fc.property(anyData, (data) => {
        expect(decodePlutusData(encodePlutusData(data))).toEqual(data);
      }),
    );
  });

  it.each([
    ["the first constructors", 0, "d87980"],
    ["the last compact tag", 6, "d87f80"],
    ["the first wide tag", 7, "d9050080"],
    ["the last wide tag", 127, "d9057880"],
    ["any other constructor", 128, "d86682188080"],
  ])("writes %s", (_, index, hex) => {
    expect(bytesToHex(encodePlutusData({ index, fields: [] }))).toBe(hex);
    expect(decode(hex)).toEqual({ index, fields: [] });
  });

  it("writes lists of indefinite length unless they are empty", () => {
    expect(bytesToHex(encodePlutusData([1n, []]))).toBe("9f0180ff");
  });

  it("reads lists and strings of either form", () => {
    expect(decode("d87982014102")).toEqual(decode("d8799f015f4102ffff"));
  });

  it.each([
    ["text", "6161"],
    ["null", "f6"],
    ["an unknown tag", "d9010280"],
    ["a constructor without fields", "d87901"],
    ["a general constructor with a negative number", "d866822080"],
    ["half an item", "d8799f"],
  ])("refuses %s", (_, hex) => {
    expect(() => decode(hex)).toThrow(PlutusDataError);
  });

  it("refuses nesting of 10,000 levels", () => {
    expect(() => decode(`${"81".repeat(10_000)}80`)).toThrow(PlutusDataError);
    expect(() => decode(`${"d87981".repeat(10_000)}80`)).toThrow(PlutusDataError);
  });
});
