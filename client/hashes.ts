/**
 * The hash of a job's input that quotes name (MIP-004): SHA-256 of `identifierFromPurchaser`, `;`
 * and the input as canonical JSON (RFC 8785), in hex.
 *
 * Python clients that use `canonicaljson` write some numbers differently (`1.0`, `1e-07`) and sort
 * members by code point. For such inputs the two sides have different hashes; use a string instead.
 *
 * @throws TypeError for a number that JSON does not have
 */
export function hashInput(identifierFromPurchaser: string, input: unknown): Promise<string> {
  return sha256Hex(`${identifierFromPurchaser};${canonicalJson(input)}`);
}

/**
 * `escaped`: the output as a JSON string without its quotes, as clients do. `raw`: as it is, as the text
 * of MIP-004 says. They differ as soon as the output has a line break, a quote or a backslash.
 */
export type ResultForm = "escaped" | "raw";

/**
 * The hash of a job's result (MIP-004): SHA-256 of `identifierFromPurchaser`, `;` and the output, in
 * hex.
 */
export function hashResult(
  identifierFromPurchaser: string,
  output: string,
  form: ResultForm = "escaped",
): Promise<string> {
  const text = form === "raw" ? output : JSON.stringify(output).slice(1, -1);
  return sha256Hex(`${identifierFromPurchaser};${text}`);
}

/** Whether a result hash is that of an output, in either form. */
export async function matchesResult(
  resultHash: string,
  identifierFromPurchaser: string,
  output: string,
): Promise<boolean> {
  const hash = resultHash.toLowerCase();
  return (
    hash === (await hashResult(identifierFromPurchaser, output)) ||
    hash === (await hashResult(identifierFromPurchaser, output, "raw"))
  );
}

/** RFC 8785, whose numbers and strings are those of `JSON.stringify` and whose order is by UTF-16 unit. */
function canonicalJson(value: unknown): string {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new TypeError(`${value} is no number of JSON`);
  if (Array.isArray(value)) return `[${value.map((one) => canonicalJson(one ?? null)).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join()}}`;
}

async function sha256Hex(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
