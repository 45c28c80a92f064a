import type * as z from "zod";
import type { Database } from "../db/client.ts";
import type { SqlExpression } from "../db/clock.ts";
import { type DiffQuery, pageColumns, readPage, type Viewer } from "./diff.ts";
import { hashOf } from "./fold/escrow-outputs.ts";
import { Conditions, typesOf } from "./reads/conditions.ts";
import { hasDeadline } from "./reads/deadline.ts";
import { NEEDS_PERSON } from "./reads/needs-person.ts";
import type { listQuery } from "./reads/queries.ts";
import { rowsOf } from "./reads/scope.ts";
import { matches } from "./reads/search.ts";
import type { Side } from "./record.ts";

/** A search looks at so many of the newest records that the other filters leave, of each type. */
const SEARCHED = 5_000;

/** What a page asks for; a filter that is left out leaves nothing out. */
export type ListQuery = Pick<z.output<typeof listQuery>, "network" | "limit" | "includeHistory"> &
  Partial<z.output<typeof listQuery>> & { viewer?: Viewer };

/**
 * One page of a list, newest first by id, after `cursorId`.
 *
 * @returns JSON text of the records, comma separated
 */
export function listPage(
  db: Database,
  side: Side,
  query: ListQuery & Pick<DiffQuery, "env">,
): Promise<string> {
  const { sql, params } = listStatement(side, query, pageColumns(query));
  return readPage(db, side, query, sql, params);
}

/**
 * SQL of a page of a list. As in `diffPage`, an arm per type walks one index from where the page
 * begins. Each filter has an index that ends in the id, so a page reads no more rows than it returns;
 * with two of them, or for a key that is bound to wallets, one finds the rows and the other is looked at.
 * A search looks at a bounded number of rows.
 *
 * @param columns - SQL of what is read of each row, the id among it
 * @returns with ?1 for the side and ?2 for the network
 */
export function listStatement(side: Side, query: ListQuery, columns: string): SqlExpression {
  const found = new Conditions(side, query.network);
  found.where("id =", query.id);
  found.where(
    "identifier_hash =",
    query.blockchainIdentifier && hashOf(query.blockchainIdentifier),
  );
  found.where("on_chain_state =", query.filterOnChainState);
  found.where("contract_address =", query.filterSmartContractAddress);
  found.where("terms->>'agentIdentifier' =", query.filterAgentIdentifier);
  found.where("state->>'$.nextAction.errorType' =", query.filterErrorType);
  const needsPerson = query.filterNeedsManualAction || query.filterErrorType !== undefined;
  if (needsPerson) found.conditions.push(NEEDS_PERSON);
  found.only(query.viewer);
  found.made(query);
  found.where("id <", query.cursorId);
  const parameter = (value: unknown) => found.parameter(value);
  const limit = parameter(query.limit);
  const all = found.sql();
  const looked = lookedFor(query).map(({ sql, params }) => found.splice(sql, params));
  // Of these there are few: then their wallets are looked at, whatever the key is bound to.
  const isOfFew = needsPerson || (query.id ?? query.blockchainIdentifier) !== undefined;
  // By itself, SQLite would scan all ids in order rather than sort the one row that matches.
  const table =
    query.blockchainIdentifier === undefined ? "escrow" : "escrow INDEXED BY escrow_identifier";
  const newest = {
    by: "id",
    descending: true,
    limit: looked.length > 0 ? `${SEARCHED}` : limit,
  } as const;
  const arms = typesOf(query).map((type) => {
    const where = `${all} AND source_type = ${parameter(type)}`;
    const rows = isOfFew
      ? `${table} WHERE ${where}`
      : rowsOf(query.viewer?.scope, parameter, { where, ...newest });
    if (looked.length === 0) return `SELECT ${columns} FROM ${rows}`;
    return `SELECT ${columns} FROM ${rows} AND id >= coalesce(
      (SELECT id FROM ${rows} ORDER BY id DESC LIMIT 1 OFFSET ${SEARCHED - 1}), '') AND ${looked.join(" AND ")}`;
  });
  return {
    sql: `${arms.join(" UNION ALL ")} ORDER BY id DESC LIMIT ${limit}`,
    params: found.params,
  };
}

/** An amount of the price, in minor units of the native coin unless another unit is named. */
function hasAmount({ filterUnit, filterAmountFrom, filterAmountTo }: ListQuery): SqlExpression[] {
  if ((filterUnit ?? filterAmountFrom ?? filterAmountTo) === undefined) return [];
  const amount = "CAST(value->>'amount' AS INTEGER)";
  const conditions = [
    { sql: "value->>'unit' = ?", value: filterUnit ?? "" },
    { sql: `${amount} >= CAST(? AS INTEGER)`, value: filterAmountFrom },
    { sql: `${amount} <= CAST(? AS INTEGER)`, value: filterAmountTo },
  ].filter(({ value }) => value !== undefined);
  return [
    {
      sql: `EXISTS (SELECT 1 FROM json_each(terms, '$.funds')
        WHERE ${conditions.map(({ sql }) => sql).join(" AND ")})`,
      params: conditions.map(({ value }) => value),
    },
  ];
}

/** What no index finds: it is looked for in a bounded number of rows. */
function lookedFor(query: ListQuery): SqlExpression[] {
  const { searchQuery, filterRequestedAction: action, filterWalletVkey: vkey } = query;
  const { filterDeadlineFrom, filterDeadlineTo } = query;
  const all = [...hasAmount(query), ...hasDeadline(filterDeadlineFrom, filterDeadlineTo)];
  if (searchQuery !== undefined) all.push(matches(searchQuery));
  if (action) all.push({ sql: "state->>'$.nextAction.requestedAction' = ?", params: [action] });
  if (vkey) all.push({ sql: "wallet->>'vkey' = ?", params: [vkey] });
  return all;
}
