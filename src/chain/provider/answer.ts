import * as z from "zod";

const LONGEST_MESSAGE = 1000;

const ERROR = z.object({ message: z.string() });

/** The text of an error's body, truncated for display: its `message`, else all of it. */
export function messageOf(text: string): string {
  const parsed = ERROR.safeParse(jsonOf(text));
  return shorten(parsed.success ? parsed.data.message : text);
}

/** Undefined when the text is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function shorten(text: string): string {
  return text.slice(0, LONGEST_MESSAGE);
}
