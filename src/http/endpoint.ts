import { OpenAPIHono, z } from "@hono/zod-openapi";
import { type Access, authenticate, permit } from "./authenticate.ts";
import { readJson } from "./body.ts";
import type { AppContext, AppEnv } from "./context.ts";
import { withDeadline } from "./deadline.ts";
import { type Documentation, documentation } from "./documentation.ts";
import { envelope, type SuccessStatus } from "./envelope.ts";
import { brake, brakeStranger } from "./rate-limit.ts";
import { validate } from "./validation.ts";

/** An endpoint, declared once: this validates it, types its handler and documents it. */
export interface Endpoint<Query extends z.ZodType, Body extends z.ZodType, Data extends z.ZodType> {
  method: "get" | "post" | "patch" | "delete";
  /** Without the prefix of its router and without a trailing slash; it answers with one too. */
  path: string;
  access: Access;
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
  status?: SuccessStatus;
  /** Answers with the data alone, where another protocol says what a body looks like. */
  isPlain?: boolean;
  /** Errors beyond those that every endpoint can answer, with their reason. */
  errors?: Record<number, string>;
  /** Milliseconds; default 10 s. */
  deadlineMs?: number;
}

/** Answers with the endpoint's data, or with a whole response it has put together itself. */
export type Handler<Query extends z.ZodType, Body extends z.ZodType, Data extends z.ZodType> = (
  c: AppContext,
  input: { query: z.output<Query>; body: z.output<Body> },
) => Promise<z.input<Data> | Response>;

/** A router for one feature's endpoints; paths answer with and without a trailing slash. */
export function createRouter(): OpenAPIHono<AppEnv> {
  return new OpenAPIHono<AppEnv>({ strict: false });
}

/**
 * Serves an endpoint. The order of checks is that of decisions §1: key (401), permission (403),
 * rate (429), then what was sent (400, 413); the rest is the handler's. An address is braked before
 * the database is asked for a key of which nothing is known yet.
 *
 * @example
 * serve(router, {
 *   method: "get", path: "/things", access: "User", tag: "Things", summary: "Lists things",
 *   query: z.object(page), data: z.object({ Things: z.array(thing) }),
 * }, async (c, { query }) => ({ Things: await listThings(c.env, query) }));
 */
export function serve<
  Data extends z.ZodType,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(
  router: OpenAPIHono<AppEnv>,
  endpoint: Endpoint<Query, Body, Data>,
  handler: Handler<Query, Body, Data>,
): void {
  router.openAPIRegistry.registerPath(documented(endpoint));
  const nothing = z.undefined();

  const answer = async (c: AppContext): Promise<Response> => {
    if (endpoint.access === "none") await brakeStranger(c);
    else {
      c.set("caller", await authenticate(c));
      permit(c.var.caller, endpoint.access);
      await brake(c);
    }
    const query = endpoint.query && queryObject(c);
    const body = endpoint.body && (await readJson(c));
    const result = await handler(c, {
      query: (await validate(endpoint.query ?? nothing, query, "query")) as z.output<Query>,
      body: (await validate(endpoint.body ?? nothing, body, "body")) as z.output<Body>,
    });
    if (result instanceof Response) return result;
    const plain = endpoint.isPlain ? result : envelope(result, endpoint.status);
    return c.json(plain as object, 200);
  };

  router.on([endpoint.method.toUpperCase()], [endpoint.path], (c) =>
    withDeadline(c, endpoint.deadlineMs, () => answer(c)),
  );
}

/**
 * The query's parameters by name. One that was sent more than once becomes a list, which no schema
 * takes.
 */
export function queryObject(c: AppContext): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => {
      const [first] = values;
      return [name, values.length === 1 && first !== undefined ? first : values];
    }),
  );
}

const errorBody = z
  .object({ status: z.literal("error"), error: z.object({ message: z.string() }) })
  .openapi("Error");

const COMMON_ERRORS: Record<number, string> = {
  400: "What was sent is missing, malformed or out of bounds; the message names the field.",
  401: "The API key is missing, unknown or revoked.",
  403: "The API key lacks the permission or the network.",
};

function documented(endpoint: Endpoint<z.ZodType, z.ZodType, z.ZodType>): Documentation {
  const { query, body, access, data, status = "success" } = endpoint;
  const errors = { ...COMMON_ERRORS };
  if (access === "none") for (const status of [401, 403]) delete errors[status];
  if (!body && !query) delete errors[400];
  return documentation(endpoint, {
    access: access === "none" ? null : access,
    security: access === "none" ? [] : [{ token: [] }],
    answer: endpoint.isPlain ? data : z.object({ status: z.literal(status), data }),
    errorBody,
    errors,
  });
}
