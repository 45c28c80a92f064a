import { and, eq, isNotNull, isNull, ne, type SQL } from "drizzle-orm";
import type { Network } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import { ApiError } from "../http/errors.ts";
import type { SourceRow } from "./source-row.ts";
import { paymentSource } from "./tables.ts";

/** Ids of the followed payment sources, of one network or of all. */
export async function listActiveSourceIds(core: Database, network?: Network): Promise<string[]> {
  const rows = await core.orm
    .select({ id: paymentSource.id })
    .from(paymentSource)
    .where(and(isNull(paymentSource.deletedAt), network && eq(paymentSource.network, network)));
  return rows.map(({ id }) => id);
}

/** When a network's removed sources were removed, epoch milliseconds by id. */
export async function listRemovedSources(
  core: Database,
  network: Network,
): Promise<Record<string, number>> {
  const rows = await core.orm
    .select({ id: paymentSource.id, deletedAt: paymentSource.deletedAt })
    .from(paymentSource)
    .where(and(eq(paymentSource.network, network), isNotNull(paymentSource.deletedAt)));
  return Object.fromEntries(rows.map(({ id, deletedAt }) => [id, deletedAt ?? 0]));
}

/** A source whose transactions can be looked at: it is followed, or was removed and keeps its provider key. */
export async function findSourceWithKey(core: Database, id: string): Promise<SourceRow | null> {
  const [source] = await core.orm
    .select()
    .from(paymentSource)
    .where(and(eq(paymentSource.id, id), ne(paymentSource.rpcProviderApiKey, "")));
  return source ?? null;
}

/**
 * A followed source, its provider key still sealed; null when it was removed, or never was.
 *
 * @param id - its id, or SQL of the id
 */
export async function findActiveSource(
  core: Database,
  id: string | SQL,
): Promise<SourceRow | null> {
  const [source] = await core.orm
    .select()
    .from(paymentSource)
    .where(and(eq(paymentSource.id, id), isNull(paymentSource.deletedAt)));
  return source ?? null;
}

/**
 * The followed source that a request names.
 *
 * @param field - where the request has the id
 * @throws ApiError 404
 */
export async function requireActiveSource(
  core: Database,
  id: string,
  field: string,
): Promise<SourceRow> {
  const source = await findActiveSource(core, id);
  if (!source) throw createSourceNotFoundError(field);
  return source;
}

export function createSourceNotFoundError(field: string): ApiError {
  return new ApiError(404, `${field}: there is no such payment source`);
}
