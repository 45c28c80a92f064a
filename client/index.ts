/** Typed client of the agent payment service. */
export { type BuyOptions, buy, type Order, PurchaseStopped, type SellersQuote } from "./buy.ts";
export { type Client, type ClientOptions, createClient, type Schemas } from "./client.ts";
export { type ErrorCode, ServiceError, unwrap } from "./errors.ts";
export {
  type Changes,
  type EscrowFeedOptions,
  type Feed,
  inboxFeed,
  type Position,
  paymentFeed,
  purchaseFeed,
  registryFeed,
} from "./feeds.ts";
export { type Change, type FollowOptions, follow } from "./follow.ts";
export type { operations, paths, webhooks } from "./generated/schema.ts";
export { hashInput, hashResult, matchesResult, type ResultForm } from "./hashes.ts";
export { parseWire } from "./names.ts";
export { type SellOptions, sell } from "./sell.ts";
export type { TransportOptions } from "./transport.ts";
export {
  type Delivery,
  type VerifyOptions,
  verifyWebhook,
  WebhookError,
  type WebhookEvent,
} from "./webhooks.ts";
