import { EVENT_KINDS } from "../../src/events/event-kinds.ts";

/** A JSON Schema, as far as an example of it needs. */
export interface Schema {
  $ref?: string;
  const?: unknown;
  enum?: unknown[];
  examples?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
}

/** What is read of the OpenAPI document. */
export interface EventsDocument {
  webhooks: Record<string, { post: { summary: string; requestBody: Body } }>;
  components: { schemas: Record<string, Schema> };
}
interface Body {
  content: { "application/json": { schema: Schema } };
}

const HEAD = `# Webhook events

A body of each kind, as an endpoint of the format \`EXTENDED\` gets it: [webhooks.md](webhooks.md) says when, and how it
is verified. \`npm run document\` writes this page from the OpenAPI document. Tests compare what the
service sends with the same document.
`;

/** The page with a body of every kind. */
export function eventsPage({ webhooks, components }: EventsDocument): string {
  // The document has them in the order of its features.
  const kinds = [...new Set([...EVENT_KINDS, ...Object.keys(webhooks)])];
  const sections = kinds.map((kind) => {
    const post = webhooks[kind]?.post;
    if (!post) throw new Error(`the document has no ${kind}`);
    const { schema } = post.requestBody.content["application/json"];
    const body = exampleOf(schema, components.schemas) as { data: object };
    return `## ${kind}\n\n${post.summary}.\n\n\`\`\`json\n${layOut(body)}\n\`\`\`\n`;
  });
  return [HEAD, ...sections].join("\n");
}

/**
 * A value that a schema allows, out of the examples of its fields.
 *
 * @param options - `isRequiredOnly`: objects have only what they must have
 */
export function exampleOf(
  schema: Schema,
  schemas: Record<string, Schema>,
  options: { isRequiredOnly?: boolean } = {},
): unknown {
  if (schema.examples) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.$ref) {
    const target = schemas[schema.$ref.split("/").at(-1) ?? ""];
    if (!target) throw new Error(`${schema.$ref} is not there`);
    return exampleOf(target, schemas, options);
  }
  const choice = (schema.anyOf ?? schema.oneOf ?? schema.allOf)?.find(
    ({ type }) => type !== "null",
  );
  if (choice && !schema.properties) return exampleOf(choice, schemas, options);
  if (schema.enum) return schema.enum[0];
  if (schema.items) return [exampleOf(schema.items, schemas, options)];
  if (!schema.properties) throw new Error(`no example: ${JSON.stringify(schema)}`);
  // Beside properties, a choice states what else is required.
  const required = [...(schema.required ?? []), ...(choice?.required ?? [])];
  const fields = Object.entries(schema.properties).filter(
    ([name]) => !options.isRequiredOnly || required.includes(name),
  );
  return Object.fromEntries(
    fields.map(([name, field]) => [
      name,
      // As they come by default.
      name.endsWith("History") ? [] : exampleOf(field, schemas, options),
    ]),
  );
}

/** A line for each field of the event and of its record. */
function layOut({ data, ...head }: { data: object }): string {
  const lines = (fields: object, indent: string) =>
    Object.entries(fields).map(([name, value]) => `${indent}"${name}": ${JSON.stringify(value)}`);
  const record = `  "data": {\n${lines(data, "    ").join(",\n")}\n  }`;
  return `{\n${[...lines(head, "  "), record].join(",\n")}\n}`;
}
