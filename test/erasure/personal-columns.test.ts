import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { buildErasure } from "../../src/erasure/erasures.ts";
import { COLUMN_TREATMENTS } from "./personal-columns.ts";

/** The columns of text or bytes of all tables, each `table.column`. */
async function readTextColumns(): Promise<string[]> {
  const { results } = await env.DB.prepare(
    `SELECT m.name || '.' || c.name AS name FROM sqlite_master AS m, pragma_table_info(m.name) AS c
     WHERE m.type = 'table' AND m.name NOT GLOB '_cf_*' AND m.name NOT GLOB 'sqlite_*'
       AND m.name <> 'd1_migrations' AND upper(c.type) NOT IN ('INTEGER', 'REAL')`,
  ).all<{ name: string }>();
  return results.map(({ name }) => name);
}

describe("the personal columns", () => {
  it("declare each column of text of every table, and no other", async () => {
    expect([...COLUMN_TREATMENTS.keys()].sort()).toEqual((await readTextColumns()).sort());
  });

  it("are erased by a statement if they are declared so, and no other column is", () => {
    const declared = [...COLUMN_TREATMENTS].filter(([, treatment]) => treatment === "erased");
    expect([...new Set(listErasedColumns())].sort()).toEqual(
      declared.map(([column]) => column).sort(),
    );
  });
});

/** The columns of text that the statements of an erasure write, or delete with their rows. */
function listErasedColumns(): string[] {
  return buildErasure("key", 0).statements.flatMap(({ sql }) => {
    const [, table, assignments = ""] = /^UPDATE (\w+) SET ([\s\S]*?)\sWHERE\b/.exec(sql) ?? [];
    const written = [...assignments.matchAll(/(\w+) = /g)].map(
      ([, column]) => `${table}.${column}`,
    );
    const [deleted] = /(?<=^DELETE FROM )\w+/.exec(sql) ?? [];
    return [...COLUMN_TREATMENTS].flatMap(([column, treatment]) => {
      const isDeleted = treatment === "erased" && column.startsWith(`${deleted}.`);
      return isDeleted || written.includes(column) ? [column] : [];
    });
  });
}
