/** Applies migrations to a database that may be large: statement by statement, and large ones in portions. */
import { readdirSync, readFileSync } from "node:fs";

/** A database, as far as migrations need it. */
export interface MigratedDatabase {
  /** Runs statements in one transaction, and returns the rows of each. */
  run(statements: readonly string[]): Promise<Row[][]>;
}

export type Row = Record<string, unknown>;

/** A file of `migrations/`. */
export interface Migration {
  /** Of the file, such as `0001_currency.sql`. */
  name: string;
  sql: string;
}

/** A statement of a migration. */
export interface MigrationStatement {
  sql: string;
  /** How the statement is divided; null: it runs as a whole. */
  portions: { table: string; key: string } | null;
}

/** Rows of a portion. */
export const PORTION_ROWS = 5_000;

const BREAKPOINT = "--> statement-breakpoint";
const PORTIONS_PATTERN = /^-- portions: (\w+) by (\w+)$/m;
/** Where a portion's range goes. */
const PLACE_PATTERN = /\bTRUE\s*$/;

/** The initial migration meets an empty database, so it runs as a whole. */
const INITIAL_PATTERN = /^0000_/;

const SETUP = [
  // As wrangler creates it, so that `wrangler d1 migrations list` says the same.
  `CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE,
     applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`,
  // Of a migration that was begun: its next statement, and the last key that a portion of it has done.
  `CREATE TABLE IF NOT EXISTS migration_progress (name TEXT PRIMARY KEY, statement INTEGER NOT NULL,
     done_up_to, portion_up_to)`,
];

/**
 * Splits a migration at its breakpoints. A line `-- portions: escrow by id` above a statement has it run in
 * portions of the table `escrow`, in the order of its column `id`. Such a statement ends with `WHERE TRUE` or
 * `AND TRUE`. The range of the portion replaces `TRUE`.
 *
 * @throws Error for a statement in portions with another ending
 */
export function readStatements({ name, sql }: Migration): MigrationStatement[] {
  return sql.split(BREAKPOINT).flatMap((part): MigrationStatement[] => {
    const [, table, key] = PORTIONS_PATTERN.exec(part) ?? [];
    const text = part
      .replace(/^--.*$/gm, "")
      .trim()
      .replace(/;$/, "");
    if (text === "") return [];
    if (table === undefined || key === undefined) return [{ sql: text, portions: null }];
    if (!PLACE_PATTERN.test(text))
      throw new Error(`${name}: a statement in portions must end with TRUE: ${text}`);
    return [{ sql: text, portions: { table, key } }];
  });
}

/** Reads the migrations of a folder, in the order of their names. */
export function readMigrations(folder: URL): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return names.sort().map((name) => ({ name, sql: readFileSync(new URL(name, folder), "utf8") }));
}

/**
 * Applies the migrations that were not applied yet, in the order of their names. Each step is one transaction,
 * which also stores the progress. A stopped run therefore continues where it was. Nothing is done twice.
 *
 * @param report - receives a line for people after each step
 */
export async function applyMigrations(
  database: MigratedDatabase,
  migrations: readonly Migration[],
  report: (line: string) => void,
): Promise<void> {
  const [, , applied = [], begun = []] = await database.run([
    ...SETUP,
    "SELECT name FROM d1_migrations",
    "SELECT name, statement, done_up_to FROM migration_progress",
  ]);
  const isApplied = new Set(applied.map(({ name }) => name));
  for (const migration of migrations) {
    if (isApplied.has(migration.name)) continue;
    const own = begun.find(({ name }) => name === migration.name);
    if (INITIAL_PATTERN.test(migration.name))
      await database.run([
        ...readStatements(migration).map(({ sql }) => sql),
        ...finish(migration),
      ]);
    else await applySteps(database, migration, own, report);
    report(`${migration.name}: applied`);
  }
}

async function applySteps(
  database: MigratedDatabase,
  { name, sql }: Migration,
  begun: Row | undefined,
  report: (line: string) => void,
): Promise<void> {
  const statements = readStatements({ name, sql });
  const ofThis = `WHERE name = ${toLiteral(name)}`;
  let progress = begun ?? { statement: 0, done_up_to: null };
  if (!begun)
    await database.run([
      `INSERT INTO migration_progress VALUES (${toLiteral(name)}, 0, NULL, NULL)`,
    ]);
  for (;;) {
    const index = Number(progress.statement);
    const statement = statements[index];
    if (!statement) break;
    const upTo = toLiteral(progress.done_up_to);
    const results = await database.run([
      // Violates NOT NULL, and ends this transaction, when another run has come further.
      `UPDATE migration_progress
       SET statement = iif(statement = ${index} AND done_up_to IS ${upTo}, statement, NULL) ${ofThis}`,
      ...(statement.portions === null
        ? [statement.sql, `UPDATE migration_progress SET statement = ${index + 1} ${ofThis}`]
        : buildPortion(statement.sql, statement.portions, upTo, ofThis)),
      `SELECT statement, done_up_to FROM migration_progress ${ofThis}`,
    ]);
    progress = results.at(-1)?.[0] ?? {};
    const done = progress.done_up_to ?? null;
    const detail = done === null ? "" : `, up to ${String(done)}`;
    report(`${name}: statement ${index + 1} of ${statements.length}${detail}`);
  }
  await database.run(finish({ name }));
}

/** The statements that do the next portion. Above the last row there is none, and the statement is done. */
function buildPortion(
  sql: string,
  { table, key }: { table: string; key: string },
  doneUpTo: string,
  ofThis: string,
): string[] {
  const isAbove = doneUpTo === "NULL" ? "TRUE" : `${table}.${key} > ${doneUpTo}`;
  const last = `(SELECT portion_up_to FROM migration_progress ${ofThis})`;
  return [
    `UPDATE migration_progress SET portion_up_to = (SELECT max(${key}) FROM (
       SELECT ${key} FROM ${table} WHERE ${isAbove} ORDER BY ${key} LIMIT ${PORTION_ROWS})) ${ofThis}`,
    sql.replace(PLACE_PATTERN, () => `${isAbove} AND ${table}.${key} <= ${last}`),
    `UPDATE migration_progress SET statement = statement + (portion_up_to IS NULL),
       done_up_to = portion_up_to ${ofThis}`,
  ];
}

/** The statements that end a migration. */
function finish({ name }: Pick<Migration, "name">): string[] {
  return [
    `INSERT INTO d1_migrations (name) VALUES (${toLiteral(name)})`,
    `DELETE FROM migration_progress WHERE name = ${toLiteral(name)}`,
  ];
}

function toLiteral(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  return typeof value === "number" ? String(value) : `'${String(value).replaceAll("'", "''")}'`;
}
