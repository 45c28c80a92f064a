import { log } from "../log.ts";
import { type Database, openDb, statement } from "./client.ts";
import { readSealingKeyId, type SealingEnv, seal, unseal } from "./sealed.ts";
import { SEALED_COLUMNS, type SealedColumn } from "./sealed-columns.ts";

const JOB_NAME = "reseal";
/** Rows resealed per batch. */
const BATCH_SIZE = 50;
/**
 * How often all columns are scanned again. An isolate started before the rotation seals with the
 * old key until it ends.
 */
const SCAN_INTERVAL_MS = 60 * 60_000;

/**
 * Reseals every value that is not sealed with the first of `SEALING_KEYS`. Its progress is in the
 * values themselves, so it may stop at any point, run concurrently, and resume with the next run. A
 * value that cannot be opened is reported with its key id and left as it is.
 *
 * @param now - epoch milliseconds
 * @param deadline - epoch milliseconds after which no further batch is started
 */
export async function resealAll(
  env: SealingEnv & { DB: D1Database },
  now: number,
  deadline: number,
): Promise<void> {
  const database = openDb(env, undefined, { writes: "idempotent", deadline: deadline + 10_000 });
  const keyId = readSealingKeyId(env);
  const [done] = await database.all<{ subject: string; doneAt: number }>(
    "SELECT subject, done_at AS doneAt FROM job WHERE name = ?",
    JOB_NAME,
  );
  if (done?.subject === keyId && now - done.doneAt < SCAN_INTERVAL_MS) return;

  for (const column of SEALED_COLUMNS)
    if (!(await resealColumn(env, database, column, keyId, deadline))) return;
  await database.batch([
    statement(
      `INSERT INTO job (name, subject, done_at) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET
         subject = excluded.subject, done_at = excluded.done_at`,
      JOB_NAME,
      keyId,
      now,
    ),
  ]);
  if (done?.subject !== keyId) log("info", "reseal.done", { keyId });
}

interface SealedRow {
  key: string;
  value: string;
}

/** @returns whether it reached the column's end */
async function resealColumn(
  env: SealingEnv,
  database: Database,
  column: SealedColumn,
  keyId: string,
  deadline: number,
): Promise<boolean> {
  const name = `${column.table}.${column.column}`;
  let after: string | null = null;
  for (;;) {
    const rows = await loadRowsOfOtherKeys(database, column, keyId, after);
    const last = rows.at(-1);
    if (!last) return true;
    if (Date.now() >= deadline) return false;
    const resealed = await Promise.all(rows.map((row) => resealRow(env, column, row)));
    const updates = resealed.filter((update) => update !== null);
    if (updates.length > 0) await database.batch(updates);
    log("info", "reseal.progress", { column: name, keyId, resealed: updates.length });
    after = last.key;
  }
}

/** Rows after one, in key order, whose value is sealed with another key. */
function loadRowsOfOtherKeys(
  database: Database,
  { table, column, keyColumns: key }: SealedColumn,
  keyId: string,
  after: string | null,
): Promise<SealedRow[]> {
  const columns = key.join(", ");
  const afterKey: string[] = after === null ? [] : JSON.parse(after);
  const condition = after === null ? "TRUE" : `(${columns}) > (${key.map(() => "?").join(", ")})`;
  return database.all<SealedRow>(
    `SELECT json_array(${columns}) AS key, ${column} AS value FROM ${table}
     WHERE ${condition} AND ${column} <> '' AND substr(${column}, 1, ?) <> ?
     ORDER BY ${columns} LIMIT ${BATCH_SIZE}`,
    ...afterKey,
    sealedPrefixOf(keyId).length,
    sealedPrefixOf(keyId),
  );
}

/** Replaces a value by the same one sealed with the first key, unless it was changed in between. */
async function resealRow(env: SealingEnv, sealedColumn: SealedColumn, row: SealedRow) {
  const { table, column, keyColumns: key, boundTo } = sealedColumn;
  const keyValues: string[] = JSON.parse(row.key);
  const place = { table, id: keyValues.join(" "), column: boundTo ?? column };
  let value: string;
  try {
    value = await seal(env, place, await unseal(env, place, row.value));
  } catch (error) {
    log("error", "reseal.unopened", { table, column, id: place.id, error: String(error) });
    return null;
  }
  return statement(
    `UPDATE ${table} SET ${column} = ?
     WHERE ${key.map((name) => `${name} = ?`).join(" AND ")} AND ${column} = ?`,
    value,
    ...keyValues,
    row.value,
  );
}

function sealedPrefixOf(keyId: string): string {
  return `v1.${keyId}.`;
}
