import { eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";

/** Conditions of a WHERE, with numbered parameters. */
export class Conditions {
  readonly params: unknown[] = [];
  readonly #conditions: string[] = [];

  /**
   * Adds a condition, unless one of its values is undefined.
   *
   * @param condition - SQL with a `?` for each value
   */
  add(condition: string, ...values: unknown[]): void {
    if (!values.includes(undefined)) this.addNumbered(this.bindParameters(condition, values));
  }

  /** Adds a condition whose parameters are numbered already. */
  addNumbered(condition: string): void {
    this.#conditions.push(condition);
  }

  /** @returns SQL of the parameter, with its number */
  addParameter(value: unknown): string {
    this.params.push(value);
    return `?${this.params.length}`;
  }

  /** SQL with its parameters numbered among the others. */
  bindParameters(sql: string, params: readonly unknown[]): string {
    const numbered = params.map((value) => this.addParameter(value));
    return sql.replaceAll("?", () => numbered.shift() ?? "NULL");
  }

  toSql(): string {
    return this.#conditions.join(" AND ") || "TRUE";
  }
}

/** That a column has a value. Undefined, which `and` leaves out, where no value is given. */
export function equalsIfGiven(column: SQLiteColumn, value: string | undefined): SQL | undefined {
  return value === undefined ? undefined : eq(column, value);
}

/** That a column has one of some values, which are one parameter however many they are. */
export function isOneOf(column: SQLiteColumn, values: readonly string[]): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;
}
