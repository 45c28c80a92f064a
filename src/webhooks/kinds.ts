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
  // These three can be subscribed to and are never sent: this service distributes no funds.
  "FUND_DISTRIBUTION_SENT",
  "FUND_DISTRIBUTION_CONFIRMED",
  "FUND_DISTRIBUTION_FAILED",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** The states of a delivery: the first two are open, the others over. */
export const DELIVERY_STATUSES = ["Pending", "Retrying", "Success", "Failed", "Cancelled"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** What `POST /webhooks/test` sends; nobody subscribes to it. */
export const TEST_KIND = "WEBHOOK_TEST";

/** How a delivered event is written: JSON with the whole record, or a chat message about it. */
export const WEBHOOK_FORMATS = ["EXTENDED", "CHAT", "GOOGLE_CHAT", "DISCORD"] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];
