import { env } from "cloudflare:workers";
import { afterEach, expect } from "vitest";
import { EVENT_KINDS, type EventKind } from "../../../src/events/event-kinds.ts";
import { formatBody, type OutgoingEvent } from "../../../src/webhooks/delivery/format-body.ts";
import { type JsonSchema, openApi, validatorOf } from "../endpoints/document.ts";

type Declared = Record<
  string,
  { post: { requestBody: { content: { "application/json": { schema: JsonSchema } } } } }
>;
const { webhooks } = openApi as unknown as { webhooks: Declared };
const validators = new Map<string, ReturnType<typeof validatorOf>>();

function isDeclared(event: OutgoingEvent): boolean {
  const { kind } = event;
  const schema = webhooks[kind]?.post.requestBody.content["application/json"].schema;
  if (!schema) return false;
  const validator = validators.get(kind) ?? validatorOf(schema);
  validators.set(kind, validator);
  return validator(JSON.parse(formatBody("EXTENDED", event)));
}

/** Every event of these kinds that happened has to be as the document says of its kind. */
export async function expectDeclared(kinds: readonly EventKind[] = EVENT_KINDS): Promise<void> {
  const { results } = await env.DB.prepare(
    `SELECT id, kind, sequence, created_at AS createdAt, data FROM event
     WHERE kind IN (SELECT value FROM json_each(?))`,
  )
    .bind(JSON.stringify(kinds))
    .all<OutgoingEvent>();
  expect(results.filter((event) => !isDeclared(event))).toEqual([]);
}

/**
 * Looks at what each test of a file has caused.
 *
 * @param kinds - those that the service makes there, where a test makes others up
 */
export function holdEventsToTheDocument(kinds: readonly EventKind[] = EVENT_KINDS): void {
  afterEach(() => expectDeclared(kinds));
}
