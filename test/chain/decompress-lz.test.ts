import fc from "fast-check";
import lz from "lz-string";
import { describe, expect, it } from "vitest";
import { decompressLz } from "../../src/chain/contracts/blockchain-identifier.ts";

const compress = (text: string) => lz.compressToUint8Array(text);
/** Texts that repeat themselves, and texts of all characters. */
const TEXTS = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef."), maxLength: 2_000 }),
  fc.string({ unit: "binary", maxLength: 300 }),
  fc
    .tuple(fc.string({ maxLength: 12 }), fc.integer({ min: 0, max: 400 }))
    .map(([part, times]) => part.repeat(times)),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 }).map((units) => {
    return units.map((unit) => String.fromCharCode(unit)).join("");
  }),
);

describe("decompressLz", () => {
  it("returns every text that the library has compressed, and null where the bound is lower", () => {
    fc.assert(
      fc.property(TEXTS, (text) => {
        expect(decompressLz(compress(text), text.length)).toBe(text);
        if (text !== "") expect(decompressLz(compress(text), text.length - 1)).toBeNull();
      }),
    );
  });

  it("returns of other bytes null, or what the library returns", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const even = bytes.subarray(0, bytes.length & ~1);
        const text = decompressLz(even, 100_000);
        if (text !== null) expect(text).toBe(lz.decompressFromUint8Array(even));
      }),
      { numRuns: 5_000 },
    );
  });

  it("stops at the bound, however much the bytes expand to", () => {
    const bytes = compress(".".repeat(500_000));
    expect(bytes.length).toBeLessThan(2_500);
    for (const bound of [0, 1, 33_000]) expect(decompressLz(bytes, bound)).toBeNull();
  });

  it("returns null for bytes that end too early", () => {
    const bytes = compress("addr_test1".repeat(20));
    for (let length = 0; length < bytes.length - 2; length += 2)
      expect(decompressLz(bytes.subarray(0, length), 1_000)).toBeNull();
  });
});
