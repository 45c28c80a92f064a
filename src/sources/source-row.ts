import type { paymentSource } from "./tables.ts";

/** A payment source as it is stored, its provider key sealed. */
export type SourceRow = typeof paymentSource.$inferSelect;

/** The place that a source's provider key is sealed for. */
export function toProviderKeyEncryptionContext(sourceId: string) {
  return { table: "payment_source", id: sourceId, column: "rpc_provider_api_key" };
}

/** The place that a source's further providers are sealed for. */
export function toProvidersEncryptionContext(sourceId: string) {
  return { table: "payment_source", id: sourceId, column: "rpc_providers" };
}
