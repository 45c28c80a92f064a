import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const TESTS = fileURLToPath(new URL("../", import.meta.url));

const files = new Map(
  globSync("**/*.ts", { cwd: TESTS }).map((file) => [
    file,
    readFileSync(path.join(TESTS, file), "utf8"),
  ]),
);

/** Milliseconds: what a wait in a test has at least, and what vitest.config.ts gives a whole test. */
const MIN_WAIT_MS = 60_000;
const PATIENCE = 300_000;

const found = (pattern: RegExp) =>
  [...files].flatMap(([file, text]) =>
    [...text.matchAll(pattern)].map(([match, value = "0"]) => ({
      where: `${file}: ${match.trim()}`,
      value: Number(value.replaceAll("_", "")),
    })),
  );

it("no test measures time", () => {
  const measured = found(
    /expect\([^;]*\b(?:Date|performance)\.now\(\)[^;]*?\)\s*\.(?:not\.)?toBeLessThan/g,
  );
  expect(measured).toEqual([]);
});

it("no test gives a wait less time than a busy machine may need", () => {
  const waits = found(/(?:wait\w+|poll)\([^;]*?\btimeout: (\d[\d_]*)/g);
  expect(waits.filter(({ value }) => value < MIN_WAIT_MS)).toEqual([]);
  const limits = found(/^ *\}, (\d[\d_]*)\);$/gm);
  expect(limits.filter(({ value }) => value < PATIENCE)).toEqual([]);
});
