/** Typed client of the agent payment service. */
export { type Client, type ClientOptions, createClient, type Schemas } from "./client.ts";
export { type ErrorCode, ServiceError, unwrap } from "./errors.ts";
export type { operations, paths, webhooks } from "./generated/schema.ts";
export { parseWire } from "./names.ts";
export type { TransportOptions } from "./transport.ts";
