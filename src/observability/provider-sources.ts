import type { Database } from "../db/client.ts";
import { unseal } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import { findBudgetObject } from "../sources/provider.ts";
import { type SourceOfProviders, toProviderKeyEncryptionContext } from "../sources/source-row.ts";

const SOURCE_TABLES = ["payment_source", "registry_source"] as const;

/**
 * Reads payment sources and registry sources, with their sealed provider keys.
 *
 * @param rest - SQL of a condition, and of the order and limit in each of the two tables
 */
export function readProviderSources(
  core: Database,
  rest: string,
  ...params: unknown[]
): Promise<Required<SourceOfProviders>[]> {
  const selects = SOURCE_TABLES.map(
    (table) =>
      `SELECT * FROM (SELECT id, network, rpc_provider_api_key AS rpcProviderApiKey,
         rpc_providers AS rpcProviders, '${table}' AS "table"
       FROM ${table} WHERE deleted_at IS NULL AND ${rest})`,
  );
  return core.all(selects.join(" UNION ALL "), ...params);
}

/** Opens the budget of a source's provider key. @throws SealError */
export async function openProviderBudget(
  env: Env,
  { id, network, table, rpcProviderApiKey }: Required<SourceOfProviders>,
) {
  const context = toProviderKeyEncryptionContext(id, table);
  return findBudgetObject(env, network, await unseal(env, context, rpcProviderApiKey));
}
