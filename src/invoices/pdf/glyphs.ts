import { ApiError } from "../../http/errors.ts";
import { loadFontkit } from "../../packages.ts";
import { formatCodePoint } from "../model/printable-text.ts";
import type { FontFiles } from "./fonts.ts";

/** Text as it is typeset: composed letters, plain spaces, no line ends except `\n`. */
export function toPrintable(text: string): string {
  return text
    .normalize("NFC")
    .replace(/\r\n?/g, "\n")
    .replace(/[\t\u2028\u2029]/g, " ")
    .trim();
}

/**
 * Text that is correct with glyphs simply in sequence. Other scripts need shaping, and so do marks that
 * compose with no letter, even in these scripts.
 */
const SIMPLE_SCRIPT_PATTERN =
  /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}]$/u;
const MARK_OR_INVISIBLE_PATTERN = /^[\p{M}\p{Cc}\p{Cf}]$/u;

/**
 * Refuses text for which the fonts have no glyph.
 *
 * @param fields - text by the name of its field
 * @throws ApiError 400 naming the field and the character
 */
export async function requireGlyphs(
  fields: Iterable<readonly [field: string, text: string]>,
  fonts: FontFiles,
): Promise<void> {
  for (const [field, text] of fields) {
    const character = await findMissingGlyph(text, fonts);
    if (character !== null)
      throw new ApiError(
        400,
        `${field}: has a character that cannot be printed (${formatCodePoint(character)})`,
      );
  }
}

/** The first character of a text that the fonts cannot show as it should be; null: there is none. */
export async function findMissingGlyph(text: string, fonts: FontFiles): Promise<string | null> {
  const known = await readCharacterSet(fonts.regular);
  for (const character of toPrintable(text)) {
    const code = character.codePointAt(0) ?? 0;
    const isSet =
      character === "\n" ||
      (SIMPLE_SCRIPT_PATTERN.test(character) &&
        !MARK_OR_INVISIBLE_PATTERN.test(character) &&
        known.has(code));
    if (!isSet) return character;
  }
  return null;
}

let cachedCharacterSet: { font: Uint8Array; characters: Set<number> } | null = null;

/** The code points of a font; both faces have the same. */
async function readCharacterSet(font: Uint8Array): Promise<Set<number>> {
  if (cachedCharacterSet?.font !== font) {
    const fontkit = await loadFontkit();
    const parsed = fontkit.create(font as Parameters<typeof fontkit.create>[0]);
    if (!("characterSet" in parsed)) throw new Error("a font collection is no font");
    cachedCharacterSet = { font, characters: new Set(parsed.characterSet) };
  }
  return cachedCharacterSet.characters;
}
