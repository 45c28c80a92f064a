import { globSync, readFileSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { Statement } from "../../src/db/client.ts";
import type { WalletDatabase } from "../../src/wallets/spending/store/wallet.ts";
import { EMPTY_LOG_SQL, LOG_WRITES_SQL, UNRAISED_SQL } from "../support/child-writes.ts";
import { OBSERVE_EVENTS_SQL } from "../support/observer.ts";

const MIGRATIONS = globSync("migrations/*.sql")
  .sort()
  .map((file) => readFileSync(file, "utf8"));

/** A database with the service's tables, which answers as D1 does. */
export class ModelDatabase {
  readonly #file = new DatabaseSync(":memory:");
  readonly #prepared = new Map<string, StatementSync>();
  readonly #tables: readonly string[];

  /**
   * @param schema - statements that make more tables
   * @param tables - names of those that a story fills
   */
  constructor(schema: string, tables: readonly string[]) {
    this.#tables = tables;
    for (const migration of MIGRATIONS) this.#file.exec(migration);
    this.#file.exec(OBSERVE_EVENTS_SQL);
    this.#file.exec(schema);
    for (const sql of LOG_WRITES_SQL) this.#file.exec(sql);
    this.#withoutLists();
    for (const table of tables)
      this.#file.exec(`CREATE TABLE saved_${table} AS SELECT * FROM ${table}`);
  }

  /**
   * As a process sees it whose every step goes through `step`.
   *
   * @param repeats - whether the answer to each batch is lost, so that it is sent again
   */
  seenBy(step: <T>(run: () => T) => Promise<T>, repeats: boolean): WalletDatabase {
    return {
      all: (sql, ...params) => step(() => this.all(sql, ...params)),
      batch: (statements) =>
        step(() => {
          if (repeats) this.#batch(statements);
          return this.#batch(statements);
        }),
    };
  }

  all<Row>(sql: string, ...params: unknown[]): Row[] {
    const [text, bound] = withLimit(sql, params);
    return this.#prepare(text).all(...(bound as SQLInputValue[])) as Row[];
  }

  /** Rows as arrays, since a join may have two columns of one name. */
  raw(sql: string, ...params: unknown[]): unknown[][] {
    const [text, bound] = withLimit(sql, params);
    const prepared = this.#prepare(text);
    prepared.setReturnArrays(true);
    try {
      return prepared.all(...(bound as SQLInputValue[])) as unknown as unknown[][];
    } finally {
      prepared.setReturnArrays(false);
    }
  }

  run(sql: string, ...params: unknown[]): void {
    this.#prepare(sql).run(...(params as SQLInputValue[]));
  }

  /** Begins anew, with nothing saved. */
  empty(): void {
    for (const table of this.#tables) {
      this.run(`DELETE FROM ${table}`);
      this.run(`DELETE FROM saved_${table}`);
    }
  }

  /** Keeps the database as it is now. */
  save(): void {
    for (const table of this.#tables) {
      this.run(`DELETE FROM saved_${table}`);
      this.run(`INSERT INTO saved_${table} SELECT * FROM ${table}`);
    }
  }

  /** Sets the database back to what was saved last, or to nothing. */
  restore(): void {
    for (const table of this.#tables) {
      this.run(`DELETE FROM ${table}`);
      this.run(`INSERT INTO ${table} SELECT * FROM saved_${table}`);
    }
  }

  /** Without the indexes that only lists and reports read by: they make each write take much longer. */
  #withoutLists(): void {
    const indexes = this.all<{ name: string }>(
      `SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'escrow'
       AND (sql LIKE '%(\`side\`,\`network\`%' OR name LIKE 'escrow_bill%' OR name LIKE 'escrow_wallet_%')
         AND sql NOT LIKE '%UNIQUE%' AND name <> 'escrow_changed'`,
    );
    for (const { name } of indexes) this.#file.exec(`DROP INDEX ${name}`);
  }

  /** @throws Error also if the batch writes what belongs to an escrow without raising the escrow's revision */
  #batch(statements: readonly Statement[]): D1Result[] {
    this.#file.exec("BEGIN");
    try {
      for (const sql of EMPTY_LOG_SQL) this.all(sql);
      const results = statements.map(({ sql, params }) => ({ results: this.all(sql, ...params) }));
      if (this.all(UNRAISED_SQL).length > 0) throw new Error("a revision was not raised");
      this.#file.exec("COMMIT");
      return results as D1Result[];
    } catch (error) {
      this.#file.exec("ROLLBACK");
      throw new Error(`D1_ERROR: ${error instanceof Error ? error.message : error}`);
    }
  }

  #prepare(sql: string): StatementSync {
    const known = this.#prepared.get(sql) ?? this.#file.prepare(sql);
    this.#prepared.set(sql, known);
    return known;
  }
}

/** The last parameter of a query, or of one in parentheses at its end. */
const LIMIT = /LIMIT \?(\)?)$/;

/** SQLite compiles a statement anew whenever a limit is bound, which takes longer than most reads. */
function withLimit(sql: string, params: readonly unknown[]): [string, readonly unknown[]] {
  const limit = params.at(-1);
  if (!LIMIT.test(sql) || !Number.isSafeInteger(limit)) return [sql, params];
  return [sql.replace(LIMIT, `LIMIT ${limit}$1`), params.slice(0, -1)];
}
