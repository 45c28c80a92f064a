import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readImportsAtStart } from "./imports.ts";

const textOf = (file: string) =>
  readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), "utf8");

test("the Worker starts without the packages that modules of its own hold", () => {
  const imports = readImportsAtStart("src", "durable-objects");
  const loaded = new Set(["src/worker.ts"]);
  for (const file of loaded) for (const next of imports.get(file) ?? []) loaded.add(next);
  expect(loaded).toContain("durable-objects/facilitator-wallet.ts");

  const waiting = [...imports.keys()].filter((file) =>
    /^[^ ].* = await load\w+\(\)|^ {2}await load\w+\(\)/m.test(textOf(file)),
  );
  expect(waiting).toContain("src/x402/evm/calldata.ts");
  expect(waiting.filter((file) => loaded.has(file))).toEqual([]);
});
