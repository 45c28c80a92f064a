import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { unstable_splitSqlQuery } from "wrangler";
import {
  applyMigrations,
  type MigratedDatabase,
  type Migration,
  PORTION_ROWS,
  readMigrations,
  readStatements,
} from "../../tools/operate/apply-migrations.ts";

const ROWS = 2 * PORTION_ROWS + 1;
const BREAKPOINT = "\n--> statement-breakpoint\n";
/** From here on prices are those that the service wrote meanwhile. An older version knows no new column. */
const WRITTEN_PRICE = 100_000;

const miniflare = new Miniflare(
  convertV4MiniflareOptions({ modules: true, script: "export default {}", d1Databases: ["DB"] }),
);
afterAll(() => miniflare.dispose());
const d1 = await miniflare.getD1Database("DB");

/** A column, its backfill, a table that serves as an index, and the deletion of rows. */
const SAMPLE: Migration = {
  name: "0001_sample.sql",
  sql: [
    "ALTER TABLE sale ADD COLUMN price_text text;",
    "-- portions: sale by id\nUPDATE sale SET price_text = price || ' coins' WHERE TRUE;",
    `CREATE TABLE sale_by_price (price integer NOT NULL, id text NOT NULL,
       PRIMARY KEY (price, id)) WITHOUT ROWID;`,
    `CREATE TRIGGER sale_price_insert AFTER INSERT ON sale BEGIN
       INSERT INTO sale_by_price VALUES (new.price, new.id);
     END;`,
    `CREATE TRIGGER sale_price_update AFTER UPDATE OF price ON sale BEGIN
       DELETE FROM sale_by_price WHERE price = old.price AND id = old.id;
       INSERT OR IGNORE INTO sale_by_price VALUES (new.price, new.id);
     END;`,
    `CREATE TRIGGER sale_price_delete AFTER DELETE ON sale BEGIN
       DELETE FROM sale_by_price WHERE price = old.price AND id = old.id;
     END;`,
    `-- portions: sale by id
     INSERT OR IGNORE INTO sale_by_price SELECT price, id FROM sale WHERE TRUE;`,
    "-- portions: sale by id\nDELETE FROM sale WHERE price < 10 AND TRUE;",
  ].join(BREAKPOINT),
};
const INITIAL: Migration = {
  name: "0000_initial.sql",
  sql: "CREATE TABLE sale (id text PRIMARY KEY NOT NULL, price integer NOT NULL);",
};
const MIGRATIONS = [INITIAL, SAMPLE];

/** Runs statements as wrangler does: split, and in one batch. */
const database: MigratedDatabase = {
  async run(statements) {
    const split = unstable_splitSqlQuery(statements.join(";\n"));
    const results = await d1.batch<Record<string, unknown>>(split.map((sql) => d1.prepare(sql)));
    return results.map((result) => result.results);
  },
};

beforeEach(async () => {
  const { results } = await d1
    .prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'",
    )
    .all<{ name: string }>();
  for (const name of [...results.map((row) => row.name), "sale_by_price"])
    await d1.prepare(`DROP TABLE IF EXISTS "${name}"`).run();
  await applyMigrations(database, [INITIAL], () => {});
  await d1
    .prepare(
      `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ${ROWS})
       INSERT INTO sale SELECT printf('sale-%06d', i), i % 1000 FROM n`,
    )
    .run();
});

/** What the sample has to leave behind of the rows that are there. */
async function expectApplied(): Promise<void> {
  const { results } = await d1
    .prepare(
      `SELECT (SELECT count(*) FROM sale WHERE price < 10) AS cheap,
         (SELECT count(*) FROM sale
          WHERE price < ${WRITTEN_PRICE} AND price_text IS NOT price || ' coins') AS stale,
         (SELECT count(*) FROM (SELECT price, id FROM sale EXCEPT SELECT * FROM sale_by_price)) AS missing,
         (SELECT count(*) FROM (SELECT * FROM sale_by_price EXCEPT SELECT price, id FROM sale)) AS extra,
         (SELECT group_concat(name) FROM d1_migrations) AS applied,
         (SELECT count(*) FROM migration_progress) AS begun`,
    )
    .all();
  const applied = "0000_initial.sql,0001_sample.sql";
  expect(results).toEqual([{ cheap: 0, stale: 0, missing: 0, extra: 0, applied, begun: 0 }]);
}

describe("a migration", () => {
  it("runs each statement alone, and marked ones in portions, once", async () => {
    const lines: string[] = [];
    await applyMigrations(database, MIGRATIONS, (line) => lines.push(line));
    await expectApplied();
    const { length } = readStatements(SAMPLE);
    expect(lines.filter((line) => line.includes("statement 2 of"))).toEqual([
      `0001_sample.sql: statement 2 of ${length}, up to sale-004999`,
      `0001_sample.sql: statement 2 of ${length}, up to sale-009999`,
      `0001_sample.sql: statement 2 of ${length}, up to sale-010000`,
      `0001_sample.sql: statement 2 of ${length}`,
    ]);
    lines.length = 0;
    await applyMigrations(database, MIGRATIONS, (line) => lines.push(line));
    expect(lines).toEqual([]);
  });

  it.each(["before", "after"] as const)(
    "that is stopped %s any step continues there, beside a service that writes",
    async (when) => {
      let [steps, stops] = [0, 0];
      const write = async (i: number) => {
        const old = `sale-${String((i * 2_711) % ROWS).padStart(6, "0")}`;
        await d1.batch([
          d1
            .prepare("INSERT INTO sale (id, price) VALUES (?, ?)")
            .bind(`sale-new-${i}`, WRITTEN_PRICE + i),
          d1.prepare("UPDATE sale SET price = ? WHERE id = ?").bind(WRITTEN_PRICE + i, old),
          d1.prepare("DELETE FROM sale WHERE id = ?").bind(`sale-${String(i).padStart(6, "0")}`),
        ]);
      };
      const stopping: MigratedDatabase = {
        async run(statements) {
          await write(++steps);
          if (when === "before" && steps % 3 === 0) throw new Error("stopped");
          const results = await database.run(statements);
          if (when === "after" && steps % 3 === 0) throw new Error("stopped");
          return results;
        },
      };
      for (let isDone = false; !isDone; ) {
        try {
          await applyMigrations(stopping, MIGRATIONS, () => {});
          isDone = true;
        } catch (error) {
          expect(String(error)).toBe("Error: stopped");
          stops++;
        }
      }
      expect(stops).toBeGreaterThan(5);
      await expectApplied();
    },
  );

  it("that two runs apply at the same time is applied once", async () => {
    const runs = [1, 2].map(() => applyMigrations(database, MIGRATIONS, () => {}));
    const ended = await Promise.allSettled(runs);
    expect(ended.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(1);
    await applyMigrations(database, MIGRATIONS, () => {});
    await expectApplied();
  });

  it("that marks a statement without a place for its range is refused", async () => {
    const sql = "-- portions: sale by id\nUPDATE sale SET price = 1";
    const refused = applyMigrations(database, [{ name: "0001_bad.sql", sql }], () => {});
    await expect(refused).rejects.toThrow(
      "0001_bad.sql: a statement in portions must end with TRUE",
    );
  });
});

it("The migrations of the repository have one statement between two breakpoints", () => {
  for (const folder of ["migrations/", "migrations-search/"]) {
    const migrations = readMigrations(new URL(`../../${folder}`, import.meta.url));
    for (const { sql } of migrations.flatMap(readStatements))
      expect(unstable_splitSqlQuery(sql), sql).toHaveLength(1);
  }
});
