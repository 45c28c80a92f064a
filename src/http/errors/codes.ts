import type { ContentfulStatusCode } from "hono/utils/http-status";

/** An error as docs/errors.md and the page `/docs/errors` list it. */
interface ErrorDescription {
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
    meaning: "A value is missing, malformed or out of bounds.",
    remedy: "Correct the field in `error.field`; the message says what is right.",
  },
  insufficient_funds: {
    status: 400,
    meaning:
      "`POST /purchase`: the API key has no credits left, or the price exceeds its spending limits. Others answer 402.",
    remedy: "Ask an administrator to raise the credits or limits. Nothing was done or charged.",
  },
  quote_expired: {
    status: 400,
    meaning: "Too little time is left to accept the quote.",
    remedy: "Request another quote from the seller. Nothing was done or charged.",
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
    remedy: "Ask an administrator for a key. A new key works at once.",
  },
  out_of_credits: {
    status: 402,
    meaning: "The API key has no credits left.",
    remedy: "Ask an administrator to raise `maxUsageCredits`. Nothing was done or charged.",
  },
  budget_exceeded: {
    status: 402,
    meaning: "The API key's budget for this wallet and token does not cover the payment.",
    remedy: "Ask an administrator to raise the budget.",
  },
  spending_limit_exceeded: {
    status: 402,
    meaning: "The price exceeds the rest of the API key's `spendingLimits`.",
    remedy: "Ask an administrator to raise the limits.",
  },
  insufficient_balance: {
    status: 402,
    meaning: "The wallet holds too little of the token.",
    remedy: "Send funds to the wallet.",
  },
  permit2_not_approved: {
    status: 402,
    meaning: "The wallet has not approved the Permit2 contract for enough of the token.",
    remedy:
      "Call `approve` of the token from the wallet, with the contract and amount of the message, then repeat the request.",
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
    meaning: "Another API key created the object.",
    remedy: "Use that key, or an Admin key.",
  },
  not_found: {
    status: 404,
    meaning: "The object does not exist, or the API key may not see it.",
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
    meaning: "The request contradicts stored data.",
    remedy: "Read the message, which names the contradiction.",
  },
  already_exists: {
    status: 409,
    meaning: "The object already exists.",
    remedy: "Use or change the existing object.",
  },
  wrong_state: {
    status: 409,
    meaning: "The object's state does not allow the request.",
    remedy: "Read the object. Wait until its state allows the request.",
  },
  changed_concurrently: {
    status: 409,
    meaning: "Another request changed the object at the same time.",
    remedy: "Read the object and try again.",
  },
  identifier_reused: {
    status: 409,
    meaning: "Another request has used the identifier or the payment's authorization.",
    remedy: "Use a new identifier or authorization.",
  },
  event_expired: {
    status: 410,
    meaning: "The service has deleted the events: it keeps them for `EVENT_RETENTION_DAYS`.",
    remedy: "Read older changes from the diffs.",
  },
  body_too_large: {
    status: 413,
    meaning: "The body is larger than 1 MiB.",
    remedy: "Send a smaller body.",
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
  settlement_backlog: {
    status: 429,
    meaning:
      "The network's facilitator wallets have as many x402 settlements open as they can settle soon.",
    remedy:
      "Wait for the seconds in `Retry-After`, then verify the payment again. Nothing was claimed.",
  },
  internal_error: {
    status: 500,
    meaning: "The service has a fault. Only the log has details.",
    remedy: "Report the fault with `error.requestId`.",
  },
  not_implemented: {
    status: 501,
    meaning: "Another service has the operation, and this service does not offer it.",
    remedy: "Read the message, which says why.",
  },
  upstream_failed: {
    status: 502,
    meaning: "A dependency failed.",
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
    meaning: "The request took too long. It may still take effect.",
    remedy: "Repeat the request after `Retry-After`, with the same Idempotency-Key if it has one.",
  },
  database_unavailable: {
    status: 503,
    meaning: "The database does not answer. The request may have taken effect.",
    remedy: "Repeat the request after `Retry-After`, with the same Idempotency-Key if it has one.",
  },
  database_full: {
    status: 503,
    meaning: "The database has no room for the request. Requests that only read still work.",
    remedy:
      "Repeat the request after `Retry-After`, with the same Idempotency-Key if it has one. An operator has to make room.",
  },
  archive_behind: {
    status: 503,
    meaning:
      "An archive lacks records that the database moved there: it was set back, or it is not bound.",
    remedy:
      "Repeat the request after `Retry-After`. An operator has to put the archive forward or bind it.",
  },
  chain_provider_unavailable: {
    status: 503,
    meaning: "The chain provider accepts no calls at the moment.",
    remedy: "Wait for the seconds in `Retry-After`.",
  },
  not_ready: {
    status: 503,
    meaning: "A payment source has not synced within the `maxLagMs` of `GET /health/ready`.",
    remedy: "See `data.sources` of the response; docs/monitoring.md says what to do.",
  },
  upstream_timeout: {
    status: 504,
    meaning: "A dependency did not answer in time.",
    remedy: "Wait for the seconds in `Retry-After`.",
  },
} as const satisfies Record<string, ErrorDescription>;

export type ErrorCode = keyof typeof ERROR_CODES;
export type ErrorStatus = (typeof ERROR_CODES)[ErrorCode]["status"];

/** The codes of a status, the general one first. */
export function listCodes(status: number): ErrorCode[] {
  return (Object.keys(ERROR_CODES) as ErrorCode[]).filter(
    (code) => ERROR_CODES[code].status === status,
  );
}

/** The code of an error of which only the status is known. */
export function generalCodeOf(status: ErrorStatus): ErrorCode {
  const [code] = listCodes(status);
  if (code === undefined) throw new RangeError(`no error has the status ${status}`);
  return code;
}
