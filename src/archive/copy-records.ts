/** The archive's side of a move: copies are written there, and read back. */
import { getTableConfig } from "drizzle-orm/sqlite-core";
import { type Statement, statement } from "../db/client.ts";
import { log } from "../log.ts";
import type { ArchivedScope } from "./archive-tables.ts";
import { type LastCopy, selectLastCopies } from "./last-copies.ts";
import type { MovedKind } from "./moved-kind.ts";
import { type Archive, isBelowFilledShare } from "./open-archives.ts";
import { deleteRecords, type RecordText, selectChildTexts, toRecordTexts } from "./record-texts.ts";
import { insertRowTexts, rowTextSql } from "./row-text.ts";

/** What is copied, and until when a call may take, epoch milliseconds. */
export interface CopyOrder {
  kind: MovedKind;
  scope: ArchivedScope;
  deadline: number;
}

/** The first archive with room, and the last copies that it has. */
export async function findRoom(
  env: Parameters<typeof isBelowFilledShare>[0],
  archives: readonly Archive[],
  { scope, deadline }: CopyOrder,
): Promise<{ archive: Archive; lastCopies: readonly LastCopy[] } | null> {
  for (const archive of archives) {
    const [result] = (await archive
      .open({ deadline })
      .batch([selectLastCopies()])) as D1Result<LastCopy>[];
    const bytes = result?.meta.size_after ?? 0;
    if (isBelowFilledShare(env, bytes)) return { archive, lastCopies: result?.results ?? [] };
  }
  log("error", "archive.needed", { network: scope });
  return null;
}

/**
 * Replaces the archive's copies with all that belongs to them.
 *
 * @param operation - the archive's last one. Another one meanwhile aborts the batch.
 * @param lastOperation - of the last move that the database knows; 0: none
 * @returns the archive's bookmark after it
 */
export async function copyRecords(
  archive: Archive,
  { kind, scope, deadline }: CopyOrder,
  {
    operation,
    records,
    lastOperation,
  }: { operation: number; records: readonly RecordText[]; lastOperation: number },
): Promise<string | null> {
  const { isImmutable, addedColumns } = kind;
  const database = archive.open({ deadline });
  await database.batch([
    statement(
      `INSERT INTO archive_operation (kind, network, operation) VALUES (?, ?, 0)
       ON CONFLICT DO NOTHING`,
      kind.kind,
      scope,
    ),
    // Null aborts the batch.
    statement(
      `UPDATE archive_operation SET operation = iif(operation = ?3, operation + 1, NULL)
       WHERE kind = ?1 AND network = ?2`,
      kind.kind,
      scope,
      operation,
    ),
    ...(isImmutable
      ? deleteUncounted(kind, lastOperation)
      : deleteRecords(kind, JSON.stringify(records.map(({ id }) => id)))),
    ...insertRowTexts(
      kind.table,
      records.map(({ row }) => row),
      addedColumns,
      isImmutable ? { operation: operation + 1 } : {},
    ),
    ...kind.children.flatMap((table, i) =>
      insertRowTexts(
        table,
        records.flatMap(({ children }) => children[i] ?? []),
      ),
    ),
  ]);
  return database.bookmark();
}

/** Deletes the copies of moves that ended early, which the database still has. They would count from now on. */
function deleteUncounted(
  { table, children, ownerColumn }: MovedKind,
  lastOperation: number,
): Statement[] {
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

/** What another session finds of the copies in the archive's primary. */
export async function readCopies(
  archive: Archive,
  { kind, deadline }: CopyOrder,
  records: readonly RecordText[],
): Promise<RecordText[]> {
  const listed = JSON.stringify(records.map(({ id }) => id));
  const { table, addedColumns } = kind;
  const added = Object.fromEntries(Object.keys(addedColumns).map((name) => [name, name]));
  const [own, ...children] = await archive.open({ deadline }).batch([
    statement(
      `SELECT id, ${rowTextSql(table, added)} AS row FROM ${getTableConfig(table).name}
       WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`,
      listed,
    ),
    ...selectChildTexts(kind, listed),
  ]);
  return toRecordTexts((own as D1Result<{ id: string; row: string }>).results, children);
}
