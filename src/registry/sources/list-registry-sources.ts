import { and, desc, eq, isNull, lt } from "drizzle-orm";
import type * as z from "zod";
import { NETWORKS } from "../../chain/network.ts";
import { type Database, openDb } from "../../db/client.ts";
import { unseal } from "../../db/sealed.ts";
import type { Env } from "../../env.ts";
import { loadProviderRecords } from "../../sources/further-providers.ts";
import { toProviderKeyEncryptionContext } from "../../sources/source-row.ts";
import { registrySource } from "../entries/tables.ts";
import { type RegistrySyncStatus, readSyncStatuses } from "../sync/cursor.ts";
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
  const status = await Promise.all(
    NETWORKS.map((network) => {
      const ids = rows.filter((row) => row.network === network).map(({ id }) => id);
      return ids.length ? readSyncStatuses(openDb(env, network, { deadline }), ids) : new Map();
    }),
  );
  const byId = new Map(status.flatMap((part) => [...part]));
  return Promise.all(rows.map((row) => toRecord(env, withTable(row), byId.get(row.id))));
}

/** A source as the interface shows it to an Admin, with its provider keys. */
export async function toRegistrySourceRecord(
  env: Env,
  row: RegistrySourceRow,
  deadline: number,
): Promise<RegistrySourceRecord> {
  const status = await readSyncStatuses(openDb(env, row.network, { deadline }), [row.id]);
  return toRecord(env, row, status.get(row.id));
}

async function toRecord(
  env: Env,
  row: RegistrySourceRow,
  status: RegistrySyncStatus = { latestPage: 1, latestIdentifier: null, error: null },
): Promise<RegistrySourceRecord> {
  const { id, network, url, policyId, note, table } = row;
  const context = toProviderKeyEncryptionContext(id, table);
  return {
    id,
    type: "Web3ChainV1",
    network,
    url,
    policyId,
    note: note ?? "",
    rpcProviderApiKey: await unseal(env, context, row.rpcProviderApiKey),
    ...(await loadProviderRecords(env, row)),
    ...status,
  };
}
