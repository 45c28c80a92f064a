import { getTableConfig } from "drizzle-orm/sqlite-core";
import { type Database, openDb, type Statement, statement, violates } from "../db/client.ts";
import { firstIdAt } from "../db/id.ts";
import {
  type Env,
  readArchiveAfterMs,
  readDatabaseMaxBytes,
  readEventRetentionMs,
} from "../env.ts";
import { log } from "../log.ts";
import { type CopyOrder, copyRecords, findRoom, readCopies } from "./copy-records.ts";
import { findOperation, isBehind, type LastCopy } from "./last-copies.ts";
import type { MovedKind } from "./moved-kind.ts";
import { type Archive, openArchives } from "./open-archives.ts";
import {
  areSame,
  deleteRecords,
  type RecordText,
  selectChildTexts,
  toRecordTexts,
} from "./record-texts.ts";
import { rowTextSql } from "./row-text.ts";

/** Rows that belong to the records of a portion, unless one record alone has more. */
const MAX_PORTION_STEPS = 1_000;
/** Share of its limit from which the database moves records sooner. */
const PRESSED_SHARE = 0.6;
/** A call that was begun before a run's deadline may take so long. */
const CALL_MS = 10_000;

type MoverEnv = Parameters<typeof openArchives>[0] &
  Pick<Env, "DB" | "ARCHIVE_AFTER_MINUTES" | "DATABASE_MAX_BYTES" | "EVENT_RETENTION_DAYS">;

/**
 * Moves final records to archives, a portion at a time:
 *
 * 1. Select final records, and the first archive with room. Read the archive's last operation, n.
 * 2. Read the records, and the last move that the database knows. If that move is later than n, the archive was set
 *    back: move nothing.
 * 3. In one batch of the archive, raise n to n + 1 and replace its copies. Another operation meanwhile aborts the batch.
 * 4. Read the copies in another session, and compare each with its record.
 * 5. In one batch of the database, delete the records, and store move n + 1 with their count and ranges. A record that
 *    has changed, or another move meanwhile, aborts the batch.
 *
 * A run may stop anywhere: a copy counts only from step 5 on. Runs may overlap: the one that read first is refused.
 * Readers read the ranges first, and begin again where `returned` has changed since, as a record came back.
 *
 * @param now - epoch milliseconds
 * @param deadline - epoch milliseconds after which no further portion is begun
 */
export async function moveFinalRecords(
  env: MoverEnv,
  kinds: readonly MovedKind[],
  now: number,
  deadline: number,
): Promise<void> {
  const archives = openArchives(env);
  if (archives.length === 0) return;
  for (const kind of kinds) {
    for (const scope of kind.scopes) {
      const order = { env, archives, kind, scope, now, deadline: deadline + CALL_MS };
      while (Date.now() < deadline && (await movePortion(order)));
    }
  }
}

/** What the database has of a portion, read at one moment. */
interface Portion {
  records: (RecordText & {
    revision: number;
    summary: string;
    ranges: (string | number | null)[];
  })[];
  /** The last moves to the archive that the database knows. */
  lastMoves: LastCopy[];
}

/** What is moved, and with what. */
interface MoveOrder extends CopyOrder {
  env: MoverEnv;
  archives: readonly Archive[];
  /** Epoch milliseconds. */
  now: number;
}

/** @returns whether there may be more to move */
async function movePortion(order: MoveOrder): Promise<boolean> {
  const { scope: network } = order;
  const ids = await findFinal(order);
  if (ids.length === 0) return false;
  const place = await findRoom(order.env, order.archives, order);
  if (!place) return false;
  const { archive, lastCopies } = place;
  const subject = { kind: order.kind.kind, network };
  const operation = findOperation(lastCopies, subject);
  // Read after the archive's operation: a run that copies older rows is refused there.
  const { records, lastMoves } = await readPortion(order, archive, operation + 1, ids);
  // Once the archive is put forward again, it has only what it had before.
  if (isBehind(lastMoves, lastCopies)) {
    log("error", "archive.behind", { archive: archive.name, network });
    return false;
  }
  if (records.length === 0) return false;
  try {
    const lastOperation = findOperation(lastMoves, subject);
    const bookmark = await copyRecords(archive, order, { operation, lastOperation, records });
    const copied = await readCopies(archive, order, records);
    if (!areSame(copied, records)) {
      log("error", "archive.copy_differs", { archive: archive.name, network });
      return false;
    }
    await deletePortion(order, archive, operation + 1, bookmark, records);
  } catch (error) {
    if (
      !violates(error, "archive_operation.operation") &&
      !violates(error, "archive_range.operation")
    )
      throw error;
    log("info", "archive.overtaken", { archive: archive.name, network });
    return false;
  }
  return true;
}

function openRecords({ env, scope, deadline }: MoveOrder): Database {
  return openDb(env, scope === "Core" ? undefined : scope, { deadline });
}

/** Ids of the oldest final records. */
async function findFinal(order: MoveOrder): Promise<string[]> {
  const { env, kind, scope, now } = order;
  const { finalRows, changedAt, isOfScopeSql, stepsSql, isImmutable, portionRecords } = kind;
  const select = (ageMs: number) =>
    openRecords(order).batch([
      statement(
        `SELECT id, ${stepsSql} AS steps FROM ${finalRows}
         WHERE ${isOfScopeSql} AND ${changedAt} < ? AND ${kind.isFinalSql(now)} ${isImmutable ? "AND id < ?" : ""}
         ORDER BY ${isImmutable ? "id" : changedAt} LIMIT ${portionRecords}`,
        scope,
        now - ageMs,
        ...(isImmutable ? [firstIdAt(now - ageMs)] : []),
      ),
    ]) as Promise<D1Result<{ id: string; steps: number }>[]>;
  const ageMs = Math.min(readArchiveAfterMs(env), kind.maxAgeMs);
  let [found] = await select(ageMs);
  const isPressed = (found?.meta.size_after ?? 0) > readDatabaseMaxBytes(env) * PRESSED_SHARE;
  // Sooner only than what webhooks may send again.
  const leastAgeMs = readEventRetentionMs(env);
  if (found?.results.length === 0 && isPressed && leastAgeMs < ageMs)
    [found] = await select(leastAgeMs);
  let steps = 0;
  const records = found?.results ?? [];
  return records
    .filter((record, i) => {
      steps += record.steps;
      return i === 0 || steps <= MAX_PORTION_STEPS;
    })
    .map(({ id }) => id);
}

