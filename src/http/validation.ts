import * as z from "zod";
import { ApiError } from "./errors.ts";
import { toInternalNames } from "./names/translate.ts";
import { findKnownNames, suggestName } from "./suggest-name.ts";

/** Problems beyond this number are counted, not listed. */
const MAX_LISTED_PROBLEMS = 5;
const MAX_NAME_LENGTH = 60;

/** Stands in a query object for a parameter sent more than once, which no schema accepts. */
export const REPEATED_PARAMETER = Symbol("sent more than once");

z.config({ localeError: (issue) => describeIssue(issue) });

/**
 * Parses a value by a schema, with either spelling of names. Unknown fields are dropped, unless the
 * schema is strict.
 *
 * @param whole - name of the value itself (`body`, `query`) in errors
 * @throws ApiError 400 with `field: why`, one sentence for each field, joined by `; `
 */
export async function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  whole: string,
): Promise<z.output<Schema>> {
  const given = toInternalNames(schema, value);
  const result = await schema.safeParseAsync(given);
  if (result.success) return result.data;
  // A field's first problem is about its type; its bounds and form mean nothing after that.
  const first = new Map<string, Issue>();
  for (const issue of findFieldIssues(result.error.issues, given)) {
    const field = formatFieldPath(issue.path) || whole;
    if (!first.has(field)) first.set(field, issue);
  }
  const listed = [...first]
    .slice(0, MAX_LISTED_PROBLEMS)
    .map(([field, issue]) => {
      const message = isRepeated(value, issue.path) ? REPEATED_MESSAGE : issue.message;
      return `${field}: ${message}${describeNearestName(schema, given, issue)}`;
    })
    .join("; ");
  const rest = first.size - MAX_LISTED_PROBLEMS;
  const [field = whole] = first.keys();
  throw new ApiError(400, rest > 0 ? `${listed}; and ${rest} more` : listed, { field });
}

/** For an unknown field: which of the fields that were not sent has the nearest name. */
function describeNearestName(schema: z.ZodType, value: unknown, issue: Issue): string {
  const sent = issue.path.at(-1);
  if (!isUnknownFieldIssue(issue) || typeof sent !== "string") return "";
  const path = issue.path.slice(0, -1);
  const object = Object(valueAt(value, path));
  const missing = [...findKnownNames(schema, path)].filter((name) => !Object.hasOwn(object, name));
  const nearest = suggestName(sent, missing);
  return nearest === null ? "" : ` (did you mean \`${nearest}\`?)`;
}

const REPEATED_MESSAGE = "must be sent only once";

/** Checked on the value, since a schema may have its own message. */
function isRepeated(value: unknown, [name]: readonly PropertyKey[]): boolean {
  if (typeof value !== "object" || value === null || name === undefined) return false;
  return Reflect.get(value, name) === REPEATED_PARAMETER;
}

/** `a.b[0].c` for the path a, b, 0, c. A name that is no plain word is quoted: `a[""]`, `a["b c"]`. */
function formatFieldPath(path: readonly PropertyKey[]): string {
  return path
    .map((step) => {
      if (typeof step === "number") return `[${step}]`;
      const name = String(step);
      return /^[\w-]+$/.test(name)
        ? `.${shortenName(name)}`
        : `[${JSON.stringify(shortenName(name))}]`;
    })
    .join("")
    .replace(/^\./, "");
}

const TYPE_NAMES: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

const FORMAT_NAMES: Record<string, string> = {
  url: "a URL",
  email: "an e-mail address",
  date: "a date, YYYY-MM-DD",
};

/** The text where a schema gives none. No endpoint answers it: each check states what it takes. */
const DEFAULT_MESSAGE = "is not valid";

