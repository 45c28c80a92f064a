import * as z from "zod";
import { version } from "../../package.json";
import { described, textField, timestampField } from "./openapi/fields.ts";
import {
  REQUEST_HEADERS,
  RESPONSE_HEADERS,
  type ResponseHeader,
  toRequestHeaderReference,
  toResponseHeaderReferences,
} from "./openapi/headers.ts";
import { createSchemaRenderer, type JsonSchema } from "./openapi/json-schema.ts";
import { API_DESCRIPTION, TAG_DESCRIPTIONS } from "./openapi/texts.ts";
import type { EndpointDeclaration, EventDeclaration, Router } from "./router.ts";

/** A feature's router, and the prefix of its paths. */
export interface MountedRouter {
  prefix: string;
  router: Router;
}

/** The OpenAPI 3.1 document of everything that is mounted. */
export function createOpenApiDocument(mounted: readonly MountedRouter[]): JsonSchema {
  const renderer = createSchemaRenderer();
  const paths: Record<string, JsonSchema> = {};
  const webhooks: Record<string, JsonSchema> = {};
  for (const { prefix: at, router } of mounted) {
    for (const declared of router.declared) {
      const path = `${at}${declared.path}`;
      paths[path] = { ...paths[path], [declared.method]: renderOperation(declared, renderer) };
    }
    for (const event of router.events)
      webhooks[event.kind] = { post: renderDelivery(event, renderer) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Agent payment service",
      summary: "Payments, purchases and the registry of agent services.",
      description: API_DESCRIPTION,
      version,
      contact: { name: "Agent payment service" },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The service that this document comes from." }],
    tags: Object.entries(TAG_DESCRIPTIONS).map(([name, description]) => ({ name, description })),
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
function renderDelivery(
  { kind, summary, data }: EventDeclaration,
  { refer }: Renderer,
): JsonSchema {
  const name = kind
    .toLowerCase()
    .replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
  const body = z.object({
    id: textField("Id of the event, the same in every delivery.", EXAMPLE_EVENT_ID),
    type: described(z.literal(kind), "Kind of the event.", kind),
    event_type: described(z.literal(kind), "The same as `type`.", kind),
    timestamp: timestampField("Time of the event."),
    webhook_id: textField("The same as `id`.", EXAMPLE_EVENT_ID),
    sequence: described(
      z.int().min(1),
      "Number of the event among those of the record, from 1.",
      3,
    ),
    data: described(data, "The record as `GET` returned it at that time."),
  });
  return {
    operationId: `on${name}`,
    tags: ["Webhooks"],
    summary,
    description:
      "EXTENDED endpoints receive the event at least once, in no particular order. Chat formats receive a message. The signature follows Standard Webhooks.",
    security: [],
    parameters: DELIVERY_HEADERS,
    requestBody: {
      required: true,
      content: { "application/json": { schema: refer(`${name}Event`, body) } },
    },
    responses: {
      "2XX": { description: "The event was received." },
      "4XX": { description: "The service tries again; 410 disables the endpoint." },
      "5XX": {
        description: "The service tries again, after `Retry-After` if present.",
        headers: toResponseHeaderReferences("Retry-After"),
      },
    },
  };
}

const EXAMPLE_EVENT_ID = "01m80ye14bqk5w2m7d3v0zt9xa";

const DELIVERY_HEADERS = [
  ["webhook-id", "Id of the event, which identifies repeated deliveries.", EXAMPLE_EVENT_ID],
  ["webhook-timestamp", "Time of the signature, in Unix seconds.", "1795328246"],
  [
    "webhook-signature",
    "`v1,` and the base64 HMAC-SHA-256 of `id.timestamp.body`. During a rotation of the secret: two signatures, separated by a space.",
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

type Renderer = ReturnType<typeof createSchemaRenderer>;

const COMMON_ERRORS: Record<number, string> = {
  413: "The body is larger than 1 MiB.",
  429: "Too many calls; see Retry-After.",
  500: "Internal Server Error.",
  503: "A dependency is unavailable or the request took too long; see Retry-After.",
};
/** Headers of errors by status, besides `X-Request-Id`. */
const ERROR_HEADERS: Record<number, readonly ResponseHeader[]> = {
  400: ["X-Ignored-Fields"],
  401: ["WWW-Authenticate"],
  429: ["RateLimit-Policy", "Retry-After", "RateLimit"],
  503: ["Retry-After"],
  504: ["Retry-After"],
};

/** The operation object of an endpoint. Its body and answer become components named after it. */
function renderOperation(declared: EndpointDeclaration, renderer: Renderer): JsonSchema {
  const { operationId, tag, summary, description, access, scope, aliasOf } = declared;
  const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
  const parameters = [
    ...(declared.query ? renderQueryParameters(renderer.render(declared.query)) : []),
    ...(declared.idempotent ? [toRequestHeaderReference("IdempotencyKey")] : []),
    ...(declared.takesBookmark ? [toRequestHeaderReference("Bookmark")] : []),
    ...(declared.isConditional ? [toRequestHeaderReference("IfNoneMatch")] : []),
  ];
  const text = [
    description,
    aliasOf && `Deprecated name of \`${aliasOf}\`.`,
    access === null
      ? "Access: anyone, without a key."
      : `Access: ${access}. ${declared.accessText}`,
  ];
  return {
    operationId,
    tags: [tag],
    summary,
    description: text.filter(Boolean).join("\n\n"),
    ...(aliasOf && { deprecated: true }),
    security: declared.security.map((scheme) => ({ [scheme]: [] })),
    "x-scope": scope,
    ...(parameters.length > 0 && { parameters }),
    ...(declared.body && {
      requestBody: {
        required: true,
        content: toJsonContent(renderer.refer(`${name}Request`, declared.body)),
      },
    }),
    responses: {
      200: {
        description: "Success.",
        headers: toResponseHeaderReferences(
          ...COMMON_HEADERS,
          ...(answersBookmark(declared) ? (["X-D1-Bookmark"] as const) : []),
          ...(declared.isConditional ? (["ETag"] as const) : []),
          ...(declared.mayBePaged ? (["Link"] as const) : []),
          ...(declared.mayAskToRetry ? (["Retry-After"] as const) : []),
        ),
        content: declared.media
          ? { [declared.media]: { schema: renderer.render(declared.responseBody) } }
          : toJsonContent(renderer.refer(`${name}Response`, declared.responseBody)),
      },
      ...(declared.isConditional && {
        304: {
          description: "The response has not changed.",
          headers: toResponseHeaderReferences(...COMMON_HEADERS, "ETag"),
        },
      }),
      ...renderErrorResponses(declared, renderer),
    },
  };
}

/** Whether an operation reads near its caller or may write; `returnBookmark` answers for the latter. */
function answersBookmark({ method, takesBookmark, isConditional }: EndpointDeclaration): boolean {
  return takesBookmark || (method !== "get" && !isConditional);
}

const COMMON_HEADERS = ["X-Request-Id", "RateLimit-Policy", "X-Ignored-Fields"] as const;

function renderErrorResponses(declared: EndpointDeclaration, renderer: Renderer): JsonSchema {
  const { body, errorBody } = declared;
  const errors: Record<number, string> = { ...COMMON_ERRORS, ...declared.errors };
  if (!body) delete errors[413];
  return Object.fromEntries(
    Object.entries(errors).map(([text, description]) => {
      const status = Number(text);
      const headers = toResponseHeaderReferences("X-Request-Id", ...(ERROR_HEADERS[status] ?? []));
      const content = toJsonContent(renderer.render(errorBody(status)));
      return [text, { description, headers, content }];
    }),
  );
}

/** The parameters of a query, from the schema of all of them. */
function renderQueryParameters({ properties = {}, required = [] }: JsonSchema): JsonSchema[] {
  const names = required as string[];
  return Object.entries(properties as Record<string, JsonSchema>).map(([name, property]) => {
    const { description, deprecated, ...schema } = property;
    return {
      name,
      in: "query",
      required: names.includes(name),
      description,
      ...(deprecated === true && { deprecated }),
      schema,
    };
  });
}

function toJsonContent(schema: JsonSchema): JsonSchema {
  return { "application/json": { schema } };
}
