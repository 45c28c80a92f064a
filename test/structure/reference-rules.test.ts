import { describe, expect, it } from "vitest";
import { findMissingReferences, listClasses, listWords } from "../../tools/lint/reference-rules.ts";

const FILES = ["src/keys/read-key.ts", "console/ui/key-page.tsx"];
const words = new Set(
  listWords("/** `hiddenName` */\nexport function readKey(): KeyRow {} // noName\n"),
);
const classes = new Set(listClasses("/** class HiddenError */\nexport class KeyError {}"));
const missingIn = (text: string) =>
  findMissingReferences(text, { words, classes, files: FILES }).map(
    ({ line, name }) => `${line} ${name}`,
  );

describe("findMissingReferences", () => {
  it.each([
    "/** Reads as `readKey` does; see `KeyRow`. */",
    "// `readKey(id)` reads a `KeyRow[]`.",
    "/** See `read-key.ts`, `keys/read-key.ts` and `../ui/key-page.tsx`. */",
    "/** `active`, `Active`, `ACTIVE_KEY`, `YYYY-MM-DDTHH:mm:ss.sssZ` */",
    "/** The word missingName is not in backticks. */",
    "/** @throws KeyError 404, RangeError; the error of MissingName */",
    'const text = "`missingName`";',
    'const glob = "src/**/`missingName`*/";',
  ])("accepts %s", (text) => {
    expect(missingIn(text)).toEqual([]);
  });

  it.each([
    ["/** See `missingName`. */", "1 missingName"],
    ["/**\n * Reads.\n *\n * @param key - of `MissingRow`\n */", "4 MissingRow"],
    ["const a = 1; // `readKey` or `a.missingName()`", "1 missingName"],
    ["/** @throws KeyError; MissingError when there is none */", "1 MissingError"],
    ["/**\n * @throws KeyError,\n *   HiddenError\n */", "2 HiddenError"],
    ["/** See `keys/table.ts`. */", "1 keys/table.ts"],
    ["/** See `key.ts`. */", "1 key.ts"],
    ["/** A name in a comment alone: `hiddenName`. */", "1 hiddenName"],
    ["/** A name in a comment at the end of a line: `noName`. */", "1 noName"],
  ])("finds the missing reference of %s", (text, reference) => {
    expect(missingIn(text)).toEqual([reference]);
  });
});
