import type { Schemas } from "./client.ts";
import { retryAfterMs } from "./transport.ts";

/** What tells errors apart; later versions of a service may have further ones. */
export type ErrorCode = Schemas["ApiError"]["error"]["code"];

/** The service answered with an error. */
export class ServiceError extends Error {
  override name = "ServiceError";
  /** Of the HTTP answer. */
  readonly status: number;
  /** Null where something before the service answered, such as a proxy. */
  readonly code: ErrorCode | null;
  /** The field, header or parameter to blame. */
  readonly field: string | undefined;
  /** Tells the operator which request it was. */
  readonly requestId: string | undefined;
  /** Milliseconds after which it may be tried again, where the service says so. */
  readonly retryAfterMs: number | undefined;
  /** The body of the answer, parsed. */
  readonly body: unknown;

  constructor(response: Response, body: unknown) {
    const { error } = (body ?? {}) as Partial<Schemas["ApiError"]>;
    const apiError = typeof error === "object" ? error : undefined;
    super(apiError?.message ?? `the service answered ${response.status}`);
    this.status = response.status;
    this.code = apiError?.code ?? null;
    this.field = apiError?.field;
    this.requestId = apiError?.requestId ?? response.headers.get("x-request-id") ?? undefined;
    this.retryAfterMs = retryAfterMs(response);
    this.body = body;
  }
}

/** Whether a failure is temporary: of the service, of its limits or of the connection. */
export function isTemporary(error: unknown): boolean {
  return !(error instanceof ServiceError) || error.status === 429 || error.status >= 500;
}

/**
 * The data of an answer.
 *
 * @throws ServiceError when the service refused
 *
 * @example
 * const { Purchases } = unwrap(await client.GET("/api/v1/purchase", { params }));
 */
export function unwrap<Body extends { data: unknown }>(answer: {
  data?: Body;
  error?: unknown;
  response: Response;
}): Body["data"] {
  if (answer.data === undefined) throw new ServiceError(answer.response, answer.error);
  return answer.data.data;
}
