import type { JsonSchema } from "./json-schema.ts";

const REQUEST_ID = "01m80ye05tw8d5k11en0zccppg";
const BOOKMARK = "00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683";
/** What a header's value can be anywhere: spaces at its ends are cut on the way. */
const PRINTABLE = "^[!-~]([ -~]*[!-~])?$";
const ETAG = 'W/"9f86d081884c7d659a2feaa0c55ad015"';

interface Header {
  description: string;
  schema: JsonSchema;
  example: string | number;
}

/** Headers of answers, as components of the document. */
export const RESPONSE_HEADERS = {
  "X-Request-Id": {
    description: "Identifies the request in logs, the audit log and `error.requestId`.",
    schema: { type: "string", pattern: "^[0-9a-z]{26}$" },
    example: REQUEST_ID,
  },
  "X-Ignored-Fields": {
    description:
      "Fields of the body and parameters of the URL that the service does not know and has ignored: at most 20 names, percent-encoded, with commas between. A dot separates an object from its field. Left out when there are none.",
    schema: { type: "string" },
    example: "nickname,AgentPricing.currency",
  },
  "RateLimit-Policy": {
    description:
      "The limits of the API key (draft-ietf-httpapi-ratelimit-headers): `q` calls in `w` seconds. Beyond those of `minute` a key still has those of `burst`. How many are left is not known, since every location counts for itself.",
    schema: { type: "string" },
    example: '"minute";q=3000;w=60, "burst";q=300;w=10',
  },
  RateLimit: {
    description: "The limit that was met: nothing is left of it, for `t` seconds at most.",
    schema: { type: "string" },
    example: '"burst";r=0;t=10',
  },
  "Retry-After": {
    description: "Seconds to wait before the request is sent again.",
    schema: { type: "integer", minimum: 1 },
    example: 10,
  },
  "WWW-Authenticate": {
    description:
      "The scheme that an API key is sent with (RFC 6750); `error` tells a key that is not valid.",
    schema: { type: "string", pattern: "^Bearer " },
    example: 'Bearer realm="agent-payment-service", error="invalid_token"',
  },
  "X-D1-Bookmark": {
    description:
      "How new the answer is. Sent back with a later request, it gets an answer at least as new.",
    schema: { type: "string" },
    example: BOOKMARK,
  },
  Link: {
    description:
      'What follows, as `<path>; rel="next"` (RFC 8288); left out when nothing does. It needs the API key as well.',
    schema: { type: "string" },
    example:
      '</api/v1/payment/csv?network=Preprod&cursorId=01m80ye14arhma0jvpxvf6nc73>; rel="next"',
  },
  ETag: {
    description:
      "Stands for the body. Sent back as `If-None-Match`, an unchanged answer is 304 without a body.",
    schema: { type: "string", pattern: '^W/"[0-9a-f]{32}"$' },
    example: ETAG,
  },
} as const satisfies Record<string, Header>;

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** References to headers, for an answer. */
export function headers(...names: ResponseHeader[]): Record<string, JsonSchema> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Headers of requests, as components of the document. */
export const REQUEST_HEADERS = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Makes the request safe to repeat: within 24 hours the same request under the same key gets the first answer, another request 422.",
    schema: { type: "string", pattern: PRINTABLE, minLength: 1, maxLength: 255 },
    example: "order-2026-11-22-0001",
  },
  Bookmark: {
    name: "x-d1-bookmark",
    in: "header",
    description: "The `x-d1-bookmark` of an earlier answer: this one is then at least as new.",
    schema: { type: "string", pattern: "^[0-9a-f]{1,16}(-[0-9a-f]{1,64}){1,5}$" },
    example: BOOKMARK,
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description: "The `ETag` of an earlier answer: when this one is the same, it is 304.",
    schema: { type: "string", pattern: PRINTABLE },
    example: ETAG,
  },
} as const;

/** A reference to a header of requests, as a parameter. */
export function requestHeader(name: keyof typeof REQUEST_HEADERS): JsonSchema {
  return { $ref: `#/components/parameters/${name}` };
}
