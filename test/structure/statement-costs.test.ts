import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type MigrationStatement,
  PORTION_ROWS,
  readMigrations,
  readStatements,
} from "../../tools/operate/apply-migrations.ts";
import { computeSeconds, MAX_STATEMENT_SECONDS } from "../../tools/operate/statement-costs.ts";

/** Rows of each table of the sample: more than the schema has. */
const TABLE_ROWS = 400;
const [INITIAL, ...LATER] = readMigrations(new URL("../../migrations/", import.meta.url));

const miniflare = new Miniflare(
  convertV4MiniflareOptions({ modules: true, script: "export default {}", d1Databases: ["DB"] }),
);
const d1 = await miniflare.getD1Database("DB");
afterAll(() => miniflare.dispose());

beforeAll(async () => {
  if (!INITIAL) throw new Error("there is no initial migration");
  await d1.batch(readStatements(INITIAL).map(({ sql }) => d1.prepare(sql)));
  await fillTables();
});

/** Fills each table. A text is JSON, since some indexes read it so. */
async function fillTables(): Promise<void> {
  const { results } = await d1
    .prepare(
      `SELECT m.name AS "table", c.name AS "column", upper(c.type) AS type
       FROM sqlite_master AS m, pragma_table_info(m.name) AS c
       WHERE m.type = 'table' AND m.name NOT GLOB '_cf_*' AND m.name NOT GLOB 'sqlite_*'`,
    )
    .all<{ table: string; column: string; type: string }>();
  for (const [table, columns] of Map.groupBy(results, (one) => one.table)) {
    const names = columns.map(({ column }) => `"${column}"`).join(", ");
    const values = columns.map(({ type }) => (type === "TEXT" ? `'"' || i || '"'` : "i"));
    await d1
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${TABLE_ROWS})
         INSERT OR IGNORE INTO "${table}" (${names}) SELECT ${values.join(", ")} FROM n`,
      )
      .run();
  }
}

/** Runs statements in the sample, and computes what each takes at 10 GB, in seconds. */
async function computeAll(
  statements: readonly MigrationStatement[],
): Promise<{ sql: string; seconds: number }[]> {
  const computed = [];
  for (const statement of statements) {
    const { meta } = await d1.prepare(statement.sql).run();
    const counts = { rowsRead: meta.rows_read, rowsWritten: meta.rows_written };
    const seconds = computeSeconds(statement, { ...counts, tableRows: TABLE_ROWS });
    computed.push({ sql: statement.sql, seconds });
  }
  return computed;
}

const readSample = (sql: string) => readStatements({ name: "sample", sql });
const secondsOf = async (sql: string) =>
  (await computeAll(readSample(sql))).map(({ seconds }) => seconds);

describe("a sample migration of `escrow` at 10 GB", () => {
  it("that adds a column takes no time", async () => {
    expect(await secondsOf("ALTER TABLE escrow ADD COLUMN note text")).toEqual([0]);
  });

  it("that fills the column takes too long as a whole, and a second or less in portions", async () => {
    const backfill = "UPDATE escrow SET note = 'a' WHERE TRUE";
    const [whole = 0] = await secondsOf(backfill);
    expect(whole).toBeGreaterThan(MAX_STATEMENT_SECONDS);
    const [portion = 0] = await secondsOf(`-- portions: escrow by id\n${backfill}`);
    expect(portion).toBeGreaterThan(0.1);
    expect(portion).toBeLessThan(1);
  });

  it("that makes an index takes too long, and a table in its place does not", async () => {
    const [index = 0] = await secondsOf("CREATE INDEX escrow_note ON escrow (note, id)");
    // Measured in workerd: 14 to 31 seconds.
    expect(index).toBeGreaterThan(MAX_STATEMENT_SECONDS);
    expect(index).toBeLessThan(31);
    const seconds = await secondsOf(
      `CREATE TABLE escrow_by_note (note text NOT NULL, id text NOT NULL, PRIMARY KEY (note, id)) WITHOUT ROWID
       --> statement-breakpoint
       CREATE TRIGGER escrow_note_insert AFTER INSERT ON escrow WHEN new.note IS NOT NULL BEGIN
         INSERT OR IGNORE INTO escrow_by_note VALUES (new.note, new.id);
       END
       --> statement-breakpoint
-- portions: escrow by id
       INSERT OR IGNORE INTO escrow_by_note SELECT note, id FROM escrow WHERE note IS NOT NULL AND TRUE`,
    );
    expect(seconds).toHaveLength(3);
    expect(Math.max(...seconds)).toBeLessThan(1);
  });

  it("that makes an index of a small table takes a second or two", async () => {
    const [seconds = 0] = await secondsOf("CREATE INDEX key_name ON api_key (name)");
    expect(seconds).toBeGreaterThan(0.1);
    expect(seconds).toBeLessThan(3);
  });
});

it(`Each statement after the initial migration takes at most ${MAX_STATEMENT_SECONDS} s at 10 GB`, async () => {
  for (const migration of LATER) {
    const computed = await computeAll(readStatements(migration));
    const slow = computed.filter(({ seconds }) => seconds > MAX_STATEMENT_SECONDS);
    expect(slow, `tools/operate/MIGRATIONS.md: ${migration.name}`).toEqual([]);
  }
});

it("A portion is small enough to read the rows of a sample", () => {
  expect(TABLE_ROWS).toBeLessThan(PORTION_ROWS);
});
