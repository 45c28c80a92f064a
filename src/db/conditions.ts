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
