/** Event kinds about payments, wallets and transfers, for keys that may read the subject of an event. */
export const TENANT_EVENT_KINDS = [
  "PURCHASE_ON_CHAIN_STATUS_CHANGED",
  "PAYMENT_ON_CHAIN_STATUS_CHANGED",
  "PURCHASE_ON_ERROR",
  "PAYMENT_ON_ERROR",
  "PURCHASE_DEADLINE_NEAR",
  "PAYMENT_DEADLINE_NEAR",
  "WALLET_LOW_BALANCE",
  "X402_PAYMENT_SETTLED",
  "X402_PAYMENT_FAILED",
  "X402_WALLET_LOW_BALANCE",
  "FUND_DISTRIBUTION_SENT",
  "FUND_DISTRIBUTION_CONFIRMED",
  "FUND_DISTRIBUTION_FAILED",
] as const;

/** Kinds about the service itself, for Admins. */
export const SERVICE_EVENT_KINDS = [
  "SOURCE_STUCK",
  "PROVIDER_OUT",
  "WALLET_STUCK",
  "ENDPOINT_DISABLED",
  "QUEUE_DEAD",
  "DATABASE_NEARLY_FULL",
  "DATABASE_FULL",
  "ARCHIVE_NEEDED",
  "ARCHIVE_BEHIND",
  "ARCHIVE_UNBOUND",
  "ARCHIVE_UNMIGRATED",
] as const;
export type ServiceEventKind = (typeof SERVICE_EVENT_KINDS)[number];

/** Every kind that an endpoint can subscribe to. */
export const EVENT_KINDS = [...TENANT_EVENT_KINDS, ...SERVICE_EVENT_KINDS] as const;
export type EventKind = (typeof EVENT_KINDS)[number];
