/**
 * SHA-256 of a payload's canonical JSON, hex: the name under which a payment is settled once.
 * Canonical means keys sorted by UTF-16 code unit, no blanks, and format and private characters
 * escaped (so not RFC 8785, but what existing services of the kind compute).
 */
export async function payloadHash(payload: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(canonical(payload));
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
}

/** Characters that canonical JSON escapes beyond those that JSON must. */
const ESCAPED =
  /[\u007f-\u009f\u00ad\u0600-\u0604\u070f\u17b4\u17b5\u200c-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff0-\uffff]/g;

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object" || value === null) return String(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${quoted(name)}:${canonical(member)}`).join(",")}}`;
}

function quoted(text: string): string {
  return JSON.stringify(text).replace(
    ESCAPED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
