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

/** A tool cannot do what it is asked; the message is for the model. */
export class ToolError extends Error {
  override name = "ToolError";
  readonly text: TrustedText;
  /** Of the service's answer, where the service refused the call. */
  readonly status: number | null;
  /** What others may have had a part in, such as values that a message of the service names. */
  readonly detail: UntrustedData | null;

  constructor(
    text: TrustedText,
    {
      status = null,
      detail = null,
    }: { status?: number | null; detail?: UntrustedData | null } = {},
  ) {
    super(text);
    this.text = text;
    this.status = status;
    this.detail = detail;
  }
}
