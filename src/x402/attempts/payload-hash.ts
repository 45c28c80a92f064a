import { canonicalJson } from "../../canonical-json.ts";

/**
 * SHA-256 of a payload's canonical JSON, hex: the name under which a payment is settled once.
 * Canonical means keys sorted by UTF-16 code unit, no whitespace, and format and private-use
 * characters escaped (not RFC 8785, but what existing such services compute).
 */
export async function payloadHash(payload: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalJson(payload, quoted));
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
}

/** Characters that canonical JSON escapes in addition to JSON's own. */
const ESCAPED =
  /[\u007f-\u009f\u00ad\u0600-\u0604\u070f\u17b4\u17b5\u200c-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff0-\uffff]/g;

function quoted(text: string): string {
  return JSON.stringify(text).replace(
    ESCAPED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
