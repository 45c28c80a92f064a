/** When the chain has decided a payment for good. */

/** A transaction is final with this many blocks on top, or after this long when no block comes. */
export const FINALITY_BLOCKS = 12;
export const FINALITY_TIMEOUT_MS = 10 * 60_000;
/** The same of chain time: no re-org brings back a block from so long before. */
export const FINALITY_SECONDS = FINALITY_TIMEOUT_MS / 1000;

/** Seconds that a settlement needs to reach a block. */
export const SETTLE_TIME_SECONDS = 6n;

/** Seconds past `validBefore` after which no later block can have an earlier time. */
export const EXPIRY_MARGIN_SECONDS = 30;

/** Reason codes of x402 for an authorization that expired before its payment, by its kind. */
export const EXPIRED_REASONS = {
  eip3009: "invalid_exact_evm_payload_authorization_valid_before",
  permit2: "permit2_deadline_expired",
} as const;
