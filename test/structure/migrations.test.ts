import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, it } from "vitest";
import { SUBSCRIPTION_TRIGGERS } from "../../src/webhooks/model/subscription-triggers.ts";
import { readMigrations } from "../../tools/operate/apply-migrations.ts";

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

it("migrations make the triggers of subscriptions that src describes", () => {
  const database = new DatabaseSync(":memory:");
  for (const { sql } of readMigrations(new URL("../../migrations/", import.meta.url)))
    database.exec(sql);
  const made = database.prepare("SELECT sql FROM sqlite_master WHERE type = 'trigger'").all();
  expect(made.map(({ sql }) => sql)).toEqual(SUBSCRIPTION_TRIGGERS);
  database.close();
});
