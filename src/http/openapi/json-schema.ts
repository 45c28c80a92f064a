import * as z from "zod";
import { documentSchemaOf } from "./fields.ts";

/** A schema of JSON Schema 2020-12, which OpenAPI 3.1 is built on. */
export type JsonSchema = { [keyword: string]: unknown };

declare module "zod" {
  interface GlobalMeta {
    /** Replaces what zod would say of the type, such as of a number in a query string. */
    wire?: JsonSchema;
  }
}

const SCHEMA_REF_PREFIX = "#/components/schemas/";

/**
 * Renders zod schemas as JSON Schemas, of what is sent: transformed values are shown as they arrive.
 * A schema with an `id` becomes a component and is referred to.
 */
export function createSchemaRenderer() {
  const components = new Map<string, JsonSchema>();

  const render = (declared: z.ZodType): JsonSchema => {
    const schema = documentSchemaOf(declared);
    const {
      $schema: _,
      $defs = {},
      ...root
    } = z.toJSONSchema(schema, { io: "input", override: overrideSchema });
    for (const [name, component] of Object.entries($defs)) {
      const rendered = rewriteReferences(component);
      const known = components.get(name);
      if (known && JSON.stringify(known) !== JSON.stringify(rendered))
        throw new Error(`two different schemas have the name ${name}`);
      components.set(name, rendered);
    }
    return rewriteReferences(root);
  };

  return {
    render,
    /** Renders a schema as a component, and gives the reference to it. */
    refer: (name: string, schema: z.ZodType): JsonSchema => {
      const rendered = render(schema);
      if (typeof rendered.$ref === "string" && Object.keys(rendered).length === 1) return rendered;
      if (components.has(name)) throw new Error(`two schemas have the name ${name}`);
      components.set(name, rendered);
      return { $ref: SCHEMA_REF_PREFIX + name };
    },
    /** All components so far, by name in alphabetical order. */
    components: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function rewriteReferences(schema: object): JsonSchema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${SCHEMA_REF_PREFIX}`));
}

/** Examples of a schema, or of the one that it makes optional, nullable or gives a default. */
function examplesOf(schema: z.core.$ZodType): unknown[] | undefined {
  const { examples } = z.globalRegistry.get(schema) ?? {};
  if (Array.isArray(examples)) return examples;
  const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType };
  return innerType && examplesOf(innerType);
}

/** Corrects the schema that zod writes. */
function overrideSchema({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes;
  jsonSchema: z.core.JSONSchema.BaseSchema;
}): void {
  // Of a schema that transforms, zod leaves them out, as if they were of its output.
  const examples = examplesOf(zodSchema);
  if (examples) jsonSchema.examples = examples;
  // These say it better than zod's expressions for them.
  const isText = zodSchema._zod.def.type === "string";
  if (isText && ["date", "date-time"].includes(String(jsonSchema.format)))
    delete jsonSchema.pattern;
  const { wire } = jsonSchema;
  if (typeof wire === "object" && wire !== null) {
    const { id, description, deprecated } = jsonSchema;
    for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword];
    const kept = { id, description, examples, deprecated };
    for (const [keyword, value] of Object.entries({ ...wire, ...kept }))
      if (value !== undefined) jsonSchema[keyword] = value;
  }
  // Said of the property, which may be null besides.
  if (jsonSchema.description === "") delete jsonSchema.description;
  if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}')
    delete jsonSchema.propertyNames;
}
