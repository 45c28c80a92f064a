/** Codes that are no entries: a character of 8 or of 16 bits follows, or the text ends. */
const CODES = { character8: 0, character16: 1, end: 2 };
const FIRST_ENTRY = 3;

/** A part of the text that a code repeats. */
interface Entry {
  start: number;
  length: number;
}

/**
 * Decompresses what `compressToUint8Array` of lz-string compresses. The function of the library has
 * no bound, and a text can be hundreds of times as long as its compressed bytes.
 *
 * @param maxLength - of the text, in UTF-16 code units; memory and time stay proportional to it
 * @returns null when the bytes are malformed, or the text is longer
 */
export function decompressLz(bytes: Uint8Array, maxLength: number): string | null {
  const characters: string[] = [];
  const entries: Entry[] = [];
  const read = bitReader(bytes);
  let previous: Entry | null = null;
  for (;;) {
    // As many bits as the largest code needs, which is that of `next`.
    const code = read((entries.length + FIRST_ENTRY).toString(2).length);
    if (code === null) return null;
    if (code === CODES.end) return characters.join("");
    const start = characters.length;
    // Becomes an entry with this code: the previous part, and the first character of this one.
    const next: Entry | null = previous && { start: previous.start, length: previous.length + 1 };
    let entry: Entry | null | undefined;
    if (code < FIRST_ENTRY) {
      const character = read(code === CODES.character8 ? 8 : 16);
      if (character === null || start === maxLength) return null;
      characters.push(String.fromCharCode(character));
      entry = { start, length: 1 };
      entries.push(entry);
    } else {
      const index = code - FIRST_ENTRY;
      entry = index === entries.length ? next : entries[index];
      if (!entry || start + entry.length > maxLength) return null;
      // One by one: `next` ends with a character that is pushed here.
      for (let i = 0; i < entry.length; i++) characters.push(characters[entry.start + i] ?? "");
    }
    if (next) entries.push(next);
    previous = { start, length: entry.length };
  }
}

/** Reads numbers whose lowest bit comes first from bytes whose highest bit comes first. */
function bitReader(bytes: Uint8Array): (count: number) => number | null {
  let offset = 0;
  return (count) => {
    if (offset + count > bytes.length * 8) return null;
    let value = 0;
    for (let i = 0; i < count; i++, offset++)
      value |= (((bytes[offset >> 3] ?? 0) >> (7 - (offset & 7))) & 1) << i;
    return value;
  };
}
