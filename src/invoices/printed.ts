import * as z from "zod";
import { text } from "../http/parameters.ts";

/**
 * Characters that a printed line must not contain. Control characters and line ends would begin other
 * lines. Format characters show bidirectional text in another order, or have no width and do not show
 * at all. The remaining classes are no characters.
 */
const NOT_PRINTED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]|\u034f/u;

/** A character as messages name it, `U+000A`. */
export function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The first character of a text that must not be in a line of print; null: there is none. */
export function unprintedIn(text: string): string | null {
  return NOT_PRINTED.exec(text)?.[0] ?? null;
}

/** A text; null when it is none, or nothing but white space. */
export function unlessBlank(text: string | null | undefined): string | null {
  return text?.trim() ? text : null;
}

/** A string of bounded length that is printed, or written into the XML, in one line. */
export function printed(max: number, min = 1) {
  return text(max, min)
    .refine((value) => unprintedIn(value) === null, {
      error: ({ input }) => {
        const found = typeof input === "string" ? unprintedIn(input) : null;
        return `has a character that cannot be printed (${found === null ? "" : codePointName(found)})`;
      },
    })
    .meta({ format: "printed-text" });
}

/** The same of a field that may be left out: a blank text counts as left out (`unlessBlank`). */
export function printedIfAny(max: number) {
  return printed(max, 0);
}

/** An e-mail address of a field that may be left out; a blank text counts as left out. */
export function emailIfAny(max: number) {
  return printedIfAny(max)
    .refine((value) => unlessBlank(value) === null || z.regexes.email.test(value), {
      error: "must be an e-mail address",
    })
    .meta({ wire: { type: "string", maxLength: max, pattern: z.regexes.email.source } });
}

/** The same of a field that no invoice is without. */
export function printedAlways(max: number) {
  return printed(max).regex(/\S/, "must not be blank");
}
