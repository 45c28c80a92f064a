import * as z from "zod";
import { version } from "../../../package.json";
import { answerText, described, timestamp } from "./fields.ts";
import { headers, REQUEST_HEADERS, RESPONSE_HEADERS } from "./headers.ts";
import { type JsonSchema, schemaRenderer } from "./json-schema.ts";
import { operation } from "./operation.ts";
import type { DeclaredEvent, Router } from "./router.ts";
import { OVERVIEW, TAGS } from "./texts.ts";

/** A feature's router, and the prefix of its paths. */
export interface Mounted {
  at: string;
  router: Router;
}

/** The OpenAPI 3.1 document of everything that is mounted. */
export function openApiDocument(mounted: readonly Mounted[]): JsonSchema {
  const renderer = schemaRenderer();
  const paths: Record<string, JsonSchema> = {};
  const webhooks: Record<string, JsonSchema> = {};
  for (const { at, router } of mounted) {
    for (const declared of router.declared) {
      const path = `${at}${declared.path}`;
      paths[path] = { ...paths[path], [declared.method]: operation(declared, renderer) };
    }
    for (const event of router.events) webhooks[event.kind] = { post: delivery(event, renderer) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Agent payment service",
      summary: "Payments, purchases and the registry of agent services.",
      description: OVERVIEW,
      version,
      contact: { name: "Agent payment service" },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The service that this document comes from." }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ token: [] }, { bearer: [] }],
    paths,
    webhooks,
    components: {
      schemas: renderer.components(),
      headers: RESPONSE_HEADERS,
      parameters: REQUEST_HEADERS,
      securitySchemes: {
        token: { type: "apiKey", in: "header", name: "token", description: "An API key." },
        bearer: { type: "http", scheme: "bearer", description: "An API key." },
      },
    },
  };
}

/** How an event is delivered to an endpoint of the format EXTENDED (docs/webhooks.md). */
function delivery(
  { kind, summary, data }: DeclaredEvent,
  { refer }: ReturnType<typeof schemaRenderer>,
): JsonSchema {
  const name = kind
    .toLowerCase()
    .replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
  const body = z.object({
    id: answerText("Id of the event, the same in every delivery of it.", EVENT_ID),
    type: described(z.literal(kind), "Kind of the event.", kind),
    event_type: described(z.literal(kind), "The same as `type`.", kind),
    timestamp: timestamp("When it happened."),
    webhook_id: answerText("The same as `id`.", EVENT_ID),
    sequence: described(z.int().min(1), "Counts the events of the record: 1, 2, 3 …", 3),
    data: described(data, "The record as GET showed it at that moment."),
  });
  return {
    operationId: `on${name}`,
    tags: ["Webhooks"],
    summary,
    description:
      "Sent to endpoints of the format EXTENDED at least once, in no particular order; the chat formats get a message about it. The signature is that of Standard Webhooks.",
    security: [],
    parameters: DELIVERY_HEADERS,
    requestBody: {
      required: true,
      content: { "application/json": { schema: refer(`${name}Event`, body) } },
    },
    responses: {
      "2XX": { description: "The event was received." },
      "4XX": { description: "It will be tried again; after 410 the endpoint is disabled." },
      "5XX": {
        description: "It will be tried again, after `Retry-After` when there is one.",
        headers: headers("Retry-After"),
      },
    },
  };
}

const EVENT_ID = "01m80ye14bqk5w2m7d3v0zt9xa";

const DELIVERY_HEADERS = [
  ["webhook-id", "Id of the event; tells repeated deliveries.", EVENT_ID],
  ["webhook-timestamp", "When this delivery was signed, in Unix seconds.", "1795328246"],
  [
    "webhook-signature",
    "`v1,` and the HMAC-SHA-256 of `id.timestamp.body` in base64; two, separated by a space, while a secret is being rotated.",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ],
].map(([name, description, example]) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
  example,
}));
