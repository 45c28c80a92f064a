import * as z from "zod";
import { authenticate, requireAccess } from "./authenticate.ts";
import { readJsonBody } from "./body.ts";
import type { AppContext } from "./context.ts";
import { runWithDeadline } from "./deadline.ts";
import { type SuccessStatus, toEnvelope } from "./envelope.ts";
import { listCodes } from "./errors/codes.ts";
import { checkIdempotencyKey } from "./idempotency.ts";
import { definitionOf, toWireNames } from "./names/translate.ts";
import { toExternalFieldName } from "./names/wire-names.ts";
import { described, named, textField } from "./openapi/fields.ts";
import { enforceAddressRateLimit, enforceRateLimit } from "./rate-limit.ts";
import type { EndpointDeclaration, EndpointDescription, Router } from "./router.ts";
import {
  type AccessRules,
  describeAccessRules,
  requireNamedNetwork,
  type UntypedAccessRules,
} from "./scope.ts";
import { createConditionalResponse } from "./session.ts";
import { REPEATED_PARAMETER, validate } from "./validation.ts";

export { createRouter, type Router } from "./router.ts";

/** An endpoint, declared once: this validates its input, types its handler and documents it. */
type Endpoint<
  Query extends z.ZodType,
  Body extends z.ZodType,
  Data extends z.ZodType,
> = EndpointContract<Query, Body, Data> & AccessRules<Query, Body>;

interface EndpointContract<Query extends z.ZodType, Body extends z.ZodType, Data extends z.ZodType>
  extends EndpointDescription {
  query?: Query;
  body?: Body;
  data: Data;
  status?: SuccessStatus;
  /** Answers with the data alone, where another protocol defines the body. */
  isUnwrapped?: boolean;
  /** Milliseconds; default 10 s. */
  deadlineMs?: number;
  /** What the bodies of errors have beside `error`, by status; each is named in the document. */
  beside?: Record<number, { name: string; members: z.ZodRawShape }>;
}

/** Answers with the endpoint's data, or with a complete response. */
type Handler<Query extends z.ZodType, Body extends z.ZodType, Data extends z.ZodType> = (
  c: AppContext,
  input: { query: z.output<Query>; body: z.output<Body> },
) => Promise<z.input<Data> | Response>;

/**
 * Serves an endpoint. Five checks run in this order: key (401), permission (403), rate (429), input
 * (400, 413), and the network that the input names (403). The handler does the rest. An address is rate
 * limited before the database looks up a key that is not cached.
 *
 * @example
 * serve(router, {
 *   method: "get", path: "/things", operationId: "listThings", access: "User", scope: "owner",
 *   tag: "Things", summary: "Lists things", query: z.object(page), data: z.object({ Things: z.array(thing) }),
 * }, async (c, { query }) => ({ Things: await listThings(c.env, query) }));
 */
export function serve<
  Data extends z.ZodType,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(
  router: Router,
  endpoint: Endpoint<Query, Body, Data>,
  handler: Handler<Query, Body, Data>,
): void {
  router.declared.push(toDeclaration(endpoint));

  const respond = async (c: AppContext): Promise<Response> => {
    if (endpoint.access === "none") await enforceAddressRateLimit(c);
    else {
      c.set("caller", await authenticate(c));
      requireAccess(c.var.caller, endpoint.access);
      await enforceRateLimit(c);
    }
    const input = await readInput(c, endpoint);
    if (endpoint.access !== "none") requireNamedNetwork(c.var.caller, input);
    const result = await handler(c, input);
    if (result instanceof Response) return result;
    const data = toWireNames(endpoint.data, result);
    const plain: unknown = endpoint.isUnwrapped ? data : toEnvelope(data, endpoint.status);
    return endpoint.isConditional
      ? createConditionalResponse(c, JSON.stringify(plain))
      : c.json(plain as object);
  };

  router.on([endpoint.method.toUpperCase()], [endpoint.path], (c) => {
    c.set("operationId", endpoint.operationId);
    return runWithDeadline(c, endpoint.deadlineMs, () => respond(c));
  });
}

/**
 * What was sent to an endpoint, as its schemas read it. The answer's header `x-ignored-fields` names
 * what they do not know: fields of the body, and parameters of the URL.
 *
 * @throws ApiError 400, 413
 */
export async function readInput<Query extends z.ZodType, Body extends z.ZodType>(
  c: AppContext,
  endpoint: { query?: Query; body?: Body; idempotent?: boolean },
): Promise<{ query: z.output<Query>; body: z.output<Body> }> {
  const sent = endpoint.body && (await readJsonBody(c));
  const parameters = readQueryParameters(c);
  const ignored = findIgnoredFields([
    { schema: endpoint.query ?? NO_PARAMETERS, value: parameters },
    { schema: endpoint.body ?? z.unknown(), value: sent },
  ]);
  if (ignored.length > 0) c.header("x-ignored-fields", ignored.join(","));
  const query = endpoint.query && (await validate(endpoint.query, parameters, "query"));
  const body = endpoint.body && (await validate(endpoint.body, sent, "body"));
  if (endpoint.idempotent) checkIdempotencyKey(c);
  c.set("body", body);
  return { query: query as z.output<Query>, body: body as z.output<Body> };
}

const NO_PARAMETERS = z.object({});

