/** Final escrows, as many as years leave: sales that the service's writer wrote, and copies of their rows. */

import { firstIdAt, timeOfId } from "../../src/db/id.ts";
import { databaseIn } from "./many-rows.ts";
import { loadRecords, SALE } from "./records.ts";
import type { BenchContext } from "./service.ts";
import { startBenchService } from "./service.ts";

const DAY_MS = 24 * 60 * 60_000;
/** So long ago the first of them changed. */
const AGE_MS = 90 * DAY_MS;
/** Sales that are written. The others are copies. */
const MAX_WRITTEN_PER_SIDE = 500;
/** Characters of an id that are its time. */
const TIME_LENGTH = 10;
/** Copies change so much later than what they are of: more than all that is written takes. */
const COPY_MS = 10 * 60 * 60_000;

/** SQL of the hash of copy `n`, as long as before. */
const copyHash = (column: string) =>
  `substr(${column}, 1, 20) || printf('%08d', n) || substr(${column}, 29)`;

/** Ids begin with the time of their record, so those of later copies come later. */
const toCopyId = (id: string, n: number) =>
  firstIdAt(timeOfId(id) + n * COPY_MS).slice(0, TIME_LENGTH) + id.slice(TIME_LENGTH);

/** Tables of an escrow, with SQL of the columns that a copy has otherwise. */
const COPIED: Record<string, Record<string, string>> = {
  escrow: {
    id: "copy_id(id, n)",
    identifier_hash: copyHash("identifier_hash"),
    ...Object.fromEntries(
      ["chain_changed_at", "action_changed_at", "changed_at"].map((name) => [
        name,
        `${name} + n * ${COPY_MS}`,
      ]),
    ),
  },
  escrow_identity: {
    id: "copy_id(id, n)",
    identifier_hash: `unhex(${copyHash("lower(hex(identifier_hash))")})`,
  },
  escrow_transaction: { record_id: "copy_id(record_id, n)" },
  escrow_action: { record_id: "copy_id(record_id, n)" },
};

/**
 * Makes final escrows in the database of a stopped Worker.
 *
 * @param folder - the Worker's kept state
 * @param perSide - payments, and as many purchases
 */
export async function makeFinalRecords(
  context: BenchContext,
  folder: string,
  perSide: number,
): Promise<void> {
  const originals = Math.min(perSide, MAX_WRITTEN_PER_SIDE);
  const { host } = await startBenchService(context, {}, folder);
  try {
    await loadRecords(host.d1, originals, { life: SALE, begin: Date.now() - AGE_MS });
    // As once no rollback reaches them, and webhooks have their events.
    await host.d1.batch(
      ["escrow_undo", "event"].map((table) => host.d1.prepare(`DELETE FROM ${table}`)),
    );
  } finally {
    await host.close();
  }
  const copies = perSide / originals - 1;
  if (!Number.isInteger(copies)) throw new RangeError(`${perSide} are no copies of ${originals}`);
  const file = databaseIn(folder);
  try {
    file.function("copy_id", (id, n) => toCopyId(String(id), Number(n)));
    file.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -500000");
    for (const [table, changed] of Object.entries(COPIED)) {
      const columns = file
        .prepare("SELECT name FROM pragma_table_info(?)")
        .all(table)
        .map(({ name }) => String(name));
      file.exec(
        `CREATE TEMP TABLE original AS SELECT * FROM ${table};
         WITH RECURSIVE copy (n) AS
           (SELECT 1 WHERE ${copies} > 0 UNION ALL SELECT n + 1 FROM copy WHERE n < ${copies})
         INSERT INTO ${table} (${columns})
         SELECT ${columns.map((name) => changed[name] ?? name)} FROM copy CROSS JOIN original;
         DROP TABLE original`,
      );
    }
    // No page shows a change that the clock has not reached.
    file.exec("UPDATE clock SET t = max(t, (SELECT max(changed_at) FROM escrow))");
  } finally {
    file.close();
  }
}
