import type * as z from "zod";
import {
  toExternalFieldName,
  toInternalValueName,
  toWireFieldName,
  toWireValueName,
  USES_EXTERNAL_NAMES,
} from "./wire-names.ts";

/** How fields and values are renamed, where a schema says that they are ours. */
interface Renaming {
  /** Where an object has a field that the schema calls so: the name it has, and the one it gets. */
  field(name: string): { from: string; to: string };
  value(name: string): string;
}

/**
 * A request's input with the names of the interface, whichever spelling it came in. A field that is
 * there in both is taken as the interface calls it.
 */
export function toInternalNames(schema: z.ZodType, value: unknown): unknown {
  return translateValue(schema, value, {
    field: (name) => ({ from: toExternalFieldName(name), to: name }),
    value: toInternalValueName,
  });
}

/** An answer with the names of this deployment. */
export function toWireNames(schema: z.ZodType, value: unknown): unknown {
  if (!USES_EXTERNAL_NAMES) return value;
  return translateValue(schema, value, {
    field: (name) => ({ from: name, to: toWireFieldName(name) }),
    value: toWireValueName,
  });
}

/** The parts of a schema's definition by which values and fields are found. */
type SchemaDefinition = {
  type: string;
  innerType?: z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
  left?: z.ZodType;
  right?: z.ZodType;
  shape?: Record<string, z.ZodType>;
  catchall?: z.ZodType;
  element?: z.ZodType;
  valueType?: z.ZodType;
  options?: readonly z.ZodType[];
  entries?: Record<string, unknown>;
  values?: readonly unknown[];
};

export function definitionOf(schema: z.ZodType): SchemaDefinition {
  return schema._zod.def as unknown as SchemaDefinition;
}

/**
 * Walks a value along its schema. Only values of an enumeration or literal are renamed, and only fields
 * that an object of the schema has. Free text stays unchanged.
 */
function translateValue(schema: z.ZodType, value: unknown, renaming: Renaming): unknown {
  const definition = definitionOf(schema);
  const walk = (inner: z.ZodType, part: unknown = value) => translateValue(inner, part, renaming);
  switch (definition.type) {
    case "object":
      return isObject(value) ? translateObject(definition.shape ?? {}, value, renaming) : value;
    case "array":
      return Array.isArray(value)
        ? value.map((item) => (definition.element ? walk(definition.element, item) : item))
        : value;
    case "record":
      if (!isObject(value) || !definition.valueType) return value;
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [
          key,
          walk(definition.valueType as z.ZodType, item),
        ]),
      );
    case "union":
      return (definition.options ?? []).reduce<unknown>((part, one) => walk(one, part), value);
    case "enum":
      return translateEnumValue(Object.values(definition.entries ?? {}), value, renaming);
    case "literal":
      return translateEnumValue(definition.values ?? [], value, renaming);
    case "pipe": {
      const { in: first, out } = definition;
      const from = first && definitionOf(first).type === "transform" ? out : first;
      return from ? walk(from) : value;
    }
    default:
      return definition.innerType ? walk(definition.innerType) : value;
  }
}

function translateObject(
  shape: Record<string, z.ZodType>,
  value: Record<string, unknown>,
  renaming: Renaming,
): Record<string, unknown> {
  const fields = new Map(Object.entries(value));
  for (const [name, schema] of Object.entries(shape)) {
    const { from, to } = renaming.field(name);
    const given = fields.has(name) ? name : from;
    if (!fields.has(given)) continue;
    const part = translateValue(schema, fields.get(given), renaming);
    if (given !== to) fields.delete(given);
    fields.set(to, part);
  }
  return Object.fromEntries(fields);
}

function translateEnumValue(
  known: readonly unknown[],
  value: unknown,
  renaming: Renaming,
): unknown {
  if (typeof value !== "string") return value;
  const name = renaming.value(value);
  // Of the two names, the schema has ours.
  return known.includes(name) || known.includes(value) ? name : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
