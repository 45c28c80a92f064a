import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, openDb, type Statement, statement, violates } from "../db/client.ts";
import { firstIdAt } from "../db/id.ts";
import {
  type Env,
  readArchiveAfterMs,
  readDatabaseMaxBytes,
  readEventRetentionMs,
} from "../env.ts";
import { log } from "../log.ts";
import type { ArchivedScope } from "./archive-tables.ts";
import type { MovedKind } from "./moved-kind.ts";
import {
  type Archive,
  isBelowFilledShare,
  openArchives,
  selectOperation,
} from "./open-archives.ts";
import { insertRowTexts, rowTextSql } from "./row-text.ts";

/** Rows that belong to the records of a portion, unless one record alone has more. */
const MAX_PORTION_STEPS = 1_000;
/** Share of its limit from which the database moves records sooner. */
const PRESSED_SHARE = 0.6;
/** A call that was begun before a run's deadline may take so long. */
const CALL_MS = 10_000;

type MoverEnv = Parameters<typeof openArchives>[0] &
  Pick<Env, "DB" | "ARCHIVE_AFTER_MINUTES" | "DATABASE_MAX_BYTES" | "EVENT_RETENTION_DAYS">;

/**
 * Moves final records to archives, a portion at a time. Each portion is copied and read back, and the database
 * deletes only what was read back as it is. A run may stop anywhere: a copy counts only
 * from the batch on that deletes the record. Runs may overlap: the one that read first is refused.
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
      const mover = new Mover(env, kind, scope, archives, { now, deadline: deadline + CALL_MS });
      while (Date.now() < deadline && (await mover.movePortion()));
    }
  }
}

/** A record as the database and its copy must have it. */
interface RecordText {
  id: string;
  row: string;
  /** Of each child table, the rows in the order of their keys. */
  children: string[][];
}

/** What the database has of a portion, read at one moment. */
interface Portion {
  records: (RecordText & {
    revision: number;
    summary: string;
    ranges: (string | number | null)[];
  })[];
  /** Of the last move that the database knows; 0: none. */
  lastOperation: number;
}

class Mover {
  readonly #env: MoverEnv;
  readonly #kind: MovedKind;
  readonly #scope: ArchivedScope;
  readonly #archives: readonly Archive[];
  readonly #now: number;
  readonly #deadline: number;
  readonly #tables: readonly SQLiteTable[];

  constructor(
    env: MoverEnv,
    kind: MovedKind,
    scope: ArchivedScope,
    archives: readonly Archive[],
    { now, deadline }: { now: number; deadline: number },
  ) {
    this.#env = env;
    this.#kind = kind;
    this.#scope = scope;
    this.#archives = archives;
    this.#now = now;
    this.#deadline = deadline;
    this.#tables = [kind.table, ...kind.children];
  }

