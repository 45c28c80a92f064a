/**
 * What a task waits for. `turn` is its wallet's turn, `failing` the next try after a failed one.
 * `source` is a payment source that restricts its wallets.
 */
export const REASON_CODES = [
  "provider",
  "funds",
  "chain",
  "turn",
  "failing",
  "source",
  "person",
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];
