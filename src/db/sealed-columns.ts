/** A column that holds sealed values. */
export interface SealedColumn {
  table: string;
  column: string;
  /** The primary key's columns; joined by spaces they are the `id` that values are bound to. */
  keyColumns: readonly [string, ...string[]];
  /** The column that values are bound to, if another: a value may move between the two. */
  boundTo?: string;
}

/**
 * Every column that holds sealed values, so that a key rotation reaches them all. Nothing can be
 * sealed for a column that is not listed.
 */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: "payment_source", column: "rpc_provider_api_key", keyColumns: ["id"] },
  { table: "payment_source", column: "rpc_providers", keyColumns: ["id"] },
  { table: "managed_wallet", column: "mnemonic", keyColumns: ["id"] },
  { table: "registry_source", column: "rpc_provider_api_key", keyColumns: ["id"] },
  { table: "registry_source", column: "rpc_providers", keyColumns: ["id"] },
  { table: "webhook_endpoint", column: "url", keyColumns: ["id"] },
  { table: "webhook_endpoint", column: "auth_token", keyColumns: ["id"] },
  { table: "webhook_endpoint", column: "secret", keyColumns: ["id"] },
  { table: "webhook_endpoint", column: "previous_secret", keyColumns: ["id"], boundTo: "secret" },
  { table: "x402_network", column: "rpc_url", keyColumns: ["id"] },
  { table: "x402_network", column: "facilitator_auth", keyColumns: ["id"] },
  { table: "x402_wallet", column: "private_key", keyColumns: ["id"] },
  { table: "idempotency", column: "sealed_answer", keyColumns: ["api_key_id", "key"] },
];
