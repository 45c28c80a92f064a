import { globSync, readFileSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";

interface Prepared {
  sql: string;
  params: unknown[];
}

const WRITES = /^\s*(insert|update|delete|replace)\b/i;

const toBookmark = (commit: number) => `${commit.toString(16).padStart(8, "0")}-00000000`;

/**
 * A D1 in memory with read replicas, as Cloudflare describes them. A replica shows the database after one of its
 * commits. The calls of a session see the commit of its bookmark or a later one, and never an earlier one than
 * the call before. Only the first call of a session can be bound to the primary.
 */
export class ReplicatedSqlite {
  readonly #migrations: string;
  readonly #primary: SqliteFile;
  /** By the commits that each is behind. */
  readonly #replicas = new Map<number, { file: SqliteFile; commits: number }>();
  #commits: (readonly Prepared[])[] = [];
  /** By commits that made the database what an earlier commit had made it, the earlier one. */
  readonly #restored = new Map<number, number>();
  /** Commits that the replicas are behind. */
  lag = 0;

  /** @param migrations - folder of the tables */
  constructor(migrations: string) {
    this.#migrations = migrations;
    this.#primary = new SqliteFile(migrations);
  }

  /** Begins anew. */
  empty(): void {
    this.lag = 0;
    this.#commits = [];
    this.#restored.clear();
    this.#primary.empty();
    for (const replica of this.#replicas.values()) {
      if (replica.commits === 0) continue;
      replica.commits = 0;
      replica.file.empty();
    }
  }

  /** How many commits it has. */
  get commits(): number {
    return this.#commits.length;
  }

  /** Makes the database what it was after so many commits. This is a commit, too. */
  restore(commits: number): void {
    const statements = this.#replicaAt(commits).dump();
    this.#primary.batch(statements);
    this.#commits.push(statements);
    this.#restored.set(this.#commits.length, commits);
  }

  /** Makes the database what it was before the last so many of the commits that led to what it is. */
  setBack(commits: number): void {
    let target = this.#commits.length;
    for (let i = 0; i < commits; i++) {
      while (this.#restored.has(target)) target = this.#restored.get(target) ?? 0;
      target = Math.max(target - 1, 0);
    }
    this.restore(target);
  }

  /** Rows of the primary. */
  all<Row>(sql: string, ...params: unknown[]): Row[] {
    return this.#primary.all({ sql, params }) as Row[];
  }

  /** The database to bind. */
  readonly d1 = this.#bind();

  #bind(): D1Database {
    const open = (where: string) => {
      let isAtPrimary = where === "first-primary";
      let seen =
        /^[0-9a-f]/.test(where) && !isAtPrimary && !where.startsWith("first")
          ? Number.parseInt(where, 16)
          : 0;
      const run = <T>(statements: readonly Prepared[], read: (file: SqliteFile) => T): T => {
        const isWrite = statements.some(({ sql }) => WRITES.test(sql));
        if (isWrite || isAtPrimary) {
          const result = read(this.#primary);
          if (isWrite) this.#commits.push(statements);
          isAtPrimary = false;
          seen = this.#commits.length;
          return result;
        }
        seen = Math.max(seen, this.#commits.length - this.lag, 0);
        return read(this.#replicaAt(seen));
      };
      return { ...prepareWith(run), getBookmark: () => toBookmark(seen) };
    };
    const always = <T>(statements: readonly Prepared[], read: (file: SqliteFile) => T) => {
      const result = read(this.#primary);
      if (statements.some(({ sql }) => WRITES.test(sql))) this.#commits.push(statements);
      return result;
    };
    return {
      ...prepareWith(always),
      withSession: (where = "first-unconstrained") => open(where),
    } as unknown as D1Database;
  }

  /** A replica that has exactly so many commits. */
  #replicaAt(commits: number): SqliteFile {
    const behind = this.#commits.length - commits;
    const known = this.#replicas.get(behind);
    const replica = known ?? { file: new SqliteFile(this.#migrations), commits: 0 };
    this.#replicas.set(behind, replica);
    for (; replica.commits < commits; replica.commits++)
      replica.file.batch(this.#commits[replica.commits] ?? []);
    return replica.file;
  }
}

/** Statements of a binding. @param run - has what is to be run, and a database to run it in */
function prepareWith(
  run: <T>(statements: readonly Prepared[], read: (file: SqliteFile) => T) => T,
) {
  const toResult = (results: unknown[]) => ({ results, success: true, meta: { size_after: 0 } });
  const prepare = (sql: string, params: unknown[] = []) => {
    const one = { sql, params };
    const all = async () => toResult(run([one], (file) => file.batch([one])[0] ?? []));
    return {
      ...one,
      bind: (...bound: unknown[]) => prepare(sql, bound),
      all,
      run: all,
      raw: async () => run([one], (file) => file.raw(one)),
    };
  };
  const batch = async (statements: readonly Prepared[]) =>
    run(statements, (file) => file.batch(statements)).map(toResult);
  return { prepare: (sql: string) => prepare(sql), batch };
}

/** A database in memory that answers as D1 does. */
class SqliteFile {
  readonly #file = new DatabaseSync(":memory:");
  readonly #prepared = new Map<string, StatementSync>();
  readonly #tables: readonly string[];

  constructor(migrations: string) {
    for (const path of globSync(`${migrations}/*.sql`).sort())
      this.#file.exec(readFileSync(path, "utf8"));
    this.#tables = this.all<{ name: string }>({
      sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'webhook_subscription'",
      params: [],
    }).map(({ name }) => name);
  }

  empty(): void {
    for (const name of this.#tables) this.#file.exec(`DELETE FROM "${name}"`);
  }

  all<Row>({ sql, params }: Prepared): Row[] {
    return this.#prepare(sql).all(...params.map(toInput)) as Row[];
  }

  raw({ sql, params }: Prepared): unknown[][] {
    const prepared = this.#prepare(sql);
    prepared.setReturnArrays(true);
    try {
      return prepared.all(...params.map(toInput)) as unknown as unknown[][];
    } finally {
      prepared.setReturnArrays(false);
    }
  }

  /** All statements, or none. */
  batch(statements: readonly Prepared[]): unknown[][] {
    this.#file.exec("BEGIN");
    try {
      const results = statements.map((one) => this.all(one));
      this.#file.exec("COMMIT");
      return results;
    } catch (error) {
      this.#file.exec("ROLLBACK");
      throw new Error(`D1_ERROR: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** The statements that make another database what this one is. */
  dump(): Prepared[] {
    return this.#tables.flatMap((name) => [
      { sql: `DELETE FROM "${name}"`, params: [] },
      ...this.all<Record<string, unknown>>({ sql: `SELECT * FROM "${name}"`, params: [] }).map(
        (row) => ({
          sql: `INSERT INTO "${name}" (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => "?")})`,
          params: Object.values(row),
        }),
      ),
    ]);
  }

  #prepare(sql: string): StatementSync {
    const known = this.#prepared.get(sql) ?? this.#file.prepare(sql);
    this.#prepared.set(sql, known);
    return known;
  }
}

const toInput = (value: unknown) =>
  (typeof value === "boolean" ? Number(value) : value) as SQLInputValue;
