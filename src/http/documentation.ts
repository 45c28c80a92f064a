import { type OpenAPIHono, z } from "@hono/zod-openapi";

/** A path as the reference is told of it. */
export type Documentation = Parameters<OpenAPIHono["openAPIRegistry"]["registerPath"]>[0];

/** What any endpoint says of itself. */
interface Described {
  method: Documentation["method"];
  path: string;
  tag: string;
  summary: string;
  description?: string;
  query?: z.ZodType;
  body?: z.ZodType;
  idempotent?: boolean;
  errors?: Record<number, string>;
}

/** What its kind adds: who may call it, and what its answers and errors look like. */
interface Kind {
  /** Null: whoever wants to. */
  access: string | null;
  security: Documentation["security"];
  answer: z.ZodType;
  errorBody: z.ZodType;
  /** Errors that every endpoint of the kind can answer, beyond those that all kinds have. */
  errors: Record<number, string>;
}

const COMMON_ERRORS: Record<number, string> = {
  413: "The body is larger than 1 MiB.",
  429: "Too many calls; see Retry-After.",
  500: "Internal Server Error.",
  503: "A dependency is unavailable or the request took too long; see Retry-After.",
};

/** Puts the documentation of an endpoint together. */
export function documentation(endpoint: Described, kind: Kind): Documentation {
  const { method, path, tag, summary, description, query, body } = endpoint;
  const errors = { ...COMMON_ERRORS, ...kind.errors, ...endpoint.errors };
  if (!body) delete errors[413];
  const access = kind.access !== null && `Access: ${kind.access}.`;
  const idempotencyKey = z.object({ "Idempotency-Key": z.string().max(255).optional() });
  return {
    method,
    path,
    tags: [tag],
    summary,
    description: [description, access].filter(Boolean).join("\n\n"),
    ...(kind.security && { security: kind.security }),
    request: {
      ...(query && { query: query as z.ZodObject }),
      ...(body && { body: { required: true, content: json(body) } }),
      ...(endpoint.idempotent && { headers: idempotencyKey }),
    },
    responses: {
      200: { description: "Success.", content: json(kind.answer) },
      ...Object.fromEntries(
        Object.entries(errors).map(([status, reason]) => [
          status,
          { description: reason, content: json(kind.errorBody) },
        ]),
      ),
    },
  };
}

function json(schema: z.ZodType) {
  return { "application/json": { schema } };
}
