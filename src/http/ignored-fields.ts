import type * as z from "zod";
import { otherFieldName } from "./names/table.ts";

/** Fields that the header names at most. */
const MAX_FIELDS = 20;
/** Characters that the header repeats of a name; clients refuse headers of more than 16 KiB. */
const MAX_NAME_LENGTH = 60;
/** Other protocols or the sender define what these hold: the search leaves them out. */
const OPAQUE = new Set(["paymentPayload", "metadata"]);

/**
 * The fields of a request that its schemas ignore, as the header `x-ignored-fields` names them. The
 * names are percent-encoded, with a dot between an object and its field, and no index for the items of
 * a list.
 *
 * @param sent - values as they were sent, whichever spelling of names they have
 */
export function findIgnoredFields(
  sent: readonly { schema: z.ZodType; value: unknown }[],
): string[] {
  const found = new Set<string>();
  for (const { schema, value } of sent) collectFrom(schema, value, [], found);
  return [...found];
}

/** The parts of a schema's definition by which a value is walked. */
type Definition = {
  type: string;
  innerType?: z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
  shape?: Record<string, z.ZodType>;
  catchall?: z.ZodType;
  element?: z.ZodType;
  valueType?: z.ZodType;
  options?: readonly z.ZodType[];
};

function definitionOf(schema: z.ZodType): Definition {
  return schema._zod.def as unknown as Definition;
}

function collectFrom(
  schema: z.ZodType,
  value: unknown,
  path: readonly string[],
  found: Set<string>,
): void {
  if (typeof value !== "object" || value === null) return;
  const { type, innerType, in: input, out, element, valueType, options } = definitionOf(schema);
  const walk = (inner: z.ZodType | undefined, part: unknown = value, name?: string) =>
    inner && collectFrom(inner, part, name === undefined ? path : [...path, name], found);
  switch (type) {
    case "object":
      if (!Array.isArray(value)) collectFromObject(schema, value, path, found);
      return;
    case "array":
      for (const item of Array.isArray(value) ? value : []) walk(element, item);
      return;
    case "record":
      for (const [name, item] of Object.entries(value)) walk(valueType, item, name);
      return;
    case "union":
      walk(options?.find((option) => option.safeParse(value).success));
      return;
    case "pipe":
      walk(input && definitionOf(input).type === "transform" ? out : input);
      return;
    default:
      walk(innerType);
  }
}

function collectFromObject(
  schema: z.ZodType,
  value: object,
  path: readonly string[],
  found: Set<string>,
): void {
  const { shape = {}, catchall } = definitionOf(schema);
  const known = new Map(
    Object.entries(shape).map(([name, field]) => [
      Object.hasOwn(value, name) ? name : otherFieldName(name),
      field,
    ]),
  );
  for (const [name, part] of Object.entries(value)) {
    if (found.size >= MAX_FIELDS) return;
    const field = known.get(name) ?? catchall;
    if (!field) found.add([...path, name].map(encodeName).join("."));
    else if (!OPAQUE.has(name)) collectFrom(field, part, [...path, name], found);
  }
}

function encodeName(name: string): string {
  if (name === "") return encodeURIComponent('""');
  const text = name.slice(0, MAX_NAME_LENGTH).toWellFormed();
  return encodeURIComponent(text).replaceAll(".", "%2E");
}
