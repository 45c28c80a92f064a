import type { JsonSchema } from "./json-schema.ts";

const EXAMPLE_REQUEST_ID = "01m80ye05tw8d5k11en0zccppg";
const EXAMPLE_BOOKMARK = "00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683";
/** What a header's value can be anywhere: spaces at its ends are cut on the way. */
const PRINTABLE_PATTERN = "^[!-~]([ -~]*[!-~])?$";
const EXAMPLE_ETAG = 'W/"9f86d081884c7d659a2feaa0c55ad015"';

interface HeaderDescription {
  description: string;
  schema: JsonSchema;
  example: string | number;
}

/** Headers of answers, as components of the document. */
export const RESPONSE_HEADERS = {
  "X-Request-Id": {
    description: "Identifies the request in logs, the audit log and `error.requestId`.",
    schema: { type: "string", pattern: "^[0-9a-z]{26}$" },
    example: EXAMPLE_REQUEST_ID,
  },
  "X-Ignored-Fields": {
    description:
      "Unknown body fields and URL parameters that the service ignored: at most 20 percent-encoded names, separated by commas. A dot separates an object from its field. Omitted: none.",
    schema: { type: "string" },
    example: "nickname,AgentPricing.currency",
  },
  "RateLimit-Policy": {
    description:
      "Rate limits of the API key (draft-ietf-httpapi-ratelimit-headers): `q` calls in `w` seconds. Beyond `minute`, a key still has the calls of `burst`. The number of remaining calls is unknown, since each location counts alone.",
    schema: { type: "string" },
    example: '"minute";q=3000;w=60, "burst";q=300;w=10',
  },
  RateLimit: {
    description: "The exhausted limit, which resets within `t` seconds.",
    schema: { type: "string" },
    example: '"burst";r=0;t=10',
  },
  "Retry-After": {
    description: "Seconds to wait before another try.",
    schema: { type: "integer", minimum: 1 },
    example: 10,
  },
  "WWW-Authenticate": {
    description: "Authentication scheme (RFC 6750). `error`: the API key is invalid.",
    schema: { type: "string", pattern: "^Bearer " },
    example: 'Bearer realm="agent-payment-service", error="invalid_token"',
  },
  "X-D1-Bookmark": {
    description:
      "Age of the response's data. A later request with this bookmark gets data at least as new, and what this request wrote.",
    schema: { type: "string" },
    example: EXAMPLE_BOOKMARK,
  },
  Link: {
    description:
      'Next page, as `<path>; rel="next"` (RFC 8288). Omitted on the last page. The path also requires the API key.',
    schema: { type: "string" },
    example:
      '</api/v1/payment/csv?network=Preprod&cursorId=01m80ye14arhma0jvpxvf6nc73>; rel="next"',
  },
  ETag: {
    description:
      "Version of the body. With this value in `If-None-Match`, an unchanged response is a 304 without a body.",
    schema: { type: "string", pattern: '^W/"[0-9a-f]{32}"$' },
    example: EXAMPLE_ETAG,
  },
} as const satisfies Record<string, HeaderDescription>;

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** References to headers, for an answer. */
export function toResponseHeaderReferences(...names: ResponseHeader[]): Record<string, JsonSchema> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Headers of requests, as components of the document. */
export const REQUEST_HEADERS = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Makes the request safe to repeat. Within 24 hours, the same request with the same key gets the first response; another request gets 422.",
    schema: { type: "string", pattern: PRINTABLE_PATTERN, minLength: 1, maxLength: 255 },
    example: "order-2026-11-22-0001",
  },
  Bookmark: {
    name: "x-d1-bookmark",
    in: "header",
    description:
      "The `x-d1-bookmark` of an earlier response. This response then has data at least as new.",
    schema: { type: "string", pattern: "^[0-9a-f]{1,16}(-[0-9a-f]{1,64}){1,5}$" },
    example: EXAMPLE_BOOKMARK,
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "The `ETag` of an earlier response. An unchanged response is a 304.",
    schema: { type: "string", pattern: PRINTABLE_PATTERN },
    example: EXAMPLE_ETAG,
  },
} as const;

/** A reference to a header of requests, as a parameter. */
export function toRequestHeaderReference(name: keyof typeof REQUEST_HEADERS): JsonSchema {
  return { $ref: `#/components/parameters/${name}` };
}
