import { type Database, db } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { knownUnits } from "../../units/units.ts";
import { type ListQuery, listStatement } from "../list.ts";
import type { Side } from "../record.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../row.ts";
import { COLUMN_NAMES, cellsOf } from "./columns.ts";
import { csvLine } from "./text.ts";

/** Records that are read together. */
const READ_AT_ONCE = 500;

/** A file, and the id of its last record when more follow. */
export interface CsvFile {
  text: string;
  nextCursor: string | null;
}

/**
 * The records that a list's query asks for, as CSV: a header, and a line for each. When more follow, the
 * last line says so: a file that is cut has to say it by itself, since whoever opens it sees no header of
 * the answer.
 */
export async function csvFile(
  c: AppContext,
  session: Database,
  side: Side,
  query: ListQuery,
): Promise<CsvFile> {
  const core = db(c.env, undefined, { deadline: c.var.deadline });
  const units = new Map((await knownUnits(core)).map((unit) => [unit.unit, unit]));
  const lines = [csvLine(COLUMN_NAMES)];
  let cursorId = query.cursorId;
  for (let left = query.limit; ; ) {
    // One more tells whether any follow.
    const limit = Math.min(left, READ_AT_ONCE) + 1;
    const { sql, params } = listStatement(side, { ...query, cursorId, limit }, ESCROW_COLUMNS);
    const rows = await session.all<EscrowRow>(sql, ...params);
    const hasMore = rows.length === limit;
    for (const row of hasMore ? rows.slice(0, -1) : rows) {
      lines.push(csvLine(cellsOf(recordOfRow(row), units)));
      cursorId = row.id;
      left--;
    }
    if (!hasMore) return { text: lines.join(""), nextCursor: null };
    if (left === 0) break;
  }
  const note = `More follow: ask again with cursorId=${cursorId}`;
  lines.push(csvLine([note, ...COLUMN_NAMES.slice(1).map(() => null)]));
  return { text: lines.join(""), nextCursor: cursorId ?? null };
}
