import type * as z from "zod";
import { fieldName, otherFieldName, ownValueName, SAYS_OTHER_NAMES, valueName } from "./table.ts";

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
export function inOwnNames(schema: z.ZodType, value: unknown): unknown {
  return renamed(schema, value, {
    field: (name) => ({ from: otherFieldName(name), to: name }),
    value: ownValueName,
  });
}

/** An answer with the names of this deployment. */
export function inWireNames(schema: z.ZodType, value: unknown): unknown {
  if (!SAYS_OTHER_NAMES) return value;
  return renamed(schema, value, {
    field: (name) => ({ from: name, to: fieldName(name) }),
    value: valueName,
  });
}

/** The parts of a schema's definition by which a value is walked. */
type Definition = {
  type: string;
  innerType?: z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
  shape?: Record<string, z.ZodType>;
  element?: z.ZodType;
  valueType?: z.ZodType;
  options?: readonly z.ZodType[];
  entries?: Record<string, unknown>;
  values?: readonly unknown[];
};

/**
 * Walks a value along its schema. Only values of an enumeration or literal are renamed, and only fields
 * that an object of the schema has. Free text stays unchanged.
 */
function renamed(schema: z.ZodType, value: unknown, renaming: Renaming): unknown {
  const definition = schema._zod.def as unknown as Definition;
  const walk = (inner: z.ZodType, part: unknown = value) => renamed(inner, part, renaming);
  switch (definition.type) {
    case "object":
      return isObject(value) ? renamedObject(definition.shape ?? {}, value, renaming) : value;
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
      return renamedValue(Object.values(definition.entries ?? {}), value, renaming);
    case "literal":
      return renamedValue(definition.values ?? [], value, renaming);
    case "pipe": {
      const { in: first, out } = definition;
      const kind = (first?._zod.def as unknown as Definition | undefined)?.type;
      const from = kind === "transform" ? out : first;
      return from ? walk(from) : value;
    }
    default:
      return definition.innerType ? walk(definition.innerType) : value;
  }
}

function renamedObject(
  shape: Record<string, z.ZodType>,
  value: Record<string, unknown>,
  renaming: Renaming,
): Record<string, unknown> {
  const fields = new Map(Object.entries(value));
  for (const [name, schema] of Object.entries(shape)) {
    const { from, to } = renaming.field(name);
    const given = fields.has(name) ? name : from;
    if (!fields.has(given)) continue;
    const part = renamed(schema, fields.get(given), renaming);
    if (given !== to) fields.delete(given);
    fields.set(to, part);
  }
  return Object.fromEntries(fields);
}

function renamedValue(known: readonly unknown[], value: unknown, renaming: Renaming): unknown {
  if (typeof value !== "string") return value;
  const name = renaming.value(value);
  // Of the two names, the schema has ours.
  return known.includes(name) || known.includes(value) ? name : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
