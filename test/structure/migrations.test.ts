import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { relative } from "node:path";
import { afterAll, expect, it } from "vitest";

/** Inside of the repository, since drizzle-kit takes a relative path. */
const copies = relative(".", mkdtempSync("node_modules/.migrations-"));
afterAll(() => rmSync(copies, { recursive: true }));

it.each([
  ["migrations", "tables.ts"],
  ["migrations-archive", "archive-tables.ts"],
])(
  "%s makes the tables that src declares: `npm run generate` has nothing to add",
  (folder, file) => {
    const copy = `${copies}/${folder}`;
    const sqlFiles = () => readdirSync(copy).filter((name) => name.endsWith(".sql"));
    cpSync(folder, copy, { recursive: true });
    const before = sqlFiles();
    execFileSync(process.execPath, [
      "node_modules/drizzle-kit/bin.cjs",
      ...["generate", "--dialect", "sqlite", "--schema", `./src/**/${file}`, "--out", copy],
    ]);
    expect(sqlFiles()).toEqual(before);
  },
);
