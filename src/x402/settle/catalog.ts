/** The public catalog of paid resources (x402 extension `bazaar`). Owners fill it, and payers never do. */
import { and, desc, eq, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import { type Database, openDb } from "../../db/client.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { x402PaymentSource } from "../model/tables.ts";
import { BAZAAR_EXTENSION, type DiscoveryEntry, requireListable } from "./discovery-entry.ts";
import { type PaymentSourceRow, renderSources, requirePaymentSource } from "./payment-sources.ts";
import type { CatalogFilters } from "./schemas.ts";

const MAX_SEARCH_WORDS = 16;

/**
 * Puts the caller's resource into the catalog, changes its entry, or takes it out.
 *
 * @param discovery - null: the resource leaves the catalog
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 404
 */
export async function changeDiscovery(
  c: AppContext,
  { id, discovery }: { id: string; discovery: DiscoveryEntry | null },
  now: number,
) {
  const source = await requirePaymentSource(c, id, "id");
  if (discovery !== null) await requireListable(c, source);
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const change = { discovery: discovery && JSON.stringify(discovery), updatedAt: now };
  const entry = { action: "x402-payment-source.update", target: id, detail: change, now } as const;
  await commitWithAudit(c, core, entry, [
    core.orm.update(x402PaymentSource).set(change).where(eq(x402PaymentSource.id, id)).toSQL(),
  ]);
  const [record] = await renderSources(core, [{ ...source, ...change }]);
  return record as NonNullable<typeof record>;
}

/**
 * A page of the catalog, newest resources first.
 *
 * @returns `total` counts the entries of all pages
 */
export async function listCatalog(
  c: AppContext,
  filters: CatalogFilters,
  { limit, offset }: { limit: number; offset: number },
) {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const condition = toCondition(filters);
  const [rows, total] = await Promise.all([
    core.orm
      .select()
      .from(x402PaymentSource)
      .where(condition)
      .orderBy(desc(x402PaymentSource.id))
      .limit(limit)
      .offset(offset),
    core.orm.$count(x402PaymentSource, condition),
  ]);
  const items = await toCatalogEntries(core, rows);
  return { x402Version: 2, items, pagination: { limit, offset, total } };
}

/** Entries that contain words of a query, of three letters or more: those with the most first, then the newest. */
export async function searchCatalog(
  c: AppContext,
  query: string,
  filters: CatalogFilters,
  limit: number,
) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const { url, description, discovery, id } = x402PaymentSource;
  const text = sql`lower(${url} || ' ' || ifnull(${description}, '') || ' '
    || ifnull(json_extract(${discovery}, '$.serviceName'), '') || ' '
    || ifnull(json_extract(${discovery}, '$.tags'), ''))`;
  const found = sql<number>`(SELECT count(*) FROM json_each(${JSON.stringify(words.slice(0, MAX_SEARCH_WORDS))})
    WHERE instr(${text}, value) > 0)`;
  const rows = await core.orm
    .select()
    .from(x402PaymentSource)
    .where(and(toCondition(filters), sql`${found} > 0`))
    .orderBy(desc(found), desc(id))
    .limit(limit + 1);
  const resources = await toCatalogEntries(core, rows.slice(0, limit));
  return { x402Version: 2, resources, partialResults: rows.length > limit, pagination: null };
}

/** True for entries of networks that settle, and of keys that were not revoked. */
function toCondition({
  type,
  payTo,
  scheme,
  network,
  extensions,
}: CatalogFilters): SQL | undefined {
  const { discovery, deletedAt, createdById, caip2Id } = x402PaymentSource;
  const none = sql`0`;
  return and(
    isNotNull(discovery),
    isNull(deletedAt),
    sql`${caip2Id} IN (SELECT caip2_id FROM x402_network WHERE is_enabled = 1
      AND (facilitator_wallet_id IS NOT NULL OR facilitator_url IS NOT NULL))`,
    sql`NOT EXISTS (SELECT 1 FROM api_key WHERE api_key.id = ${createdById} AND api_key.status = 'Revoked')`,
    type === undefined || type === "http" ? undefined : none,
    payTo === undefined ? undefined : eq(x402PaymentSource.payTo, payTo),
    scheme === undefined ? undefined : sql`${x402PaymentSource.scheme} = ${scheme}`,
    network === undefined ? undefined : eq(caip2Id, network),
    extensions === undefined
      ? undefined
      : extensions === BAZAAR_EXTENSION
        ? sql`json_extract(${discovery}, '$.info') IS NOT NULL`
        : none,
  );
}

async function toCatalogEntries(core: Database, rows: readonly PaymentSourceRow[]) {
  const records = await renderSources(core, rows);
  return records.flatMap(({ url, requirements, description, discovery }, i) => {
    if (url === null || requirements === null || discovery === null) return [];
    const { info, schema, ...about } = discovery;
    return {
      resource: url,
      type: "http",
      x402Version: 2,
      accepts: [requirements],
      lastUpdated: toIsoTime(rows[i]?.updatedAt ?? 0),
      ...(description !== null && { description }),
      ...about,
      ...(info && { extensions: { [BAZAAR_EXTENSION]: { info, ...(schema && { schema }) } } }),
    };
  });
}