/** @param operation - of the move that begins */
async function readPortion(
  order: MoveOrder,
  archive: Archive,
  operation: number,
  ids: readonly string[],
): Promise<Portion> {
  const { kind, scope, now } = order;
  const listed = JSON.stringify(ids);
  const { table, addedColumns, isImmutable, summarySql, rangeColumns, revisionSql } = kind;
  const begin = [
    insertRange(order, archive),
    // From now on, no earlier move deletes anything: this one may delete what it has copied.
    statement(
      `UPDATE archive_range SET begun = ?4
       WHERE kind = ?1 AND network = ?2 AND archive = ?3 AND begun < ?4 AND operation < ?4`,
      ...toRangeKey(order, archive),
      operation,
    ),
  ];
  // By its ids: the index of final records, which begins with the network, has all of them.
  const [ranges, own, ...children] = (
    await openRecords(order).batch([
      ...(isImmutable ? begin : []),
      statement(
        "SELECT kind, network, operation FROM archive_range WHERE archive = ?",
        archive.number,
      ),
      statement(
        `SELECT id, ${revisionSql} AS revision, ${summarySql} AS summary, ${rowTextSql(table, addedColumns)} AS row,
           json_array(${Object.values(rangeColumns).join(", ")}) AS ranges
         FROM ${getTableConfig(table).name}
         WHERE id IN (SELECT value FROM json_each(?)) AND +(${kind.isOfScopeSql}) AND ${kind.isFinalSql(now)}
         ORDER BY id`,
        listed,
        scope,
      ),
      ...selectChildTexts(kind, listed),
    ])
  ).slice(isImmutable ? begin.length : 0);
  type OwnRow = { id: string; revision: number; summary: string; ranges: string; row: string };
  const texts = toRecordTexts((own as D1Result<OwnRow>).results, children);
  return {
    lastMoves: (ranges as D1Result<LastCopy>).results,
    records: texts.map((one) => ({ ...one, ranges: JSON.parse(one.ranges) })),
  };
}

const toRangeKey = ({ kind, scope }: MoveOrder, archive: Archive) => [
  kind.kind,
  scope,
  archive.number,
];

function insertRange(order: MoveOrder, archive: Archive): Statement {
  return statement(
    `INSERT INTO archive_range (kind, network, archive, operation, count, returned)
     VALUES (?, ?, ?, 0, 0, 0) ON CONFLICT DO NOTHING`,
    ...toRangeKey(order, archive),
  );
}

/**
 * Deletes the records of the portion, and says which archive has them. The batch aborts when one of them is
 * not as it was copied. Deletions come first, since a full database has room for nothing before them.
 */
async function deletePortion(
  order: MoveOrder,
  archive: Archive,
  operation: number,
  bookmark: string | null,
  records: Portion["records"],
): Promise<void> {
  const { kind, now } = order;
  const { table, rangeColumns, revisionSql, isImmutable } = kind;
  const { name } = getTableConfig(table);
  const range = toRangeKey(order, archive);
  const columns = Object.keys(rangeColumns);
  await openRecords(order).batch([
    insertRange(order, archive),
    // Null aborts the batch.
    statement(
      `UPDATE archive_range SET operation = NULL
       WHERE kind = ?1 AND network = ?2 AND archive = ?3
         AND (operation >= ?4 ${isImmutable ? "OR begun <> ?4" : ""} OR ?5 <> (
           SELECT count(*) FROM json_each(?6) AS moved
           JOIN ${name} ON ${name}.id = moved.value->>0
           WHERE ${revisionSql} = moved.value->>1 AND ${kind.isFinalSql(now)}))`,
      ...range,
      operation,
      records.length,
      JSON.stringify(records.map(({ id, revision }) => [id, revision])),
    ),
    ...deleteRecords(kind, JSON.stringify(records.map(({ id }) => id))),
    ...kind.buildMoveStatements(
      archive.number,
      records.map(({ summary }) => summary),
    ),
    statement(
      `UPDATE archive_range SET operation = ?4, count = count + ?5, bookmark = ?6,
         ${columns.flatMap((column, i) => buildRangeSql(column, `?${7 + i}`)).join(", ")}
       WHERE kind = ?1 AND network = ?2 AND archive = ?3`,
      ...range,
      operation,
      records.length,
      bookmark,
      ...columns.map((_, i) => JSON.stringify(records.map(({ ranges }) => ranges[i]))),
    ),
  ]);
}

/** SQL that widens the range of a column by values, a JSON array in which null counts for nothing. */
function buildRangeSql(column: string, values: string): string[] {
  return [
    ["least", "min"],
    ["greatest", "max"],
  ].map(([name, pick]) => {
    const now = `${name}_${column}`;
    const added = `(SELECT ${pick}(value) FROM json_each(${values}))`;
    return `${now} = ${pick}(coalesce(${now}, ${added}), coalesce(${added}, ${now}))`;
  });
}
