import * as z from "zod";
import { adminErrorBody } from "./admin-errors.ts";
import { authenticateBearer, requireAccess } from "./authenticate.ts";
import type { AppContext } from "./context.ts";
import { runWithDeadline } from "./deadline.ts";
import { readInput } from "./endpoint.ts";
import { toIsoTime } from "./envelope.ts";
import { described, named, textField, timestampField } from "./openapi/fields.ts";
import { enforceRateLimit } from "./rate-limit.ts";
import type { EndpointDeclaration, EndpointDescription, Router } from "./router.ts";
import { describeAccessRules } from "./scope.ts";

/** An endpoint under /v1, declared once. Its schemas are strict: an unknown field is refused. */
export interface AdminEndpoint<
  Query extends z.ZodType,
  Body extends z.ZodType,
  Data extends z.ZodType,
> extends EndpointDescription {
  query?: Query;
  body?: Body;
  data: Data;
}

const nullableCursor = z.string().nullable();
const pagination = named(
  "Pagination",
  "Position of a page in its list.",
  z.object({
    cursor: described(nullableCursor, "`cursorId` of the request.", "01m80ye14arhma0jvpxvf6nc73"),
    limit: described(z.int().min(0), "Maximum number of items on a page.", 10),
    total: described(
      z.int().min(0).nullable(),
      "Number of items in the list. Null: not counted.",
      3,
    ),
    nextCursor: described(
      nullableCursor,
      "`cursorId` of the next page. Null: this is the last page.",
      "01m80ydzwf9y6z8qdyyy1mc03x",
    ),
  }),
);

/** Position of a page in its list. */
export type Pagination = z.infer<typeof pagination>;

/** Answers with the endpoint's data and, for a list, its page's position. */
export type AdminHandler<
  Query extends z.ZodType,
  Body extends z.ZodType,
  Data extends z.ZodType,
> = (
  c: AppContext,
  input: { query: z.output<Query>; body: z.output<Body> },
) => Promise<{ data: z.input<Data>; pagination?: Pagination }>;

/**
 * Serves an endpoint under /v1 to Admin API keys, sent as bearer tokens. Its answer is
 * `{data, meta}`; its errors have the shape of `errors.ts`. Checks run in the order of `serve`.
 */
export function serveAdmin<
  Data extends z.ZodType,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(
  router: Router,
  endpoint: AdminEndpoint<Query, Body, Data>,
  handler: AdminHandler<Query, Body, Data>,
): void {
  router.declared.push(toDeclaration(endpoint));

  const respond = async (c: AppContext): Promise<Response> => {
    c.set("caller", await authenticateBearer(c));
    requireAccess(c.var.caller, "Admin");
    await enforceRateLimit(c);
    const { data, pagination } = await handler(c, await readInput(c, endpoint));
    const meta = {
      timestamp: toIsoTime(Date.now()),
      requestId: c.var.requestId,
      ...(pagination && { pagination }),
    };
    return c.json({ data, meta } as object, 200);
  };

  router.on([endpoint.method.toUpperCase()], [endpoint.path], (c) =>
    runWithDeadline(c, undefined, () => respond(c)),
  );
}

/** A page of a list whose query asked for one row more than `limit`, to tell whether more follow. */
export function paginate<Row extends { id: string }>(
  rows: readonly Row[],
  { limit, cursorId }: { limit: number; cursorId?: string | undefined },
): { items: Row[]; pagination: Pagination } {
  const items = rows.slice(0, limit);
  const nextCursor = rows.length > limit ? (items.at(-1)?.id ?? null) : null;
  return { items, pagination: { cursor: cursorId ?? null, limit, total: null, nextCursor } };
}

const COMMON_ERRORS: Record<number, string> = {
  401: "The bearer token is missing, unknown or revoked.",
  403: "The API key is no Admin key.",
  422: "A value is missing, malformed, out of bounds or unknown; the message names the field.",
};

function toDeclaration(
  endpoint: AdminEndpoint<z.ZodType, z.ZodType, z.ZodType>,
): EndpointDeclaration {
  return {
    ...endpoint,
    access: "Admin",
    scope: "admin",
    accessText: describeAccessRules("admin"),
    security: ["bearer"],
    responseBody: z.object({
      data: described(endpoint.data, "Data of the response."),
      meta: described(metaSchema, "Metadata of the response."),
    }),
    errorBody: () => adminErrorBody,
    errors: { ...COMMON_ERRORS, ...endpoint.errors },
  };
}

const metaSchema = named(
  "Meta",
  "Metadata of a response under /v1.",
  z.object({
    timestamp: timestampField("Time of the response."),
    requestId: textField("`x-request-id` of the response.", "01m80ye05tw8d5k11en0zccppg"),
    pagination: described(pagination.optional(), "Position in a list."),
  }),
);
