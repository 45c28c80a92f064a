import type * as z from "zod";
import { type Statement, statement } from "../../db/client.ts";
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
  const params: unknown[] = [];
  const where: string[] = [];
  const addCondition = (condition: string, value: unknown) => {
    params.push(value);
    where.push(condition.replaceAll("?", `?${params.length}`));
  };
  const { filter = {} } = body;
  // The `+` keeps SQLite from using an index of the network, so that it uses that of the identifier.
  addCondition(
    filter.assetIdentifier === undefined ? "e.network = ?" : "+e.network = ?",
    body.network,
  );
  if (among !== undefined)
    addCondition("e.id IN (SELECT value FROM json_each(?))", JSON.stringify(among));
  if (body.cursorId !== undefined) addCondition("e.id < ?", body.cursorId);
  if (body.minHealthCheckDate !== undefined)
    addCondition("h.last_check_at >= ?", body.minHealthCheckDate);
  if (filter.paymentTypes?.length)
    addCondition(
      "e.payment_type IN (SELECT value FROM json_each(?))",
      JSON.stringify(filter.paymentTypes),
    );
  if (filter.policyId !== undefined) addCondition("e.policy_id = ?", filter.policyId);
  if (filter.assetIdentifier !== undefined)
    addCondition("e.agent_identifier = ?", filter.assetIdentifier);
  if (filter.tags?.length)
    addCondition(
      `EXISTS (SELECT 1 FROM json_each(e.tags) AS tag
         WHERE tag.value IN (SELECT value FROM json_each(?)))`,
      JSON.stringify(filter.tags),
    );
  const { capability } = filter;
  if (capability?.version !== undefined)
    addCondition(
      "e.capability_id = ?",
      computeCapabilityId({ name: capability.name, version: capability.version }),
    );
  else if (capability) addCondition("e.state->>'$.profile.capability.name' = ?", capability.name);
  const limit = `LIMIT ${body.limit}`;
  // The status is a literal, as in the conditions of partial indexes: it is one of our own constants.
  const pages = selectStatuses(filter).map((status) => {
    const conditions = [`e.status = '${status}'`, ...where].join(" AND ");
    return `SELECT * FROM (${pageSql(conditions, `ORDER BY e.id DESC ${limit}`)})`;
  });
  return statement(`${pages.join(" UNION ALL ")} ORDER BY id DESC ${limit}`, ...params);
}

/** Without a filter only agents that are online are listed. */
export function selectStatuses({ status }: NonNullable<EntryListBody["filter"]>): EntryStatus[] {
  return status?.length ? [...new Set(status)] : ["Online"];
}
