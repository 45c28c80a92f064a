/**
 * `node tools/operate/measure-statements.ts`: measures what SQLite takes for a row that a statement of a
 * migration reads, writes or sorts. `statement-costs.ts` has the figures. It needs a gigabyte of disk.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const ROWS = 200_000;
/** Of a row of `escrow` whose funds have left: two share a page. */
const ROW_BYTES = 2_000;

const folder = mkdtempSync(join(tmpdir(), "statements-"));
try {
  const database = new DatabaseSync(join(folder, "sample.sqlite"));
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA cache_size = -8000;
    CREATE TABLE sample (id TEXT PRIMARY KEY NOT NULL, kind TEXT, place TEXT, amount INTEGER, doc TEXT);
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ${ROWS})
    INSERT INTO sample SELECT printf('01m80ye05tw8d5k11en%07d', i), 'payment', hex(randomblob(24)),
      abs(random()) % 1000000, hex(randomblob(${ROW_BYTES / 2 - 60})) FROM n`);
  const measure = (name: string, sql: string) => {
    const before = process.cpuUsage();
    const startedAt = performance.now();
    database.exec(sql);
    const ms = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(before);
    const perRow = (value: number) => (value / ROWS).toFixed(2);
    console.log(`${name}: ${perRow(ms * 1000)} µs a row, CPU ${perRow(user + system)} µs a row`);
  };
  measure("read", "SELECT sum(amount) FROM sample");
  measure("index", "CREATE INDEX sample_place ON sample (kind, place, amount, id)");
  measure("update", "UPDATE sample SET amount = amount + 1 WHERE kind = 'payment'");
  measure("add a column", "ALTER TABLE sample ADD COLUMN note TEXT");
  measure("fill the column", "UPDATE sample SET note = 'a note' WHERE TRUE");
  measure(
    "copy into an index of its own",
    `CREATE TABLE sample_by_amount (amount INTEGER, id TEXT, PRIMARY KEY (amount, id)) WITHOUT ROWID;
     INSERT INTO sample_by_amount SELECT amount, id FROM sample`,
  );
  database.close();
} finally {
  rmSync(folder, { recursive: true });
}
