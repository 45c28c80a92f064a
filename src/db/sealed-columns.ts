/** A column that holds sealed values. */
export interface SealedColumn {
  table: string;
  column: string;
  /** The primary key's columns; joined by spaces they are the `id` that values are bound to. */
  key: readonly [string, ...string[]];
  /** The column that values are bound to, if another: a value may move between the two. */
  boundTo?: string;
}

/**
 * Every column that holds sealed values, so that a key rotation reaches them all. Nothing can be
 * sealed for a column that is not listed.
 */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: "payment_source", column: "rpc_provider_api_key", key: ["id"] },
  { table: "managed_wallet", column: "mnemonic", key: ["id"] },
  { table: "registry_source", column: "rpc_provider_api_key", key: ["id"] },
  { table: "webhook_endpoint", column: "url", key: ["id"] },
  { table: "webhook_endpoint", column: "auth_token", key: ["id"] },
  { table: "webhook_endpoint", column: "secret", key: ["id"] },
  { table: "webhook_endpoint", column: "previous_secret", key: ["id"], boundTo: "secret" },
  { table: "x402_network", column: "rpc_url", key: ["id"] },
  { table: "x402_wallet", column: "private_key", key: ["id"] },
  { table: "idempotency", column: "sealed_answer", key: ["api_key_id", "key"] },
];
