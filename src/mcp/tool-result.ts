declare const TRUSTED: unique symbol;
declare const UNTRUSTED: unique symbol;

/** Bounded data of others; only `wrapUntrusted` makes it. */
export interface UntrustedData {
  readonly [UNTRUSTED]: true;
}

/** Text that the service wrote, or whose form leaves no room for a sentence. */
export type TrustedText = string & { readonly [TRUSTED]: true };

/** What a tool may answer: plain strings have no place in it, only beneath `wrapUntrusted`. */
export type ResultValue =
  | TrustedText
  | UntrustedData
  | number
  | boolean
  | null
  | undefined
  | readonly ResultValue[]
  | ToolResult;

/** The answer of a tool. */
export interface ToolResult {
  readonly [name: string]: ResultValue;
}

/** Text that stands in the source code. The compiler refuses a string that it does not know. */
export function trustLiteral<const Text extends string>(
  text: string extends Text ? never : Text,
): TrustedText {
  return text as unknown as TrustedText;
}

/** Forms of text in which nobody can write to a model. */
const TRUSTED_FORMATS = {
  /** A member of an enumeration of the service. */
  name: /^[A-Z][A-Za-z0-9]{0,39}$/,
  /** An id that the service made. */
  id: /^[0-9a-z-]{1,40}$/,
  /** A CAIP-2 id, or a network of the ledger. */
  network: /^(Preprod|Mainnet|[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32})$/,
  hex: /^([0-9a-fA-F]{2}){0,8192}$/,
  /** Minor units, or milliseconds. */
  digits: /^-?\d{1,80}$/,
  /** An address of an EVM chain. */
  evmAddress: /^0x[0-9a-fA-F]{40}$/,
  address: /^addr(_test)?1[02-9ac-hj-np-z]{20,130}$/,
} as const;
type TrustedFormat = keyof typeof TRUSTED_FORMATS;

/** Whether a text has a form. */
export function hasFormat(form: TrustedFormat, text: unknown): text is string {
  return typeof text === "string" && TRUSTED_FORMATS[form].test(text);
}

/**
 * Text of a form.
 *
 * @throws RangeError when the text has another form; the message does not quote it
 */
export function trustFormatted(form: TrustedFormat, text: string): TrustedText {
  if (!hasFormat(form, text)) throw new RangeError(`a text does not have the form ${form}`);
  return text as TrustedText;
}

/** A time, from Unix milliseconds, as ISO 8601. */
export function trustTime(milliseconds: number): TrustedText {
  return new Date(milliseconds).toISOString() as TrustedText;
}

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

/** A tool cannot do what it is asked; the message is for the model. */
export class ToolError extends Error {
  override name = "ToolError";
  readonly text: TrustedText;
  /** Of the service's answer, where the service refused the call. */
  readonly status: number | null;
  /** What others may have had a part in, such as values that a message of the service names. */
  readonly detail: UntrustedData | null;

  /** @param untrusted - becomes `detail` */
  constructor(text: TrustedText, untrusted: object | null = null, status: number | null = null) {
    super(text);
    this.text = text;
    this.status = status;
    this.detail = untrusted && wrapUntrusted(untrusted).untrusted_data;
  }
}
