/** What tells whether each write to a row that belongs to an escrow raises the escrow's revision in its batch. */

/** The tables of such rows: whoever copies an escrow copies them, and looks at the revision alone. */
const CHILD_TABLES = ["escrow_transaction", "escrow_action", "escrow_request"];

const buildTrigger = (table: string, when: string, row: "NEW" | "OLD", log: string) =>
  `CREATE TRIGGER log_${table}_${when.replace(/ .*/, "")} AFTER ${when} ON ${table}
   BEGIN INSERT INTO ${log} VALUES (${row}.${table === "escrow" ? "id" : "record_id"}); END`;

/** Makes tables and triggers that store which records and child rows a batch writes. */
export const LOG_WRITES_SQL: readonly string[] = [
  "CREATE TABLE child_write (id TEXT)",
  "CREATE TABLE revision_write (id TEXT)",
  ...CHILD_TABLES.flatMap((table) => [
    buildTrigger(table, "INSERT", "NEW", "child_write"),
    buildTrigger(table, "UPDATE", "NEW", "child_write"),
    buildTrigger(table, "DELETE", "OLD", "child_write"),
  ]),
  buildTrigger("escrow", "INSERT", "NEW", "revision_write"),
  buildTrigger("escrow", "DELETE", "OLD", "revision_write"),
  `CREATE TRIGGER log_escrow_UPDATE AFTER UPDATE OF revision ON escrow WHEN NEW.revision > OLD.revision
   BEGIN INSERT INTO revision_write VALUES (NEW.id); END`,
];

/** Before a batch. */
export const EMPTY_LOG_SQL: readonly string[] = [
  "DELETE FROM child_write",
  "DELETE FROM revision_write",
];

/** After a batch: the records of which it wrote a child row, and not the revision. */
export const UNRAISED_SQL =
  "SELECT DISTINCT id FROM child_write WHERE id NOT IN (SELECT id FROM revision_write)";

/** Whether a statement writes child rows. */
export const CHILD_WRITE_PATTERN = new RegExp(
  `\\b(?:INTO|UPDATE|FROM) (?:${CHILD_TABLES.join("|")})\\b`,
);
