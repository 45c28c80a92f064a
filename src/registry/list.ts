import type { z } from "@hono/zod-openapi";
import { type Statement, statement } from "../db/client.ts";
import { capabilityId } from "./capability.ts";
import { pageSql } from "./page.ts";
import type { listBody } from "./schemas.ts";

export type ListBody = z.output<typeof listBody>;

/**
 * One page of a list, newest first by id, after `cursorId`. Only the filters that were sent are in
 * the statement, so that it can use the index of the most selective one. Without a status filter
 * only agents that are online are listed.
 *
 * @param among - ids of the entries that count; all of them when omitted
 */
export function registryList(body: ListBody, among?: string[]): Statement {
  const params: unknown[] = [];
  const where: string[] = [];
  const add = (condition: string, value: unknown) => {
    params.push(value);
    where.push(condition.replaceAll("?", `?${params.length}`));
  };
  const { filter = {} } = body;
  const statuses = filter.status?.length ? filter.status : ["Online"];
  add("e.network = ?", body.network);
  add("e.status IN (SELECT value FROM json_each(?))", JSON.stringify(statuses));
  if (among !== undefined) add("e.id IN (SELECT value FROM json_each(?))", JSON.stringify(among));
  if (body.cursorId !== undefined) add("e.id < ?", body.cursorId);
  if (body.minHealthCheckDate !== undefined) add("h.last_check_at >= ?", body.minHealthCheckDate);
  if (filter.paymentTypes?.length)
    add("e.payment_type IN (SELECT value FROM json_each(?))", JSON.stringify(filter.paymentTypes));
  if (filter.policyId !== undefined) add("e.policy_id = ?", filter.policyId);
  if (filter.assetIdentifier !== undefined) add("e.agent_identifier = ?", filter.assetIdentifier);
  if (filter.tags?.length)
    add(
      `EXISTS (SELECT 1 FROM json_each(e.tags) AS tag
         WHERE tag.value IN (SELECT value FROM json_each(?)))`,
      JSON.stringify(filter.tags),
    );
  const { capability } = filter;
  if (capability?.version !== undefined)
    add(
      "e.capability_id = ?",
      capabilityId({ name: capability.name, version: capability.version }),
    );
  else if (capability) add("e.state->>'$.profile.capability.name' = ?", capability.name);
  params.push(body.limit);
  return statement(
    pageSql(where.join(" AND "), `ORDER BY e.id DESC LIMIT ?${params.length}`),
    ...params,
  );
}
