import { z } from "@hono/zod-openapi";
import { ApiError } from "./errors.ts";

/** More problems than this are counted, not listed. */
const LISTED_PROBLEMS = 20;

z.config({ localeError: (issue) => describe(issue) });

/**
 * What a schema makes of a value. Unknown fields are dropped.
 *
 * @param whole - what to call the value itself (`body`, `query`) when no field is to blame
 * @throws ApiError 400 with `field: why`, several joined by `; `
 */
export async function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  whole: string,
): Promise<z.output<Schema>> {
  const result = await schema.safeParseAsync(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    (issue) => `${fieldName(issue.path) || whole}: ${issue.message}`,
  );
  const rest = problems.length - LISTED_PROBLEMS;
  const listed = problems.slice(0, LISTED_PROBLEMS).join("; ");
  throw new ApiError(400, rest > 0 ? `${listed}; and ${rest} more` : listed);
}

/** `a.b[0].c` for the path a, b, 0, c. */
function fieldName(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
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

/** Zod's problems in our words; never with the value itself, which may be secret. */
function describe(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is required";
      return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return issue.input === undefined
        ? "is required"
        : `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.join(", ")}`;
    case "too_small":
      return `must ${bound("at least", issue.origin, Number(issue.minimum))}`;
    case "too_big":
      return `must ${bound("at most", issue.origin, Number(issue.maximum))}`;
    case "unrecognized_keys":
      return `has no field ${issue.keys.map(quoted).slice(0, LISTED_PROBLEMS).join(", ")}`;
    default:
      return "has the wrong form";
  }
}

/** A name that a caller made up, at a length that can be printed. */
function quoted(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name);
}

function bound(which: string, origin: string, size: number): string {
  const plural = size === 1 ? "" : "s";
  if (origin === "string") return `have ${which} ${size} character${plural}`;
  if (origin === "array") return `have ${which} ${size} item${plural}`;
  return `be ${which} ${size}`;
}
