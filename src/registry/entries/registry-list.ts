import type * as z from "zod";
import { type Statement, statement } from "../../db/client.ts";
import { Conditions } from "../../db/conditions.ts";
import { computeCapabilityId } from "./capability.ts";
import type { EntryStatus } from "./entry.ts";
import { pageSql } from "./read-entries.ts";
import type { entryListBody } from "./schemas.ts";

export type EntryListBody = z.output<typeof entryListBody>;

/**
 * One page of a list, newest first by id, after `cursorId`. Only the filters that were sent are in
 * the statement. Without a status filter only agents that are online are listed.
 *
 * The index has the entries of one status in the order of a page, but not the entries of several. A
 * page is read per status, and the first of all of them are taken. So no page reads all entries.
 *
 * @param among - ids of the entries that count; all of them when omitted
 */
export function buildRegistryListQuery(body: EntryListBody, among?: string[]): Statement {
  const { filter = {} } = body;
  const { assetIdentifier, capability } = filter;
  const where = new Conditions();
  // The `+` keeps SQLite from using an index of the network, so that it uses that of the identifier.
  where.add(assetIdentifier === undefined ? "e.network = ?" : "+e.network = ?", body.network);
  where.add("e.id IN (SELECT value FROM json_each(?))", among && JSON.stringify(among));
  where.add("e.id < ?", body.cursorId);
  where.add("h.last_check_at >= ?", body.minHealthCheckDate);
  where.add(
    "e.payment_type IN (SELECT value FROM json_each(?))",
    filter.paymentTypes?.length ? JSON.stringify(filter.paymentTypes) : undefined,
  );
  where.add("e.policy_id = ?", filter.policyId);
  where.add("e.agent_identifier = ?", assetIdentifier);
  where.add(
    `EXISTS (SELECT 1 FROM json_each(e.tags) AS tag
       WHERE tag.value IN (SELECT value FROM json_each(?)))`,
    filter.tags?.length ? JSON.stringify(filter.tags) : undefined,
  );
  if (capability?.version !== undefined)
    where.add(
      "e.capability_id = ?",
      computeCapabilityId({ name: capability.name, version: capability.version }),
    );
  else where.add("e.state->>'$.profile.capability.name' = ?", capability?.name);
  const limit = `LIMIT ${body.limit}`;
  // The status is a literal, as in the conditions of partial indexes: it is one of our own constants.
  const pages = selectStatuses(filter).map((status) => {
    const conditions = `e.status = '${status}' AND ${where.toSql()}`;
    return `SELECT * FROM (${pageSql(conditions, `ORDER BY e.id DESC ${limit}`)})`;
  });
  return statement(`${pages.join(" UNION ALL ")} ORDER BY id DESC ${limit}`, ...where.params);
}

/** Without a filter only agents that are online are listed. */
export function selectStatuses({ status }: NonNullable<EntryListBody["filter"]>): EntryStatus[] {
  return status?.length ? [...new Set(status)] : ["Online"];
}
