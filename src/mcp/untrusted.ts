import type { AnswerObject, UntrustedData } from "./answer-value.ts";

/** Longer texts of strangers are cut. */
const MAX_TEXT_LENGTH = 2_000;
const MAX_ITEMS = 100;
const MAX_DEPTH = 12;

/**
 * What steers a reader without being seen: control characters, marks of direction, characters without
 * width, and the tags of plane 14.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * What a stranger has written, for a model to read: plain JSON of bounded size, under a name that says
 * whose it is.
 */
export function wrapUntrusted(value: unknown): { untrusted_data: UntrustedData } {
  return { untrusted_data: bounded(value, 0) as UntrustedData };
}

function bounded(value: unknown, depth: number): unknown {
  if (typeof value === "string") return plain(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) return "…";
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((one) => bounded(one, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MAX_ITEMS)
      .map(([name, part]) => [plain(name), bounded(part, depth + 1)]),
  );
}

function plain(text: string): string {
  const seen = text.replace(/[\n\r\t]+/g, " ").replace(UNSEEN, "");
  return seen.length > MAX_TEXT_LENGTH ? `${seen.slice(0, MAX_TEXT_LENGTH)}…` : seen;
}

/**
 * JSON in which nothing can be taken for markup or for the end of what it stands in.
 */
export function toEscapedJson(value: AnswerObject): string {
  return JSON.stringify(value, null, 1).replace(
    /[<>&]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
