import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { relative } from "node:path";
import { afterAll, expect, it } from "vitest";

/** Inside of the repository, since drizzle-kit takes a relative path. */
const copy = relative(".", mkdtempSync("node_modules/.migrations-"));
afterAll(() => rmSync(copy, { recursive: true }));

const sqlFiles = () => readdirSync(copy).filter((name) => name.endsWith(".sql"));

it("The migrations make the tables that src declares: `npm run generate` has nothing to add", () => {
  cpSync("migrations", copy, { recursive: true });
  const before = sqlFiles();
  execFileSync(process.execPath, [
    "node_modules/drizzle-kit/bin.cjs",
    ...["generate", "--dialect", "sqlite", "--schema", "./src/**/tables.ts", "--out", copy],
  ]);
  expect(sqlFiles()).toEqual(before);
});
