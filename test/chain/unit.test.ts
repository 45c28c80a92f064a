import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitTokens } from "../../src/chain/transaction/select-inputs.ts";
import { encodeValue } from "../../src/chain/transaction/value.ts";
import { parseUnit, quoteUnit, splitUnit, UnitError } from "../../src/chain/unit.ts";
import { encodeFunds } from "../../src/escrow/model/split.ts";
import { runs } from "../support/effort.ts";

const hexOf = (bytes: fc.Arbitrary<Uint8Array>) =>
  bytes.map((one) => Buffer.from(one).toString("hex"));
const policyId = hexOf(fc.uint8Array({ minLength: 28, maxLength: 28 }));
const assetName = hexOf(fc.uint8Array({ maxLength: 32 }));
/** A text with any of its letters as capitals. */
const spelled = (text: string) =>
  fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map((capitals) => [...text].map((c, i) => (capitals[i] ? c.toUpperCase() : c)).join(""));
/** Texts that no ledger has an asset for: near misses, and anything else. */
const odd = fc
  .oneof(
    fc.string({ unit: "grapheme", minLength: 1 }),
    fc.constantFrom("ada", "ADA", "lovelaces", " lovelace", "0x", "native"),
    fc.tuple(policyId, assetName).map((parts) => parts.join(".")),
    policyId.map((policy) => policy.slice(1)),
    policyId.map((policy) => `${policy}a`),
    policyId.map((policy) => policy + "ab".repeat(33)),
    policyId.map((policy) => `${policy}\n`),
  )
  .filter((text) => !/^(lovelace)?$/i.test(text));

describe("a unit", () => {
  it("has one spelling, whichever it was sent in", () => {
    const token = fc
      .tuple(policyId, assetName)
      .chain(([policy, name]) =>
        fc.tuple(fc.constant(policy + name), spelled(policy + name), fc.constant({ policy, name })),
      );
    fc.assert(
      fc.property(token, spelled("lovelace"), ([unit, sent, { policy, name }], native) => {
        expect(parseUnit(sent)).toBe(unit);
        expect(splitUnit(sent)).toEqual({ policyId: policy, assetName: name });
        expect([parseUnit(native), parseUnit("")]).toEqual(["", ""]);
      }),
      runs(200, 5_000),
    );
  });

  it("is a typed error wherever the text names no asset", () => {
    fc.assert(
      fc.property(odd, (text) => {
        expect(parseUnit(text)).toBeNull();
        const value = new Map([
          ["", 1n],
          [text, 1n],
        ]);
        expect(() => splitUnit(text)).toThrow(UnitError);
        expect(() => encodeValue(value)).toThrow(UnitError);
        expect(() => splitTokens(value, 5_000)).toThrow(UnitError);
        expect(() => encodeFunds([{ unit: text, amount: "1" }])).toThrow(UnitError);
      }),
      runs(200, 5_000),
    );
  });

  it("is quoted in a message by 40 printable characters at the most", () => {
    expect(quoteUnit("ada")).toBe('"ada"');
    expect(quoteUnit('a"b\n‮')).toBe('"a?b??"');
    expect(quoteUnit("x".repeat(41))).toBe(`"${"x".repeat(40)}..."`);
  });
});
