/** Where a text stops being JSON. */
interface JsonError {
  /** From 1. */
  line: number;
  /** From 1, in characters, not in UTF-16 code units. */
  column: number;
  /** Whether the text ends before its value does. */
  isCutOff: boolean;
}

/**
 * Finds the first character that no JSON text (RFC 8259) can have where it stands; null: it is JSON.
 * `JSON.parse` tells the position of some errors only.
 */
export function findJsonError(text: string): JsonError | null {
  const at = findErrorIndex(text);
  if (at === null) return null;
  const lines = text.slice(0, at).split(/\r\n|[\r\n]/);
  const column = [...(lines.at(-1) ?? "")].length + 1;
  return { line: lines.length, column, isCutOff: at === text.length };
}

/** What can be next besides space; `end` is the end of an item, a field or the text. */
type ExpectedToken = "value" | "item or ]" | "name or }" | "name" | "colon" | "end";

function findErrorIndex(text: string): number | null {
  const open: ("[" | "{")[] = [];
  let next: ExpectedToken = "value";
  let at = skipWhitespace(text, 0);
  while (at < text.length) {
    const character = text[at];
    const inside = open.at(-1);
    let token: Token = { end: at + 1, isComplete: true };
    if (next === "end" && character === "," && inside) next = inside === "[" ? "value" : "name";
    else if (character === "]" && inside === "[" && (next === "end" || next === "item or ]")) {
      open.pop();
      next = "end";
    } else if (character === "}" && inside === "{" && (next === "end" || next === "name or }")) {
      open.pop();
      next = "end";
    } else if (next === "end") return at;
    else if (next === "colon") {
      if (character !== ":") return at;
      next = "value";
    } else if (next === "name" || next === "name or }") {
      if (character !== '"') return at;
      token = readString(text, at);
      next = "colon";
    } else if (character === "[" || character === "{") {
      open.push(character);
      next = character === "[" ? "item or ]" : "name or }";
    } else {
      token = character === '"' ? readString(text, at) : readNumberOrLiteral(text, at);
      next = "end";
    }
    if (!token.isComplete) return token.end;
    at = skipWhitespace(text, token.end);
  }
  return next === "end" && open.length === 0 ? null : text.length;
}

/** A part of a text. Where it is not whole, its end is the place of the error. */
interface Token {
  end: number;
  isComplete: boolean;
}

const WHITESPACE_PATTERN = /[ \t\n\r]*/y;
const NUMBER_PATTERN = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** The longest text that can become a number. */
const NUMBER_PREFIX_PATTERN = /-?(?:(?:0|[1-9]\d*)(?:\.\d*)?(?:(?<=\d)[eE][+-]?\d*)?)?/y;
const LITERALS = ["true", "false", "null"];

function skipWhitespace(text: string, at: number): number {
  return at + matchAt(WHITESPACE_PATTERN, text, at).length;
}

function readNumberOrLiteral(text: string, at: number): Token {
  const word = LITERALS.find((one) => one[0] === text[at]);
  if (word === undefined) {
    const number = matchAt(NUMBER_PREFIX_PATTERN, text, at);
    return { end: at + number.length, isComplete: NUMBER_PATTERN.test(number) };
  }
  let length = 0;
  while (length < word.length && text[at + length] === word[length]) length++;
  return { end: at + length, isComplete: length === word.length };
}

function readString(text: string, at: number): Token {
  for (let i = at + 1; i < text.length; i++) {
    const character = text[i] ?? "";
    if (character === '"') return { end: i + 1, isComplete: true };
    if (character < " ") return { end: i, isComplete: false };
    if (character !== "\\") continue;
    const escaped = matchAt(/["\\/bfnrt]|u[0-9a-fA-F]{0,4}/y, text, i + 1);
    i += escaped.length;
    if (escaped === "" || (escaped.startsWith("u") && escaped.length < 5))
      return { end: i + 1, isComplete: false };
  }
  return { end: text.length, isComplete: false };
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}
