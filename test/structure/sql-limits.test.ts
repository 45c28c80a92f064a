import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const SRC = new URL("../../src/", import.meta.url);

// SQLite prepares such a statement again for each call: for a page of ten, six times the work of the read.
it("no SQL binds its limit as a parameter", () => {
  const files = globSync("**/*.ts", { cwd: SRC });
  const found = files.filter((file) => / LIMIT \?/.test(readFileSync(new URL(file, SRC), "utf8")));
  expect(files.length).toBeGreaterThan(500);
  expect(found).toEqual([]);
});
