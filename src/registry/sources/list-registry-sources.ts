import { and, desc, eq, isNull, lt } from "drizzle-orm";
import type * as z from "zod";
import { NETWORKS } from "../../chain/network.ts";
import { type Database, openDb } from "../../db/client.ts";
import { unseal } from "../../db/sealed.ts";
import type { Env } from "../../env.ts";
import { loadProviderRecords } from "../../sources/further-providers.ts";
import { toProviderKeyEncryptionContext } from "../../sources/source-row.ts";
import { registrySource } from "../entries/tables.ts";
import { readSyncStatuses } from "../sync/cursor.ts";
import type { registrySourceRecord } from "./schemas.ts";

export type RegistrySourceRow = typeof registrySource.$inferSelect & { table: "registry_source" };
export type RegistrySourceRecord = z.input<typeof registrySourceRecord>;

const withTable = (row: typeof registrySource.$inferSelect): RegistrySourceRow => ({
  ...row,
  table: "registry_source",
});

/** A source that was not removed, its provider key still sealed; null when there is none. */
export async function findActiveRegistrySource(
  core: Database,
  id: string,
): Promise<RegistrySourceRow | null> {
  const [row] = await core.orm
    .select()
    .from(registrySource)
    .where(and(eq(registrySource.id, id), isNull(registrySource.deletedAt)));
  return row ? withTable(row) : null;
}

/** One page of sources as the interface shows them to an Admin, newest first. */
export async function listRegistrySources(
  env: Env,
  query: { limit: number; cursorId?: string | undefined },
  deadline: number,
): Promise<RegistrySourceRecord[]> {
  const rows = await openDb(env, undefined, { deadline })
    .orm.select()
    .from(registrySource)
    .where(
      and(
        isNull(registrySource.deletedAt),
        query.cursorId === undefined ? undefined : lt(registrySource.id, query.cursorId),
      ),
    )
    .orderBy(desc(registrySource.id))
    .limit(query.limit);
  return toRegistrySourceRecords(env, rows.map(withTable), deadline);
}

/** Sources as the interface shows them to an Admin, with their provider keys. */
export async function toRegistrySourceRecords(
  env: Env,
  rows: RegistrySourceRow[],
  deadline: number,
): Promise<RegistrySourceRecord[]> {
  const status = await Promise.all(
    NETWORKS.map((network) => {
      const ids = rows.filter((row) => row.network === network).map(({ id }) => id);
      return ids.length ? readSyncStatuses(openDb(env, network, { deadline }), ids) : new Map();
    }),
  );
  const byId = new Map(status.flatMap((part) => [...part]));
  return Promise.all(
    rows.map(async (row) => ({
      id: row.id,
      type: "Web3ChainV1" as const,
      network: row.network,
      url: row.url,
      policyId: row.policyId,
      note: row.note ?? "",
      rpcProviderApiKey: await unseal(
        env,
        toProviderKeyEncryptionContext(row.id, row.table),
        row.rpcProviderApiKey,
      ),
      ...(await loadProviderRecords(env, row)),
      ...(byId.get(row.id) ?? { latestPage: 1, latestIdentifier: null, error: null }),
    })),
  );
}
