import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { adminErrorBody } from "./admin-errors.ts";
import { authenticateBearer, permit } from "./authenticate.ts";
import { readJson } from "./body.ts";
import type { AppContext, AppEnv } from "./context.ts";
import { withDeadline } from "./deadline.ts";
import { type Documentation, documentation } from "./documentation.ts";
import { queryObject } from "./endpoint.ts";
import { isoTime } from "./envelope.ts";
import { brake } from "./rate-limit.ts";
import { validate } from "./validation.ts";

/** An endpoint under /v1, declared once. Its schemas are strict: an unknown field is refused. */
export interface AdminEndpoint<
  Query extends z.ZodType,
  Body extends z.ZodType,
  Data extends z.ZodType,
> {
  method: "get" | "post" | "delete";
  /** Without the prefix of its router and without a trailing slash; it answers with one too. */
  path: string;
  /** The feature, under which the reference lists it. */
  tag: string;
  summary: string;
  description?: string;
  /** Of GET. */
  query?: Query;
  /** Of every other method. */
  body?: Body;
  /** Whether it reads `Idempotency-Key`; see `idempotency.ts`. */
  idempotent?: boolean;
  data: Data;
  /** Errors beyond those that every endpoint can answer, with their reason. */
  errors?: Record<number, string>;
}

const pagination = z
  .object({
    cursor: z.string().nullable().openapi({ description: "The `cursorId` that was sent." }),
    limit: z.int(),
    total: z.int().nullable().openapi({ description: "Null where items are not counted." }),
    nextCursor: z.string().nullable().openapi({ description: "Null: this is the last page." }),
  })
  .openapi("Pagination");

/** Where a page of a list stands. */
export type Pagination = z.infer<typeof pagination>;

/** Answers with the endpoint's data and, for a list, where its page stands. */
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
 * `{data, meta}`; its errors have the shape of `admin-errors.ts`. Checks have the order of `serve`.
 */
export function serveAdmin<
  Data extends z.ZodType,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(
  router: OpenAPIHono<AppEnv>,
  endpoint: AdminEndpoint<Query, Body, Data>,
  handler: AdminHandler<Query, Body, Data>,
): void {
  router.openAPIRegistry.registerPath(documented(endpoint));
  const nothing = z.undefined();

  const answer = async (c: AppContext): Promise<Response> => {
    c.set("caller", await authenticateBearer(c));
    permit(c.var.caller, "Admin");
    await brake(c);
    const query = endpoint.query && queryObject(c);
    const body = endpoint.body && (await readJson(c));
    const { data, pagination } = await handler(c, {
      query: (await validate(endpoint.query ?? nothing, query, "query")) as z.output<Query>,
      body: (await validate(endpoint.body ?? nothing, body, "body")) as z.output<Body>,
    });
    const meta = {
      timestamp: isoTime(Date.now()),
      requestId: c.var.requestId,
      ...(pagination && { pagination }),
    };
    return c.json({ data, meta } as object, 200);
  };

  router.on([endpoint.method.toUpperCase()], [endpoint.path], (c) =>
    withDeadline(c, undefined, () => answer(c)),
  );
}

/**
 * A page of a list whose query asked for one row more than `limit`, to learn whether more follow.
 *
 * @param idOf - what `cursorId` is compared with
 */
export function paginate<Row>(
  rows: readonly Row[],
  { limit, cursorId }: { limit: number; cursorId?: string | undefined },
  idOf: (row: Row) => string,
): { items: Row[]; pagination: Pagination } {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  const nextCursor = more ? idOf(last) : null;
  return { items, pagination: { cursor: cursorId ?? null, limit, total: null, nextCursor } };
}

const COMMON_ERRORS: Record<number, string> = {
  401: "The bearer token is missing, unknown or revoked.",
  403: "The API key is not an Admin's.",
  422: "What was sent is missing, malformed, out of bounds or unknown; the message names the field.",
};

function documented(endpoint: AdminEndpoint<z.ZodType, z.ZodType, z.ZodType>): Documentation {
  const meta = z.object({
    timestamp: z.iso.datetime(),
    requestId: z.string(),
    pagination: pagination.optional(),
  });
  return documentation(endpoint, {
    access: "Admin",
    security: [{ bearer: [] }],
    answer: z.object({ data: endpoint.data, meta }),
    errorBody: adminErrorBody,
    errors: COMMON_ERRORS,
  });
}
