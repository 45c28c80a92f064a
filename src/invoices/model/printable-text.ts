import * as z from "zod";
import { textParameter } from "../../http/openapi/parameters.ts";

/**
 * Characters that a printed line must not contain. Control characters and line ends would begin other
 * lines. Format characters show bidirectional text in another order, or have no width and do not show
 * at all. The remaining classes are no characters.
 */
const UNPRINTABLE_CHARACTER = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]|\u034f/u;

/** A character as messages name it, `U+000A`. */
export function formatCodePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The first character of a text that must not be in a line of print; null: there is none. */
export function findUnprintableCharacter(text: string): string | null {
  return UNPRINTABLE_CHARACTER.exec(text)?.[0] ?? null;
}

/** A text; null when it is none, or nothing but white space. */
export function nullIfBlank(text: string | null | undefined): string | null {
  return text?.trim() ? text : null;
}

/** A string of bounded length that is printed, or written into the XML, in one line. */
export function printableText(max: number, min = 1) {
  return textParameter(max, min)
    .refine((value) => findUnprintableCharacter(value) === null, {
      error: ({ input }) => {
        const found = typeof input === "string" ? findUnprintableCharacter(input) : null;
        return `has a character that cannot be printed (${found === null ? "" : formatCodePoint(found)})`;
      },
    })
    .meta({ format: "printed-text" });
}

/** The same of a field that may be left out: a blank text counts as left out (`nullIfBlank`). */
export function optionalText(max: number) {
  return printableText(max, 0);
}

/** An e-mail address of a field that may be left out; a blank text counts as left out. */
export function optionalEmail(max: number) {
  return optionalText(max)
    .refine((value) => nullIfBlank(value) === null || z.regexes.email.test(value), {
      error: "must be an e-mail address",
    })
    .meta({ wire: { type: "string", maxLength: max, pattern: z.regexes.email.source } });
}

/** The same of a field that no invoice is without. */
export function requiredText(max: number) {
  return printableText(max).regex(/\S/, "must not be blank");
}
