import * as z from "zod";

const MAX_MESSAGE_LENGTH = 1000;

const ERROR = z.object({ message: z.string() });

/**
 * The text of an error's body: its `message`, else all of it. It is as long as the answer: what it means may
 * stand at its end, behind all tokens of a wallet. Shorten what is kept of it.
 */
export function messageOf(text: string): string {
  const parsed = ERROR.safeParse(jsonOf(text));
  return parsed.success ? parsed.data.message : text;
}

/** Undefined when the text is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A text as it is stored or logged. */
export function shorten(text: string): string {
  return text.slice(0, MAX_MESSAGE_LENGTH);
}
