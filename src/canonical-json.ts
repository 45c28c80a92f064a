/**
 * JSON without white space and with every object's keys sorted by code unit: equal values have the
 * same text. Undefined members are omitted.
 *
 * @param value - any value that JSON can represent
 * @param quoted - encodes a string
 */
export function toCanonicalJson(
  value: unknown,
  quoted: (text: string) => string = JSON.stringify,
): string {
  if (Array.isArray(value))
    return `[${value.map((item) => toCanonicalJson(item, quoted)).join(",")}]`;
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${quoted(name)}:${toCanonicalJson(member, quoted)}`);
  return `{${members.join(",")}}`;
}