  /** @returns whether there may be more to move */
  async movePortion(): Promise<boolean> {
    const ids = await this.#findFinal();
    if (ids.length === 0) return false;
    const place = await this.#findRoom();
    if (!place) return false;
    const { archive, operation } = place;
    // Read after the archive's operation: a run that copies older rows is refused there.
    const portion = await this.#readPortion(archive, operation + 1, ids);
    if (portion.lastOperation > operation) {
      log("error", "archive.behind", { archive: archive.name, network: this.#scope });
      return false;
    }
    if (portion.records.length === 0) return false;
    try {
      const bookmark = await this.#copy(archive, operation, portion);
      const copied = await this.#readBack(archive, portion);
      if (!isSame(copied, portion.records)) {
        log("error", "archive.copy_differs", { archive: archive.name, network: this.#scope });
        return false;
      }
      await this.#delete(archive, operation + 1, bookmark, portion);
    } catch (error) {
      if (
        !violates(error, "archive_operation.operation") &&
        !violates(error, "archive_range.operation")
      )
        throw error;
      log("info", "archive.overtaken", { archive: archive.name, network: this.#scope });
      return false;
    }
    return true;
  }

  #open(): Database {
    const network = this.#scope === "Core" ? undefined : this.#scope;
    return openDb(this.#env, network, { deadline: this.#deadline });
  }

  /** Ids of the oldest final records. */
  async #findFinal(): Promise<string[]> {
    const { finalRows, changedAt, isOfScopeSql, stepsSql, isImmutable, portionRecords } =
      this.#kind;
    const select = (ageMs: number) =>
      this.#open().batch([
        statement(
          `SELECT id, ${stepsSql} AS steps FROM ${finalRows}
           WHERE ${isOfScopeSql} AND ${changedAt} < ? AND ${this.#isFinalSql} ${isImmutable ? "AND id < ?" : ""}
           ORDER BY ${isImmutable ? "id" : changedAt} LIMIT ${portionRecords}`,
          this.#scope,
          this.#now - ageMs,
          ...(isImmutable ? [firstIdAt(this.#now - ageMs)] : []),
        ),
      ]) as Promise<D1Result<{ id: string; steps: number }>[]>;
    const ageMs = Math.min(readArchiveAfterMs(this.#env), this.#kind.maxAgeMs);
    let [found] = await select(ageMs);
    const isPressed =
      (found?.meta.size_after ?? 0) > readDatabaseMaxBytes(this.#env) * PRESSED_SHARE;
    // Sooner only than what webhooks may send again.
    const leastAgeMs = readEventRetentionMs(this.#env);
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

  /** The first archive with room, and the last operation that it has. */
  async #findRoom(): Promise<{ archive: Archive; operation: number } | null> {
    for (const archive of this.#archives) {
      const [result] = (await archive
        .open({ deadline: this.#deadline })
        .batch([selectOperation(this.#kind.kind, this.#scope)])) as D1Result<{
        operation: number;
      }>[];
      const bytes = result?.meta.size_after ?? 0;
      if (isBelowFilledShare(this.#env, bytes))
        return { archive, operation: result?.results[0]?.operation ?? 0 };
    }
    log("error", "archive.needed", { network: this.#scope });
    return null;
  }

  /** @param operation - of the move that begins */
  async #readPortion(
    archive: Archive,
    operation: number,
    ids: readonly string[],
  ): Promise<Portion> {
    const listed = JSON.stringify(ids);
    const { kind, table, isImmutable, summarySql, rangeColumns, revisionSql } = this.#kind;
    const { name } = getTableConfig(table);
    const key = [kind, this.#scope, archive.number];
    const begin = [
      this.#insertRange(archive),
      // From now on, no earlier move deletes anything: this one may delete what it has copied.
      statement(
        `UPDATE archive_range SET begun = ?4
         WHERE kind = ?1 AND network = ?2 AND archive = ?3 AND begun < ?4 AND operation < ?4`,
        ...key,
        operation,
      ),
    ];
    // By its ids: the index of final records, which begins with the network, has all of them.
    const [ranges, own, ...children] = (
      await this.#open().batch([
        ...(isImmutable ? begin : []),
        statement(
          "SELECT operation FROM archive_range WHERE kind = ? AND network = ? AND archive = ?",
          ...key,
        ),
        statement(
          `SELECT id, ${revisionSql} AS revision, ${summarySql} AS summary, ${rowTextSql(table)} AS row,
             json_array(${Object.values(rangeColumns).join(", ")}) AS ranges
           FROM ${name}
           WHERE id IN (SELECT value FROM json_each(?)) AND +(${this.#kind.isOfScopeSql}) AND ${this.#isFinalSql}
           ORDER BY id`,
          listed,
          this.#scope,
        ),
        ...this.#selectChildren(listed),
      ])
    ).slice(isImmutable ? begin.length : 0);
    const [range] = (ranges as D1Result<{ operation: number }>).results;
    type OwnRow = { id: string; revision: number; summary: string; ranges: string; row: string };
    const texts = toRecordTexts((own as D1Result<OwnRow>).results, children);
    return {
      lastOperation: range?.operation ?? 0,
      records: texts.map((one) => ({ ...one, ranges: JSON.parse(one.ranges) })),
    };
  }

  #selectChildren(listed: string): Statement[] {
    return this.#kind.children.map((table) => {
      const { name, primaryKeys, columns } = getTableConfig(table);
      const keys = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
      return statement(
        `SELECT ${this.#kind.ownerColumn} AS id, ${rowTextSql(table)} AS row FROM ${name}
         WHERE ${this.#kind.ownerColumn} IN (SELECT value FROM json_each(?)) ORDER BY ${keys.map((key) => key.name).join(", ")}`,
        listed,
      );
    });
  }

  /**
   * Replaces the archive's copies with all that belongs to them.
   *
   * @param operation - the archive's last one; another one meanwhile aborts the batch
   * @returns the archive's bookmark after it.
   */
  async #copy(
    archive: Archive,
    operation: number,
    { records, lastOperation }: Portion,
  ): Promise<string | null> {
    const { kind, isImmutable } = this.#kind;
    const database = archive.open({ deadline: this.#deadline });
    const listed = JSON.stringify(records.map(({ id }) => id));
    await database.batch([
      statement(
        `INSERT INTO archive_operation (kind, network, operation) VALUES (?, ?, 0)
         ON CONFLICT DO NOTHING`,
        kind,
        this.#scope,
      ),
      // Null aborts the batch.
      statement(
        `UPDATE archive_operation SET operation = iif(operation = ?3, operation + 1, NULL)
         WHERE kind = ?1 AND network = ?2`,
        kind,
        this.#scope,
        operation,
      ),
      ...(isImmutable ? this.#deleteCopies(lastOperation) : this.#deleteRows(listed)),
      ...this.#tables.flatMap((table, i) =>
        insertRowTexts(
          table,
          records.flatMap(({ row, children }) => (i === 0 ? [row] : (children[i - 1] ?? []))),
          isImmutable && i === 0 ? { operation: operation + 1 } : {},
        ),
      ),
    ]);
    return database.bookmark();
  }

  /** What another session finds of the copies in the archive's primary. */
  async #readBack(archive: Archive, { records }: Portion): Promise<RecordText[]> {
    const listed = JSON.stringify(records.map(({ id }) => id));
    const { table } = this.#kind;
    const [own, ...children] = await archive.open({ deadline: this.#deadline }).batch([
      statement(
        `SELECT id, ${rowTextSql(table)} AS row FROM ${getTableConfig(table).name}
         WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`,
        listed,
      ),
      ...this.#selectChildren(listed),
    ]);
    return toRecordTexts((own as D1Result<{ id: string; row: string }>).results, children);
  }

  #deleteRows(listed: string): Statement[] {
    return this.#tables.map((table, i) =>
      statement(
        `DELETE FROM ${getTableConfig(table).name}
         WHERE ${i === 0 ? "id" : this.#kind.ownerColumn} IN (SELECT value FROM json_each(?))`,
        listed,
      ),
    );
  }

  /** Deletes the copies of moves that ended early, which the database still has. They would count from now on. */
  #deleteCopies(lastOperation: number): Statement[] {
    const { table, children, ownerColumn } = this.#kind;
    const { name } = getTableConfig(table);
    return [
      ...children.map((child) =>
        statement(
          `DELETE FROM ${getTableConfig(child).name} WHERE ${ownerColumn} IN (SELECT id FROM ${name} WHERE operation > ?)`,
          lastOperation,
        ),
      ),
      statement(`DELETE FROM ${name} WHERE operation > ?`, lastOperation),
    ];
  }

  #insertRange(archive: Archive): Statement {
    return statement(
      `INSERT INTO archive_range (kind, network, archive, operation, count, returned)
       VALUES (?, ?, ?, 0, 0, 0) ON CONFLICT DO NOTHING`,
      this.#kind.kind,
      this.#scope,
      archive.number,
    );
  }

  get #isFinalSql(): string {
    return this.#kind.isFinalSql(this.#now);
  }

  /**
   * Deletes the records of the portion, and says which archive has them. The batch aborts when one of them is
   * not as it was copied. Deletions come first, since a full database has room for nothing before them.
   */
  async #delete(
    archive: Archive,
    operation: number,
    bookmark: string | null,
    { records }: Portion,
  ): Promise<void> {
    const { kind, table, rangeColumns, revisionSql, isImmutable } = this.#kind;
    const { name } = getTableConfig(table);
    const range = [kind, this.#scope, archive.number];
    const listed = JSON.stringify(records.map(({ id }) => id));
    const read = JSON.stringify(records.map(({ id, revision }) => [id, revision]));
    await this.#open().batch([
      this.#insertRange(archive),
      // Null aborts the batch.
      statement(
        `UPDATE archive_range SET operation = NULL
         WHERE kind = ?1 AND network = ?2 AND archive = ?3
           AND (operation >= ?4 ${isImmutable ? "OR begun <> ?4" : ""} OR ?5 <> (
             SELECT count(*) FROM json_each(?6) AS moved
             JOIN ${name} ON ${name}.id = moved.value->>0
             WHERE ${revisionSql} = moved.value->>1 AND ${this.#isFinalSql}))`,
        ...range,
        operation,
        records.length,
        read,
      ),
      ...this.#deleteRows(listed),
      ...this.#kind.buildMoveStatements(
        archive.number,
        records.map(({ summary }) => summary),
      ),
      statement(
        `UPDATE archive_range SET operation = ?4, count = count + ?5, bookmark = ?6,
           ${Object.keys(rangeColumns)
             .flatMap((column, i) => buildRangeSql(column, `?${7 + i}`))
             .join(", ")}
         WHERE kind = ?1 AND network = ?2 AND archive = ?3`,
        ...range,
        operation,
        records.length,
        bookmark,
        ...Object.keys(rangeColumns).map((_, i) =>
          JSON.stringify(records.map(({ ranges }) => ranges[i])),
        ),
      ),
    ]);
  }
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

/** Puts rows of the child tables with their records. */
function toRecordTexts<Own extends { id: string; row: string }>(
  own: readonly Own[],
  children: readonly D1Result[],
): (Own & RecordText)[] {
  const byRecord = children.map(({ results }) =>
    Map.groupBy(results as { id: string; row: string }[], ({ id }) => id),
  );
  return own.map((record) => ({
    ...record,
    children: byRecord.map((rows) => (rows.get(record.id) ?? []).map(({ row }) => row)),
  }));
}

function isSame(copied: readonly RecordText[], records: readonly RecordText[]): boolean {
  const toText = (all: readonly RecordText[]) =>
    JSON.stringify(all.map(({ id, row, children }) => [id, row, children]));
  return toText(copied) === toText(records);
}
