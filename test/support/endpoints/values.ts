/** What the OpenAPI document allows, as arbitraries. */
import fc from "fast-check";
import { type JsonSchema, openApi, validatorOf } from "./document.ts";

/** Values of each format that the document names. */
export type Formats = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** Items beyond the least that a list needs, and members beyond the named ones of an object. */
const MORE = 3;
/** So many drafts in a row that do not fit are a fault of the drafts. */
const MISSES = 1000;

/**
 * Values that a schema of the document allows. The least and the most of a bound occur often, except
 * that lists stay short.
 *
 * @param formats - must have each format that the schema names
 */
export function valuesOf(schema: JsonSchema, formats: Formats): fc.Arbitrary<unknown> {
  const isAllowed = validatorOf(schema);
  let misses = 0;
  return drafts(schema, formats).filter((value) => {
    const fits = isAllowed(value);
    misses = fits ? 0 : misses + 1;
    // Otherwise drafts that never fit would be drawn forever.
    if (misses === MISSES) throw new RangeError(`no draft fits ${JSON.stringify(schema)}`);
    return fits;
  });
}

/** Values that fit a schema, but for what its parts ask of each other. */
function drafts(schema: JsonSchema, formats: Formats): fc.Arbitrary<unknown> {
  const { $ref, const: constant, enum: values, oneOf, anyOf, allOf, ...rest } = schema;
  const of = (one: JsonSchema) => drafts(one, formats);
  const format = typeof schema.format === "string" && formats[schema.format];
  if (format) return format;
  if (typeof $ref === "string") return of(merged(component($ref), { ...rest }));
  if (constant !== undefined) return fc.constant(constant);
  if (Array.isArray(values)) return fc.constantFrom(...values);
  if (Array.isArray(allOf)) return of([...allOf, { oneOf, anyOf }].reduce(merged, rest));
  const choices = oneOf ?? anyOf;
  if (Array.isArray(choices)) return fc.oneof(...choices.map((one) => of(merged(rest, one))));
  if (Array.isArray(schema.type))
    return fc.oneof(...schema.type.map((type) => of({ ...rest, type })));
  switch (schema.type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return integers(rest as Bounds);
    case "number":
      return numbers(rest as Bounds);
    case "string":
      return strings(rest);
    case "array":
      return arrays(rest, formats);
    case "object":
      return objects(rest, formats);
    case undefined:
      return fc.jsonValue({ maxDepth: 2 });
    default:
      throw new RangeError(`no values of the type ${schema.type}`);
  }
}

function component(reference: string): JsonSchema {
  const found = openApi.components.schemas[reference.split("/").at(-1) ?? ""];
  if (!found) throw new RangeError(`${reference} is not in the document`);
  return found;
}

/** Both of two schemas, the second of which may say more of the first's properties. */
function merged(one: JsonSchema, other: JsonSchema): JsonSchema {
  const properties: JsonSchema = { ...(one.properties as JsonSchema) };
  for (const [name, schema] of Object.entries((other.properties ?? {}) as JsonSchema))
    properties[name] = merged((properties[name] ?? {}) as JsonSchema, schema as JsonSchema);
  const required = [...((one.required ?? []) as string[]), ...((other.required ?? []) as string[])];
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length > 0 && { properties, required }),
  };
}

interface Bounds {
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
}

function integers({ minimum, maximum, exclusiveMinimum }: Bounds): fc.Arbitrary<number> {
  const min = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + 1);
  // Without a bound a schema has every number that JSON can write.
  const far = [...(min === undefined ? [-1e300] : []), ...(maximum === undefined ? [1e300] : [])];
  return fc.oneof(
    fc.maxSafeInteger().map((n) => inside(n, min, maximum)),
    fc.integer({ min: -1, max: 100 }).map((n) => inside(n, min, maximum)),
    fc.constantFrom(...[min ?? 0, maximum ?? 0, ...far].map((n) => inside(n, min, maximum))),
  );
}

/** A whole number, folded into its bounds. */
function inside(n: number, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY): number {
  if (n >= min && n <= max) return n;
  if (!Number.isFinite(max)) return min + Math.abs(n - min);
  if (!Number.isFinite(min)) return max - Math.abs(n - max);
  return min + (Math.abs(n) % (max - min + 1));
}

function numbers({ minimum, maximum, exclusiveMinimum }: Bounds): fc.Arbitrary<number> {
  const min = exclusiveMinimum ?? minimum;
  return fc.double({
    noNaN: true,
    noDefaultInfinity: true,
    ...(min !== undefined && { min }),
    ...(maximum !== undefined && { max: maximum }),
    minExcluded: exclusiveMinimum !== undefined,
  });
}

interface Text {
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
}

function strings({ format, pattern, minLength = 0, maxLength = 1000 }: Text): fc.Arbitrary<string> {
  if (format !== undefined) throw new RangeError(`no values of the format ${format}`);
  if (pattern !== undefined) return matching(pattern, minLength);
  const characters = fc.constantFrom<"grapheme-ascii" | "grapheme" | "binary">(
    "grapheme-ascii",
    "grapheme",
    "binary",
  );
  const texts = (min: number, max: number) =>
    characters.chain((unit) => fc.string({ unit, minLength: min, maxLength: max }));
  // A grapheme has several of the characters that lengths count, so the longest are of single ones.
  const longest = fc.constantFrom("x", "ß", "\u{1f4b8}").map((one) => one.repeat(maxLength));
  return fc.oneof(
    { weight: 4, arbitrary: texts(minLength, Math.min(maxLength, minLength + 20)) },
    { weight: 1, arbitrary: longest },
  );
}

/** Texts of a pattern; what it looks ahead for is left to the check of the whole. */
function matching(pattern: string, minLength: number): fc.Arbitrary<string> {
  const consumed = pattern.replaceAll(/\(\?[=!](?:[^()]|\([^()]*\))*\)/g, "");
  // Where one thing is repeated without a bound, strings that are long enough.
  const [, repeated] = /^\^(\[[^\]]+\]|\(\?:[^()]*\))[*+]\$$/.exec(consumed) ?? [];
  const long = repeated && `^${repeated}{${minLength},${minLength + 20}}$`;
  return fc.stringMatching(new RegExp(long ?? consumed, "u"));
}

function arrays(schema: JsonSchema, formats: Formats): fc.Arbitrary<unknown[]> {
  const {
    items = {},
    minItems = 0,
    maxItems,
  } = schema as Record<"minItems", number> & {
    items?: JsonSchema;
    maxItems?: number;
  };
  const maxLength = Math.min(maxItems ?? minItems + MORE, minItems + MORE);
  return fc.array(drafts(items, formats), { minLength: minItems, maxLength });
}

function objects(schema: JsonSchema, formats: Formats): fc.Arbitrary<object> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  const named = Object.entries(properties as Record<string, JsonSchema>);
  const members = Object.fromEntries(named.map(([name, one]) => [name, drafts(one, formats)]));
  const known = fc.record(members, { requiredKeys: required as string[] });
  if (additionalProperties === false) return known;
  const names = drafts((propertyNames ?? { type: "string", maxLength: 20 }) as JsonSchema, formats);
  const more = fc.dictionary(
    names.map((name) => (String(name) in members ? `${name}~` : String(name))),
    drafts((additionalProperties ?? {}) as JsonSchema, formats),
    // What no schema speaks of is rare.
    { maxKeys: additionalProperties === undefined ? 1 : MORE, noNullPrototype: true },
  );
  return fc.tuple(known, more).map(([one, other]) => ({ ...other, ...one }));
}