/** The query's parameters by name; `REPEATED_PARAMETER` for one that was sent more than once. */
function readQueryParameters(
  c: AppContext,
): Record<string, string | typeof REPEATED_PARAMETER | undefined> {
  return Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [
      name,
      values.length === 1 ? values[0] : REPEATED_PARAMETER,
    ]),
  );
}

/** Names of the schemas of errors; others have that of their status. */
const ERROR_NAMES: Record<number, string> = {
  400: "InvalidRequest",
  401: "Unauthorized",
  402: "PaymentRequired",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  413: "BodyTooLarge",
  422: "IdempotencyKeyReused",
  429: "RateLimited",
  500: "Internal",
  501: "NotImplemented",
  502: "UpstreamFailed",
  503: "Unavailable",
  504: "UpstreamTimeout",
};

const errorBodies = new Map<number, z.ZodObject>();

/** The body of an error with a status, and the codes that it can have. */
function errorBodySchemaOf(status: number): z.ZodObject {
  const known = errorBodies.get(status);
  if (known) return known;
  const name = `${ERROR_NAMES[status] ?? `Status${status}`}Error`;
  const [general = "", ...special] = listCodes(status);
  const code = named(
    `${name}Code`,
    "Code of an error, for programs.",
    z.enum([general, ...special]),
  );
  const error = z.object({
    message: textField("Explanation for people.", "limit: must be at most 100"),
    code: described(code, "Code for programs, whose meaning never changes.", general),
    field: described(
      z.string().optional(),
      "Field, header or parameter at fault. Omitted: none.",
      "limit",
    ),
    requestId: textField("`x-request-id` of the response.", "01m80ye05tw8d5k11en0zccppg"),
    docs: described(
      z.url(),
      "Explanation of the code.",
      `https://pay.example.com/docs/errors#${general}`,
    ),
  });
  const body = named(
    name,
    `An error of the status ${status}.`,
    z.object({
      status: described(z.literal("error"), "Marks an error.", "error"),
      error: described(error, "The error."),
    }),
  );
  errorBodies.set(status, body);
  return body;
}

const COMMON_ERRORS: Record<number, string> = {
  400: "A value is missing, malformed or out of bounds; the message names the field.",
  401: "The API key is missing, unknown or revoked.",
  403: "The API key lacks the permission or the network.",
};

function toDeclaration(
  endpoint: EndpointContract<z.ZodType, z.ZodType, z.ZodType> & UntypedAccessRules,
): EndpointDeclaration {
  const { query, body, access, scope, names, data, status = "success" } = endpoint;
  const errors = { ...COMMON_ERRORS };
  if (endpoint.idempotent) errors[422] = "The Idempotency-Key was used for another request.";
  if (access === "none") for (const status of [401, 403]) delete errors[status];
  if (!body && !query) delete errors[400];
  return {
    ...endpoint,
    access: access === "none" ? null : access,
    accessText: describeAccessRules(scope, names),
    scope,
    security: access === "none" ? [] : ["token", "bearer"],
    responseBody:
      endpoint.isUnwrapped || endpoint.media
        ? data
        : z.object({
            status: described(z.literal(status), "Marks a success.", status),
            data: described(data, "Data of the response."),
          }),
    errorBody(status) {
      const more = endpoint.beside?.[status];
      if (!more) return errorBodySchemaOf(status);
      const text = `An error of the status ${status}, with details.`;
      return named(more.name, text, errorBodySchemaOf(status).extend(more.members));
    },
    errors: { ...errors, ...endpoint.errors },
  };
}

/** Fields that the header names at most. */
const MAX_IGNORED_FIELDS = 20;
/** Characters that the header repeats of a name; clients refuse headers of more than 16 KiB. */
const MAX_NAME_LENGTH = 60;
/** Other protocols or the sender define what these hold: the search leaves them out. */
const OPAQUE_FIELDS = new Set(["paymentPayload", "metadata"]);

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
  for (const { schema, value } of sent) collectIgnoredFields(schema, value, [], found);
  return [...found];
}

function collectIgnoredFields(
  schema: z.ZodType,
  value: unknown,
  path: readonly string[],
  found: Set<string>,
): void {
  if (typeof value !== "object" || value === null) return;
  const { type, innerType, in: input, out, element, valueType, options } = definitionOf(schema);
  const walk = (inner: z.ZodType | undefined, part: unknown = value, name?: string) =>
    inner && collectIgnoredFields(inner, part, name === undefined ? path : [...path, name], found);
  switch (type) {
    case "object":
      if (!Array.isArray(value)) collectIgnoredObjectFields(schema, value, path, found);
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

function collectIgnoredObjectFields(
  schema: z.ZodType,
  value: object,
  path: readonly string[],
  found: Set<string>,
): void {
  const { shape = {}, catchall } = definitionOf(schema);
  const known = new Map(
    Object.entries(shape).map(([name, field]) => [
      Object.hasOwn(value, name) ? name : toExternalFieldName(name),
      field,
    ]),
  );
  for (const [name, part] of Object.entries(value)) {
    if (found.size >= MAX_IGNORED_FIELDS) return;
    const field = known.get(name) ?? catchall;
    if (!field) found.add([...path, name].map(encodeFieldName).join("."));
    else if (!OPAQUE_FIELDS.has(name)) collectIgnoredFields(field, part, [...path, name], found);
  }
}

function encodeFieldName(name: string): string {
  if (name === "") return encodeURIComponent('""');
  const text = name.slice(0, MAX_NAME_LENGTH).toWellFormed();
  return encodeURIComponent(text).replaceAll(".", "%2E");
}
