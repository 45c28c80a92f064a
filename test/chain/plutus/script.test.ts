import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeArray, encodeBytes } from "../../../src/chain/cbor.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import { encodePlutusData } from "../../../src/chain/plutus/data.ts";
import { BitWriter, TERM_BITS, TERM_TAGS, writeData } from "../../../src/chain/plutus/flat.ts";
import {
  hashScript,
  parseScript,
  replaceParameters,
  ScriptError,
} from "../../../src/chain/plutus/script.ts";

const ONE = encodePlutusData(1n);
const LONG = encodePlutusData(new Uint8Array(2000));

/** A script of version 1.1.0, written bit by bit. */
function script(write: (to: BitWriter) => void): Uint8Array {
  const to = new BitWriter();
  for (const part of [1, 1, 0]) to.write(part, 8);
  write(to);
  to.align();
  return encodeBytes(to.toBytes());
}

const tag = (to: BitWriter, term: number) => to.write(term, TERM_BITS);

/** `[(error) p1 p2 …]` */
const applied = (...parameters: Uint8Array[]) =>
  script((to) => {
    for (const _ of parameters) tag(to, TERM_TAGS.application);
    tag(to, TERM_TAGS.error);
    for (const parameter of parameters) writeData(to, parameter);
  });

/** `(case (constr NUMBER p1 p2 …) BRANCH …)`, each branch an error. */
const inCase = (number: number, branches: number, ...parameters: Uint8Array[]) =>
  script((to) => {
    tag(to, TERM_TAGS.case);
    tag(to, TERM_TAGS.constr);
    to.write(number, 8);
    for (const parameter of parameters) {
      to.write(1, 1);
      writeData(to, parameter);
    }
    to.write(0, 1);
    for (let i = 0; i < branches; i++) {
      to.write(1, 1);
      tag(to, TERM_TAGS.error);
    }
    to.write(0, 1);
  });

/** `[TERM 1]` with a term that the function writes. */
const around = (write: (to: BitWriter) => void) =>
  script((to) => {
    tag(to, TERM_TAGS.application);
    write(to);
    writeData(to, ONE);
  });

const constantOf = (to: BitWriter, ...types: number[]) => {
  tag(to, TERM_TAGS.constant);
  for (const type of types) to.write((1 << 4) | type, 5);
  to.write(0, 1);
};

