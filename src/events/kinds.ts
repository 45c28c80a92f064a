/** Every kind that an endpoint can subscribe to (interface, Events; decisions §7). */
export const EVENT_KINDS = [
  "PURCHASE_ON_CHAIN_STATUS_CHANGED",
  "PAYMENT_ON_CHAIN_STATUS_CHANGED",
  "PURCHASE_ON_ERROR",
  "PAYMENT_ON_ERROR",
  "WALLET_LOW_BALANCE",
  "X402_PAYMENT_SETTLED",
  "X402_PAYMENT_FAILED",
  "X402_WALLET_LOW_BALANCE",
  "FUND_DISTRIBUTION_SENT",
  "FUND_DISTRIBUTION_CONFIRMED",
  "FUND_DISTRIBUTION_FAILED",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];
