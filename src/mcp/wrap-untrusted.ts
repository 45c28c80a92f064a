import type { ToolResult, UntrustedData } from "./tool-result.ts";

/** Longer texts of strangers are cut. */
const MAX_TEXT_LENGTH = 2_000;
const MAX_ITEMS = 100;
const MAX_DEPTH = 12;

/**
 * What steers a reader without being seen: control characters, marks of direction, characters without
 * width, and the tags of plane 14.
 */
const INVISIBLE_CHARACTERS =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * What a stranger has written, for a model to read: plain JSON of bounded size, under a name that says
 * whose it is.
 */
export function wrapUntrusted(value: unknown): { untrusted_data: UntrustedData } {
  return { untrusted_data: limitValue(value, 0) as UntrustedData };
}

function limitValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return sanitizeText(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) return "…";
  if (Array.isArray(value))
    return value.slice(0, MAX_ITEMS).map((one) => limitValue(one, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MAX_ITEMS)
      .map(([name, part]) => [sanitizeText(name), limitValue(part, depth + 1)]),
  );
}

function sanitizeText(text: string): string {
  const seen = text.replace(/[\n\r\t]+/g, " ").replace(INVISIBLE_CHARACTERS, "");
  return seen.length > MAX_TEXT_LENGTH ? `${seen.slice(0, MAX_TEXT_LENGTH)}…` : seen;
}

/**
 * JSON in which nothing can be taken for markup or for the end of what it stands in.
 */
export function toEscapedJson(value: ToolResult): string {
  return JSON.stringify(value, null, 1).replace(
    /[<>&]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
