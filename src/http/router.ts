import { Hono } from "hono";
import type * as z from "zod";
import type { AppEnv } from "./context.ts";
import type { Tag } from "./openapi/texts.ts";
import type { Scope } from "./scope.ts";

/** Of both kinds of endpoint, what the document shows. */
export interface EndpointDescription {
  method: "get" | "post" | "patch" | "delete";
  /** Without the router's prefix and without a trailing slash; served with one too. */
  path: string;
  /** The name that generated clients give it: verb and noun, unique in the document. */
  operationId: string;
  /** The feature under which the reference lists it; its text is in `texts.ts`. */
  tag: Tag;
  summary: string;
  description?: string;
  /** Of GET. */
  query?: z.ZodType;
  /** Of every other method. */
  body?: z.ZodType;
  data: z.ZodType;
  /** The content type of a successful answer that is no JSON: text, which the handler answers itself. */
  media?: string;
  /** Whether it reads `Idempotency-Key`; see `idempotency.ts`. */
  idempotent?: boolean;
  /** What to call in its place, when it is only another name of that. */
  aliasOf?: string;
  /** Whether it answers with an ETag, and 304 to `If-None-Match`; see `session.ts`. */
  isConditional?: boolean;
  /** Whether it takes `x-d1-bookmark`; see `session.ts`. */
  takesBookmark?: boolean;
  /** Whether a successful answer may have `Link` to the next one. */
  mayBePaged?: boolean;
  /** Whether a successful answer may have `Retry-After`. */
  mayAskToRetry?: boolean;
  /** Errors beyond those common to all endpoints of the kind, with their reason. */
  errors?: Record<number, string>;
}

/** An endpoint as it was declared, with what follows from its kind. */
export interface EndpointDeclaration extends EndpointDescription {
  /** Null: anyone. */
  access: string | null;
  scope: Scope;
  /** What the scope and the guards say, for people. */
  accessText: string;
  /** The security schemes, one of which is needed; none: anyone may call. */
  security: readonly ("token" | "bearer")[];
  /** The whole body of a successful answer, around `data`. */
  responseBody: z.ZodType;
  /** The body of an error with a status. */
  errorBody: (status: number) => z.ZodType;
  /** Errors that every endpoint of the kind can answer. */
  errors: Record<number, string>;
}

/** An event that webhook endpoints subscribe to. */
export interface EventDeclaration {
  kind: string;
  summary: string;
  /** The record that it is about, as `data` of the delivery's body. */
  data: z.ZodType;
}

/** A router for one feature's endpoints, with what the document says of them. */
export interface Router extends Hono<AppEnv> {
  declared: EndpointDeclaration[];
  events: EventDeclaration[];
}

/** A router whose paths work with and without a trailing slash. */
export function createRouter(): Router {
  const router = new Hono<AppEnv>({ strict: false });
  return Object.assign(router, { declared: [], events: [] });
}
