import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findJsonError } from "../../src/http/json-error.ts";
import { runs } from "../support/effort.ts";

/** Whether the engine takes a text. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Texts of JSON's own pieces; most of them have an error. */
const nearlyJson = fc
  .array(
    fc.constantFrom(
      ...["{", "}", "[", "]", ",", ":", '"a"', '"', "\\", "\\u00e", "1", "0", "-", ".", "e", "+"],
      ...["true", "fals", "null", " ", "\n", "\r\n", "\t", "é", "😀", "\u0001", "\u00a0", "\ufeff"],
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(""));

/** JSON with one character taken out, put in or replaced. */
const brokenJson = fc
  .tuple(fc.json({ maxDepth: 3 }), fc.nat(), fc.constantFrom("", "x", '"', ",", "]", "}", "\n"))
  .map(([json, n, put]) => {
    const at = n % (json.length + 1);
    return json.slice(0, at) + put + json.slice(at + (n % 2));
  });

describe("findJsonError", () => {
  it("finds an error in each text that the engine refuses, and in no other", () => {
    fc.assert(
      fc.property(fc.oneof(nearlyJson, brokenJson), (text) => {
        expect(findJsonError(text) === null).toBe(isJson(text));
      }),
      runs(1_000, 20_000),
    );
  });

  it("finds the first character that cannot be where it is", () => {
    const lines = fc.array(fc.json({ maxDepth: 3 }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(lines, fc.nat(), (jsons, n) => {
        const characters = [...`[${jsons.join(",\n")}]`];
        const kept = characters.slice(0, n % characters.length).join("");
        const line = kept.split("\n").length;
        const column = [...(kept.split("\n").at(-1) ?? "")].length + 1;
        expect(findJsonError(kept)).toEqual({ line, column, isCutOff: true });
        // No JSON text has this character anywhere.
        expect(findJsonError(`${kept}\u0001]`)).toEqual({ line, column, isCutOff: false });
      }),
    );
  });

  it.each([
    ["", 1, 1, true],
    ["{", 1, 2, true],
    ['{"a": 1,}', 1, 9, false],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, false],
    ['{\r\n"a": "😀é", x}', 2, 12, false],
    ['["a\nb"]', 1, 4, false],
    ['["\\x"]', 1, 4, false],
    ['["\\u12g4"]', 1, 7, false],
    ['{"a" 1}', 1, 6, false],
    ["[1 2]", 1, 4, false],
    ["[1,]", 1, 4, false],
    ["[1}", 1, 3, false],
    ["{,}", 1, 2, false],
    ["{}}", 1, 3, false],
    ["01", 1, 2, false],
    ["1.e5", 1, 3, false],
    ["[-]", 1, 3, false],
    ["[tru]", 1, 5, false],
    ["nul", 1, 4, true],
    ["undefined", 1, 1, false],
    ['"abc', 1, 5, true],
    ["[1,\n2", 2, 2, true],
  ])("says of %j line %i and column %i", (text, line, column, isCutOff) => {
    expect(findJsonError(text)).toEqual({ line, column, isCutOff });
  });

  it("reads a mebibyte of anything, however deep", () => {
    const size = 1_048_576;
    for (const text of ["[".repeat(size), '{"a":'.repeat(size / 5), `"${"x".repeat(size)}`])
      expect(findJsonError(text)).toMatchObject({ line: 1, isCutOff: true });
    expect(findJsonError(`${"1".repeat(size)}x`)).toMatchObject({ column: size + 1 });
    expect(findJsonError(`${" ".repeat(size)}x`)).toMatchObject({ column: size + 1 });
  });
});
