import type { paymentSource } from "./tables.ts";

/** A payment source as it is stored, its provider key sealed. */
export type SourceRow = typeof paymentSource.$inferSelect;

/** The table of a source that a chain provider is read for. */
type SourceTable = "payment_source" | "registry_source";

/** A source, as far as its providers are concerned. */
export interface SourceOfProviders
  extends Pick<SourceRow, "id" | "network" | "rpcProviderApiKey" | "rpcProviders"> {
  /** Left out: `payment_source`. */
  table?: SourceTable;
}

/** The place that a source's provider key is sealed for. */
export function toProviderKeyEncryptionContext(
  sourceId: string,
  table: SourceTable = "payment_source",
) {
  return { table, id: sourceId, column: "rpc_provider_api_key" };
}

/** The place that a source's further providers are sealed for. */
export function toProvidersEncryptionContext({
  id,
  table = "payment_source",
}: Pick<SourceOfProviders, "id" | "table">) {
  return { table, id, column: "rpc_providers" };
}