describe("the parameters of a script", () => {
  it.each([
    ["applications", applied(ONE, LONG)],
    ["one case", inCase(0, 1, ONE, LONG)],
  ])("are replaced where they stand as %s", (_, before) => {
    const { script: after, replaced } = replaceParameters(before, [LONG, ONE]);
    expect(replaced).toEqual([ONE, LONG]);
    expect(bytesToHex(after)).not.toBe(bytesToHex(before));
    expect(replaceParameters(after, replaced)).toEqual({ script: before, replaced: [LONG, ONE] });
  });

  it.each<[string, Uint8Array]>([
    ["no CBOR", Uint8Array.of(0x41)],
    ["no byte string", encodeArray([])],
    ["an empty program", encodeBytes(new Uint8Array(0))],
    ["a program without a term", script(() => {})],
    ["a script without parameters", script((to) => tag(to, TERM_TAGS.error))],
    ["a script with fewer parameters", applied(ONE)],
    ["a case with fewer", inCase(0, 1, ONE)],
    ["a case of another constructor", inCase(1, 1, ONE, ONE)],
    ["a case without a branch", inCase(0, 0, ONE, ONE)],
    ["a case with two branches", inCase(0, 2, ONE, ONE)],
    [
      "a parameter that is no data",
      script((to) => {
        for (const term of [TERM_TAGS.application, TERM_TAGS.application, TERM_TAGS.error])
          tag(to, term);
        for (const _ of [1, 2]) constantOf(to, 3);
      }),
    ],
    ["a term that there is not", around((to) => tag(to, 15))],
    ["a type that there is not", around((to) => constantOf(to, 12))],
    ["a type that is half of one", around((to) => constantOf(to, 7))],
    ["a pair that is half of one", around((to) => constantOf(to, 7, 7, 6, 0))],
    ["two types", around((to) => constantOf(to, 3, 3))],
    ["no type", around((to) => constantOf(to))],
    ["bytes behind the program", encodeBytes(Uint8Array.of(...applied(ONE, ONE).subarray(1), 1))],
    ["a script larger than any", encodeBytes(new Uint8Array(40_000).fill(0x33))],
  ])("cannot be replaced in %s", (_, wrong) => {
    expect(() => replaceParameters(wrong, [ONE, ONE])).toThrow(ScriptError);
  });

  it.each<[string, Uint8Array]>([
    ["applications", encodeBytes(new Uint8Array(32_000).fill(0x33))],
    ["lambdas", encodeBytes(Uint8Array.of(1, 1, 0, 0x32, ...new Uint8Array(32_000).fill(0x22)))],
    ["cases", encodeBytes(Uint8Array.of(1, 1, 0, 0x39, ...new Uint8Array(32_000).fill(0x99)))],
    [
      "items of a list",
      around((to) => {
        constantOf(to, 7, 5, 3);
        for (let i = 0; i < 200_000; i++) to.write(1, 1);
      }),
    ],
    ["digits", encodeBytes(Uint8Array.of(1, 1, 0, 0x30, ...new Uint8Array(32_000).fill(0xff)))],
  ])("are not looked for in endless %s", (_, hostile) => {
    expect(() => replaceParameters(hostile, [ONE, ONE])).toThrow(ScriptError);
  });

  it("are not looked for behind a list of lists of lists, however deep", () => {
    const hostile = around((to) => {
      tag(to, TERM_TAGS.constant);
      for (let i = 0; i < 20_000; i++) for (const type of [7, 5]) to.write((1 << 4) | type, 5);
    });
    expect(() => replaceParameters(hostile, [ONE])).toThrow(
      new ScriptError("a constant's type is too long"),
    );
  });

  it("are found in no script that was cut off or tampered with, or they are whole", () => {
    const whole = inCase(0, 1, ONE, LONG);
    const program = whole.subarray(3);
    for (let end = 0; end < 60; end++)
      expect(() => replaceParameters(encodeBytes(program.subarray(0, end)), [ONE, ONE])).toThrow(
        ScriptError,
      );
    fc.assert(
      fc.property(fc.nat(program.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        const wrong = Uint8Array.from(program);
        wrong[at] = (wrong[at] ?? 0) ^ mask;
        const tampered = encodeBytes(wrong);
        try {
          const { script: other, replaced } = replaceParameters(tampered, [ONE, ONE]);
          expect(replaceParameters(other, replaced).script).toEqual(tampered);
        } catch (error) {
          expect(error).toBeInstanceOf(ScriptError);
        }
      }),
    );
  });

  it("are copied with lists, pairs and truth values around them", () => {
    const before = around((to) => {
      constantOf(to, 7, 5, 7, 7, 6, 4, 1);
      for (const truth of [0, 1]) {
        to.write((1 << 1) | truth, 2);
        to.align();
        for (const byte of [2, 0xab, 0xcd, 1, 0xef, 0]) to.write(byte, 8);
      }
      to.write(0, 1);
    });
    const { script: after, replaced } = replaceParameters(before, [LONG]);
    expect(replaceParameters(after, replaced).script).toEqual(before);
  });
});

describe("the script with a hash", () => {
  const shown = applied(ONE);
  const hash = hashScript(shown);

  it("is recognised as it is, and wrapped once more", () => {
    expect(parseScript(hash, bytesToHex(shown))).toEqual(shown);
    expect(parseScript(hash, bytesToHex(encodeBytes(shown)))).toEqual(shown);
  });

  it.each([
    ["another one", bytesToHex(applied(LONG))],
    ["one that is wrapped twice more", bytesToHex(encodeBytes(encodeBytes(shown)))],
    ["one that is cut off", bytesToHex(shown).slice(0, -2)],
    ["nothing", ""],
    ["one of four megabytes", "00".repeat(2_000_000)],
  ])("is not %s", (_, other) => {
    expect(parseScript(hash, other)).toBeNull();
  });
});