/** Zod's issues in our wording; never with the value itself, which may be secret. */
function describeIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is required";
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return issue.input === undefined ? "is required" : describeOptions(issue.values);
    case "invalid_format":
      return issue.format in FORMAT_NAMES
        ? `must be ${FORMAT_NAMES[issue.format]}`
        : DEFAULT_MESSAGE;
    case "invalid_union":
      return describeUnionIssue(issue);
    case "invalid_key":
      return `its name ${issue.issues[0]?.message}`;
    case "too_small":
      return describeBound(
        issue,
        issue.inclusive === false ? "more than" : "at least",
        issue.minimum,
      );
    case "too_big":
      return describeBound(
        issue,
        issue.inclusive === false ? "less than" : "at most",
        issue.maximum,
      );
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return "this field is not known";
    default:
      return DEFAULT_MESSAGE;
  }
}

function describeOptions(values: readonly unknown[]): string {
  return `must be ${values.length > 1 ? "one of " : ""}${values.join(", ")}`;
}

/** No option of a union matches, or its discriminator is invalid. */
interface UnionIssue {
  input?: unknown;
  discriminator?: string | undefined;
  options?: readonly unknown[];
  errors: readonly (readonly z.core.$ZodIssue[])[];
}

function describeUnionIssue({ input, discriminator, options = [], errors }: UnionIssue): string {
  if (discriminator === undefined)
    return [...new Set(errors.map(([first]) => first?.message))].join(", or ");
  const isThere = Reflect.get(Object(input), discriminator) !== undefined;
  return isThere ? describeOptions(options) : "is required";
}

/** A caller-supplied name, truncated for printing. */
function shortenName(name: string): string {
  return name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
}

function describeBound(
  { origin, exact }: { origin: string; exact?: boolean | undefined },
  which: string,
  size: number | bigint,
): string {
  const bounds = `${exact ? "exactly" : which} ${size}`;
  const plural = Number(size) === 1 ? "" : "s";
  if (origin === "string") return `must have ${bounds} character${plural}`;
  if (origin === "array") return `must have ${bounds} item${plural}`;
  return `must be ${bounds}`;
}

type Issue = z.core.$ZodIssue;

/**
 * Splits the issues of a refused value into those of single fields, what was sent before what is
 * missing: unknown fields, wrong ones, missing ones. A field with a misspelled name is missing too.
 * A value that fits no form of a union has the issues of the form that it is closest to.
 */
function findFieldIssues(issues: readonly Issue[], value: unknown): Issue[] {
  const rank = (issue: Issue) => {
    if (isUnknownFieldIssue(issue)) return 0;
    return valueAt(value, issue.path) === undefined ? 2 : 1;
  };
  return issues.flatMap((issue) => splitIssue(issue, value)).sort((a, b) => rank(a) - rank(b));
}

function splitIssue(issue: Issue, value: unknown): Issue[] {
  const { path } = issue;
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({ ...issue, keys: [key], path: [...path, key] }));
  if (issue.code !== "invalid_union") return [issue];
  const part = valueAt(value, path);
  const form = findClosestForm(issue.errors.filter(hasOnlyFieldIssues), part);
  if (!form) return [issue];
  return form
    .flatMap((inner) => splitIssue(inner, part))
    .map((inner) => ({ ...inner, path: [...path, ...inner.path] }));
}

function isUnknownFieldIssue({ code }: Issue): boolean {
  return code === "unrecognized_keys";
}

/** Whether the issues are about an object's fields, not about the type of the whole value. */
function hasOnlyFieldIssues(form: readonly Issue[]): boolean {
  return form.every((issue) => issue.path.length > 0 || isUnknownFieldIssue(issue));
}

/** The issues of the form that has the fewest unknown fields, then missing ones, then problems. */
function findClosestForm(forms: readonly (readonly Issue[])[], value: unknown) {
  const ranked = forms.map((form) => ({
    form,
    unknown: form.reduce(
      (n, one) => n + (one.code === "unrecognized_keys" ? one.keys.length : 0),
      0,
    ),
    missing: form.filter(({ path }) => valueAt(value, path) === undefined).length,
  }));
  ranked.sort(
    (a, b) => a.unknown - b.unknown || a.missing - b.missing || a.form.length - b.form.length,
  );
  return ranked[0]?.form;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((part, step) => Reflect.get(Object(part), step), value);
}
