/** The states of a delivery: the first two are open, the others final. */
export const DELIVERY_STATUSES = ["Pending", "Retrying", "Success", "Failed", "Cancelled"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** What `POST /webhooks/test` sends; nobody subscribes to it. */
export const TEST_KIND = "WEBHOOK_TEST";

/** How a delivered event is written: JSON with the whole record, or a chat message about it. */
export const WEBHOOK_FORMATS = ["EXTENDED", "CHAT", "GOOGLE_CHAT", "DISCORD"] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];
