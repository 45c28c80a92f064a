/** D1 takes two megabytes in one parameter, and a party may make a record of tens of kilobytes. */
const MAX_PARAMETER_BYTES = 1_000_000;

/**
 * Joins texts of JSON to arrays, each short enough for one parameter: D1 counts its bytes, in UTF-8.
 *
 * @returns JSON arrays; none without texts
 */
export function joinJsonTexts(texts: readonly string[]): string[] {
  const parts: string[][] = [];
  let bytes = MAX_PARAMETER_BYTES;
  for (const text of texts) {
    const more = Buffer.byteLength(text);
    if (bytes + more > MAX_PARAMETER_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(text);
    bytes += more;
  }
  return parts.map((part) => `[${part.join(",")}]`);
}
