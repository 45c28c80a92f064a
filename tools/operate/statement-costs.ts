/** What a statement of a migration takes at 10 GB, computed from the rows that it reads and writes in a sample. */
import { type MigrationStatement, PORTION_ROWS } from "./apply-migrations.ts";

/** D1 ends a statement after 30 seconds. */
export const MAX_STATEMENT_SECONDS = 20;

const DATABASE_BYTES = 10_000_000_000;

/**
 * Bytes for each row of a table that grows without a bound, with all that is stored beside the row. One feature
 * alone fills the database. The storage part of docs/benchmarks.md has most of them.
 */
const BYTES_PER_ROW: Record<string, number> = {
  audit: 600,
  dispute_proposal: 7_000,
  escrow: 6_300,
  escrow_action: 2_000,
  escrow_identity: 115,
  escrow_open: 9_700,
  escrow_request: 6_300,
  escrow_transaction: 1_800,
  escrow_undo: 1_800,
  event: 4_400,
  inbox_registration: 2_000,
  invoice_base: 4_000,
  invoice_document: 8_000,
  invoiced_payment: 1_000,
  registration: 3_000,
  registry_entry: 3_000,
  transfer: 2_000,
  wallet_transaction: 1_200,
  wallet_transaction_content: 4_000,
  webhook_delivery: 2_000,
  worker_bot_move: 400,
  x402_payment_attempt: 1_300,
  x402_settlement: 1_300,
};
/** Of every other table. */
const BOUNDED_ROWS = 100_000;

/**
 * Microseconds of a row: three times what `node tools/operate/measure-statements.ts` measured (1.4, 29.7 and 2.8) on
 * two virtual cores. An index of a larger `escrow` took three times as long in workerd.
 */
const READ_US = 4.2;
const WRITE_US = 89;
/** For an entry of a new index, when SQLite sorts `SORTED_ROWS` of them. */
const SORT_US = 8.4;
const SORTED_ROWS = 200_000;

/** What a statement did in a sample, as D1 counts it. */
export interface StatementCounts {
  rowsRead: number;
  rowsWritten: number;
  /** Rows that each table of the sample has. */
  tableRows: number;
}

/** Seconds that a statement takes at 10 GB; one in portions, for each of them. */
export function computeSeconds(
  { sql, portions }: MigrationStatement,
  { rowsRead, rowsWritten, tableRows }: StatementCounts,
): number {
  const [, table = ""] = TABLE_PATTERN.exec(sql) ?? [];
  const bytes = BYTES_PER_ROW[table];
  const rows = bytes === undefined ? BOUNDED_ROWS : DATABASE_BYTES / bytes;
  const touchedRows = portions === null ? rows : PORTION_ROWS;
  // What is less than the table does not grow with it, such as the rows of the schema.
  if (rowsRead + rowsWritten < tableRows) return 0;
  const isIndex = INDEX_PATTERN.test(sql);
  const writeUs = isIndex ? SORT_US * (Math.log2(rows) / Math.log2(SORTED_ROWS)) : WRITE_US;
  const perRow = (rowsRead * READ_US + rowsWritten * writeUs) / tableRows;
  return (touchedRows * perRow) / 1_000_000;
}

const INDEX_PATTERN = /^CREATE (?:UNIQUE )?INDEX/i;
/** The table whose rows decide how long the statement takes. */
const TABLE_PATTERN =
  /(?:^UPDATE(?: OR \w+)?|^ALTER TABLE|^DROP TABLE(?: IF EXISTS)?|^CREATE (?:UNIQUE )?INDEX \S+ ON|\bFROM)\s+[`"]?(\w+)/i;
