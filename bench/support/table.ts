/** A row of figures by column name. */
export type Row = Record<string, string | number>;

/**
 * Rows as text in aligned columns, those of numbers to the right. A row may lack some. Numbers are shown with as many
 * digits as say something.
 */
export function formatTable(title: string, rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const columns = names.map((name) => {
    const whole = rows.every((row) => typeof row[name] !== "number" || Number.isInteger(row[name]));
    const cells = rows.map((row) => show(row[name], whole));
    const width = Math.max(name.length, ...cells.map((cell) => cell.length));
    const right = rows.every((row) => typeof row[name] !== "string");
    return [name, ...cells].map((cell) => (right ? cell.padStart(width) : cell.padEnd(width)));
  });
  const lines = [...rows.keys(), rows.length].map((line) =>
    columns
      .map((column) => column[line])
      .join("  ")
      .trimEnd(),
  );
  return [`\n${title}`, ...lines].join("\n");
}

function show(value: string | number | undefined, whole: boolean): string {
  if (typeof value !== "number") return value ?? "";
  return value.toFixed(whole || value >= 100 ? 0 : value >= 10 ? 1 : 2);
}
