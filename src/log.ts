/**
 * Writes one structured line. `fields` never hold a secret: no token, key, mnemonic or webhook URL.
 */
export function log(
  level: "info" | "warn" | "error",
  event: string,
  fields: Record<string, unknown> = {},
): void {
  console[level](JSON.stringify({ event, ...fields }));
}
