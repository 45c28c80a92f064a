import type { ContentfulStatusCode } from "hono/utils/http-status";

/** An error as docs/errors.md and the page `/docs/errors` list it. */
interface DescribedError {
  status: ContentfulStatusCode;
  /** What has happened. */
  meaning: string;
  /** What the caller can do about it. */
  remedy: string;
}

/**
 * Every `error.code` under /api/v1. A code is never renamed and never gets another status. The first
 * of a status is the general one, for errors that clients need not tell from others.
 */
export const ERROR_CODES = {
  invalid_request: {
    status: 400,
    meaning: "What was sent is missing, malformed or out of bounds.",
    remedy: "Correct the field that `error.field` names; the message says what is right.",
  },
  insufficient_funds: {
    status: 400,
    meaning: "The API key has used all of its credits, or the price is beyond its spending limits.",
    remedy: "Ask an administrator to raise them. Nothing was done or charged.",
  },
  missing_key: {
    status: 401,
    meaning: "The request has no API key.",
    remedy: "Send the key in the header `token`, or as `Authorization: Bearer`.",
  },
  ambiguous_key: {
    status: 401,
    meaning: "The headers `token` and `Authorization` have different API keys.",
    remedy: "Send the key in one of them.",
  },
  unknown_key: {
    status: 401,
    meaning: "The API key is unknown or revoked.",
    remedy: "Ask an administrator for a key. A key that was just created is known at once.",
  },
  out_of_credits: {
    status: 402,
    meaning: "The API key has used all of its credits.",
    remedy: "Ask an administrator to raise `maxUsageCredits`. Nothing was done or charged.",
  },
  budget_exceeded: {
    status: 402,
    meaning: "The API key's budget for this wallet and token does not cover the payment.",
    remedy: "Ask an administrator to raise the budget.",
  },
  spending_limit_exceeded: {
    status: 402,
    meaning: "The price is beyond what the API key's `spendingLimits` leave.",
    remedy: "Ask an administrator to raise them.",
  },
  insufficient_balance: {
    status: 402,
    meaning: "The wallet holds too little of the token.",
    remedy: "Send funds to the wallet.",
  },
  permission_missing: {
    status: 403,
    meaning: "The API key may not call this endpoint.",
    remedy: "Use a key with the permission that the endpoint names.",
  },
  network_not_permitted: {
    status: 403,
    meaning: "The API key is limited to other networks.",
    remedy: "Use another network, or a key for this one.",
  },
  not_owner: {
    status: 403,
    meaning: "The object was made with another API key.",
    remedy: "Use the key that made it, or an Admin's.",
  },
  not_found: {
    status: 404,
    meaning: "There is no such object, or none that the API key may see.",
    remedy: "Check the id that `error.field` names.",
  },
  unknown_path: {
    status: 404,
    meaning: "The service has no such path.",
    remedy: "Check the path against the API reference at `/docs`.",
  },
  method_not_allowed: {
    status: 405,
    meaning: "The path does not take this method.",
    remedy: "Use one of the methods in the header `Allow`.",
  },
  conflict: {
    status: 409,
    meaning: "The request contradicts what is stored.",
    remedy: "The message says what it contradicts.",
  },
  already_exists: {
    status: 409,
    meaning: "There is such an object already.",
    remedy: "Use or change the one that exists.",
  },
  wrong_state: {
    status: 409,
    meaning: "The object's state does not allow it.",
    remedy: "Read the object; wait until its state allows it.",
  },
  changed_concurrently: {
    status: 409,
    meaning: "Another request changed the same object meanwhile.",
    remedy: "Read the object and try again.",
  },
  identifier_reused: {
    status: 409,
    meaning: "An identifier, or a payment's authorization, was used for something else.",
    remedy: "Use a new one; the message names the attempt that has it.",
  },
  body_too_large: {
    status: 413,
    meaning: "The body is larger than 1 MiB.",
    remedy: "Send less.",
  },
  idempotency_key_reused: {
    status: 422,
    meaning: "The Idempotency-Key was used for another request within 24 hours.",
    remedy: "Use a new key for a new request.",
  },
  rate_limited: {
    status: 429,
    meaning: "Too many calls with this API key, or from this address without one.",
    remedy: "Wait for the seconds in `Retry-After`.",
  },
  internal_error: {
    status: 500,
    meaning: "The service has a fault. The message tells nothing more, the log does.",
    remedy: "Report it with `error.requestId`.",
  },
  upstream_failed: {
    status: 502,
    meaning: "Something that the service depends on failed.",
    remedy: "Try again later.",
  },
  chain_provider_failed: {
    status: 502,
    meaning: "The chain provider failed.",
    remedy: "Try again later.",
  },
  rpc_node_failed: {
    status: 502,
    meaning: "The RPC node of the EVM chain failed or refused the call.",
    remedy: "Try again later, or have an administrator check the network's `rpcUrl`.",
  },
  price_source_failed: {
    status: 502,
    meaning: "The price source failed.",
    remedy: "Try again later, or send the rate in `CurrencyConversion`.",
  },
  unavailable: {
    status: 503,
    meaning: "The service cannot answer at the moment.",
    remedy: "Wait for the seconds in `Retry-After`.",
  },
  deadline_exceeded: {
    status: 503,
    meaning: "The request took too long. What it began may still be done.",
    remedy: "Repeat it after `Retry-After`, with the same Idempotency-Key where it takes one.",
  },
  database_unavailable: {
    status: 503,
    meaning: "The database does not answer. What the request began may have been done.",
    remedy: "Repeat it after `Retry-After`, with the same Idempotency-Key where it takes one.",
  },
  chain_provider_unavailable: {
    status: 503,
    meaning: "The chain provider takes no calls at the moment.",
    remedy: "Wait for the seconds in `Retry-After`.",
  },
  not_ready: {
    status: 503,
    meaning:
      "A payment source has not synced for as long as `GET /health/ready` was told to allow.",
    remedy: "Look at `data.sources` of the answer; docs/operating.md says what to do.",
  },
  upstream_timeout: {
    status: 504,
    meaning: "Something that the service depends on did not answer in time.",
    remedy: "Wait for the seconds in `Retry-After`.",
  },
} as const satisfies Record<string, DescribedError>;

export type ErrorCode = keyof typeof ERROR_CODES;
export type ErrorStatus = (typeof ERROR_CODES)[ErrorCode]["status"];

/** The codes of a status, the general one first. */
export function codesOf(status: number): ErrorCode[] {
  return (Object.keys(ERROR_CODES) as ErrorCode[]).filter(
    (code) => ERROR_CODES[code].status === status,
  );
}

/** The code of an error of which only the status is known. */
export function generalCode(status: ErrorStatus): ErrorCode {
  const [code] = codesOf(status);
  if (code === undefined) throw new RangeError(`no error has the status ${status}`);
  return code;
}
