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
type Fields = Record<string, unknown>;
/** A body of an event. */
interface EventBody extends Fields {
  data: Fields;
}
interface Body {
  content: { "application/json": { schema: Schema } };
}

const HEAD = `# Webhook events

What an endpoint of the format \`EXTENDED\` receives. [Webhooks](webhooks.md) says when, and how a receiver verifies it.
\`npm run document\` writes this page from the OpenAPI document.

The first kind shows a whole body, the others \`data\`: the rest differs in \`type\` and \`event_type\` alone. Ids, hashes
and addresses are cut.
`;

/** An example of the body of each kind of event, in the order in which the page has them. */
export function eventExamples({ webhooks, components }: EventsDocument): Map<string, EventBody> {
  // The document has the kinds in the order of its features.
  const kinds = [...new Set([...EVENT_KINDS, ...Object.keys(webhooks)])];
  return new Map(
    kinds.map((kind) => {
      const post = webhooks[kind]?.post;
      if (!post) throw new Error(`the document has no ${kind}`);
      const { schema } = post.requestBody.content["application/json"];
      return [kind, exampleOf(schema, components.schemas) as EventBody];
    }),
  );
}

/** The page with the body of every kind. Of a record that an earlier kind has too, it has what differs. */
export function eventsPage(document: EventsDocument): string {
  const examples = eventExamples(document);
  const sections = [...examples].map(([kind, body], position) => {
    const earlier = [...examples].slice(0, position);
    const text = position === 0 ? `${block(layOut(body))}\n` : describeData(body.data, earlier);
    return `## ${kind}\n\n${document.webhooks[kind]?.post.summary}.${text}`;
  });
  return [HEAD, ...sections].join("\n");
}

/** What follows the summary of a kind: its `data`, or how they differ from those of an earlier kind. */
function describeData(data: Fields, earlier: readonly [string, EventBody][]): string {
  const similar = earlier
    .map(([kind, body]) => ({ kind, other: body.data, added: difference(data, body.data) }))
    .sort((a, b) => Object.keys(a.added).length - Object.keys(b.added).length)
    .find(({ added }) => Object.keys(added).length * 2 < Object.keys(data).length);
  if (!similar) return ` \`data\`:${block(`{\n${lines(data, "  ")}\n}`)}\n`;
  const { kind, other, added } = similar;
  const missing = Object.keys(other).filter((name) => !(name in data));
  const without =
    missing.length > 0 ? `, without ${missing.map((it) => `\`${it}\``).join(", ")}` : "";
  const text = ` \`data\` is that of \`${kind}\`${without}`;
  return Object.keys(added).length === 0
    ? `${text}.\n`
    : `${text}, and has:${block(`{\n${lines(added, "  ")}\n}`)}\n`;
}

/** The fields that another example lacks, or has with another value. */
function difference(data: Fields, other: Fields): Fields {
  const isNew = ([name, value]: [string, unknown]) =>
    JSON.stringify(other[name]) !== JSON.stringify(value);
  return Object.fromEntries(Object.entries(data).filter(isNew));
}

const block = (text: string) => `\n\n\`\`\`json\n${text}\n\`\`\``;

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
function layOut({ data, ...head }: EventBody): string {
  return `{\n${lines(head, "  ")},\n  "data": {\n${lines(data, "    ")}\n  }\n}`;
}

function lines(fields: Fields, indent: string): string {
  return Object.entries(fields)
    .map(([name, value]) => `${indent}"${name}": ${JSON.stringify(value, cutLongWords)}`)
    .join(",\n");
}

function cutLongWords(_: string, value: unknown): unknown {
  return typeof value === "string" && /^\w{26,}$/.test(value) && !/^[A-Z_]+$/.test(value)
    ? `${value.slice(0, 12)}…`
    : value;
}
