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
    if (values.includes(undefined)) return;
    let number = this.params.length;
    this.#conditions.push(condition.replaceAll("?", () => `?${++number}`));
    this.params.push(...values);
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
