/** Members of answers by their paths: pages name them as data. */

/** A member of an answer by its path, such as `NextAction.errorType`. */
export function valueAt(row: unknown, path: string): unknown {
  let value = row;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** A member that is a list; empty where there is none. */
export const arrayAt = (row: unknown, path: string): unknown[] =>
  (valueAt(row, path) ?? []) as unknown[];

/** Members as text, under other names. */
export function pickTexts(
  row: unknown,
  paths: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, textAt(row, path)]));
}

/** The same as text, empty where there is none. */
export function textAt(row: unknown, path: string): string {
  const value = valueAt(row, path);
  return value === undefined || value === null ? "" : String(value);
}
