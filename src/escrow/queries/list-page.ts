import type * as z from "zod";
import { ON_CHAIN_STATES, type OnChainState } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";
import { packHexSql, unpackHexSql } from "../../db/hex-column.ts";
import { firstIdAt } from "../../db/id.ts";
import type { AppContext } from "../../http/context.ts";
import { type EscrowRecord, hashIdentifier, type Side } from "../model/escrow-record.ts";
import {
  ARCHIVED_ESCROW_COLUMNS,
  ESCROW_COLUMNS,
  type EscrowRow,
  toEscrowRecord,
} from "../store/escrow-row.ts";
import { selectByIdentifierSql } from "../store/identity.ts";
import {
  ACTING_WALLET_ADDRESS_SQL,
  NEEDS_PERSON_CONDITION,
  SHOWN_HASH_SQL,
} from "../store/predicates.ts";
import { EscrowConditions, sourceTypesOf } from "./conditions.ts";
import {
  buildPageColumnsSql,
  type PageOptions,
  type RecordPage,
  readPage,
  readPageRows,
  renderRows,
  type Viewer,
} from "./page-rows.ts";
import type { listQuery } from "./query-schemas.ts";
import { buildPageRowsSql } from "./scope-condition.ts";

/** A search looks at so many of the newest records that the other filters leave, of each type. */
const MAX_SEARCHED_RECORDS = 5_000;

/** What a page asks for; a filter that is left out leaves nothing out. */
export type ListQuery = Pick<z.output<typeof listQuery>, "network" | "limit" | "includeHistory"> &
  Partial<z.output<typeof listQuery>> & { viewer?: Viewer };

/**
 * One page of a list, newest first by id, after `cursorId`.
 *
 * @returns JSON text of the records, comma separated
 */
export async function readListPage(
  db: Database,
  side: Side,
  query: ListQuery & PageOptions,
): Promise<string> {
  const page = createListPage(side, query, buildPageColumnsSql(query));
  return renderRows(await readPageRows(db, query, page), side, query.env).join(",");
}

/** JSON text of a record without histories; empty: the caller does not see the record. */
export function readRecordText(
  c: AppContext,
  db: Database,
  { id, side, network }: Pick<EscrowRecord, "id" | "side" | "network">,
): Promise<string> {
  const options = { includeHistory: false, viewer: c.var.caller, env: c.env };
  return readListPage(db, side, { id, network, limit: 1, ...options });
}

/** Reads the records of a page of a list. */
export async function readListRecords(
  db: Database,
  side: Side,
  query: ListQuery & Pick<PageOptions, "env">,
): Promise<EscrowRecord[]> {
  const page = createListPage(side, query, "id");
  const rows = await readPage<EscrowRow>(db, query.env, page, ({ sql, params }, context) => ({
    sql: `SELECT ${context ? `${ARCHIVED_ESCROW_COLUMNS}, page.place` : ESCROW_COLUMNS}
      FROM (${sql}) AS page JOIN escrow USING (id) ORDER BY id DESC`,
    params,
  }));
  return rows.map(toEscrowRecord);
}

/** Rows that are counted together. */
const COUNT_PAGE_SIZE = 1_000;

/** Reads the states of all records of a query, page after page. */
export async function readListStates(
  db: Database,
  side: Side,
  query: Omit<ListQuery, "limit" | "includeHistory"> & Pick<PageOptions, "env">,
): Promise<(OnChainState | null)[]> {
  const states: (OnChainState | null)[] = [];
  for (let cursorId: string | undefined; ; ) {
    const filters = { ...query, cursorId, limit: COUNT_PAGE_SIZE, includeHistory: false };
    const page = createListPage(side, filters, "id, on_chain_state");
    const rows = await readPage<{ id: string; state: OnChainState | null }>(
      db,
      query.env,
      page,
      ({ sql, params }, context) => ({
        sql: `SELECT id, on_chain_state AS state ${context ? ", page.place" : ""} FROM (${sql}) AS page`,
        params,
      }),
    );
    states.push(...rows.map(({ state }) => state));
    cursorId = rows.at(-1)?.id;
    if (rows.length < COUNT_PAGE_SIZE) return states;
  }
}

/** A page of a list. @param columns - SQL of its columns, the id among them */
function createListPage(side: Side, query: ListQuery, columns: string): RecordPage {
  const { network, limit, blockchainIdentifier } = query;
  const identifierHash =
    blockchainIdentifier === undefined ? undefined : hashIdentifier(blockchainIdentifier);
  return {
    ...{ network, limit, isDescending: true, firstKey: "greatest_id", identifierHash },
    // What waits for a person is in no archive.
    overlap: needsPerson(query) ? null : buildOverlapCondition(side, query),
    build: (from, archived = { columns: "" }) => {
      const onward = from ? { ...query, cursorId: from.id } : query;
      return buildListSql(side, onward, columns + archived.columns, archived.ids);
    },
  };
}

function buildOverlapCondition(side: Side, query: ListQuery): SqlExpression {
  const { id, cursorId, createdFrom, createdTo } = query;
  const bounds = [
    ["least_id <", cursorId],
    ["least_id <=", id],
    ["greatest_id >=", id],
    ["greatest_id >=", createdFrom === undefined ? undefined : firstIdAt(createdFrom)],
    ["least_id <", createdTo === undefined ? undefined : firstIdAt(createdTo)],
  ] as const;
  const conditions = [
    ...bounds.flatMap(([sql, value]) =>
      value === undefined ? [] : [{ sql: `${sql} ?`, params: [value] }],
    ),
    ...buildSearchesAllCondition(side, query),
  ];
  return joinExpressions([{ sql: "greatest_id IS NOT NULL", params: [] }, ...conditions], " AND ");
}

function joinExpressions(
  expressions: readonly SqlExpression[],
  separator: " AND " | " OR ",
): SqlExpression {
  return {
    sql: expressions.map(({ sql }) => sql).join(separator),
    params: expressions.flatMap(({ params }) => params),
  };
}

/**
 * SQL of a page of a list. As in `readDiffPage`, an arm per type walks one index from where the page
 * begins. Each filter has an index that ends in the id, so a page reads no more rows than it
 * returns. With two filters, or for a key that is bound to wallets, one index finds the rows. The
 * other filter is checked for each row. A search reads a bounded number of rows.
 *
 * @param columns - SQL, the id among them
 * @param ids - JSON array of the only ids, for archives
 * @returns with ?1 for the network
 */
function buildListSql(side: Side, query: ListQuery, columns: string, ids?: string): SqlExpression {
  const found = createListConditions(side, query);
  const parameter = (value: unknown) => found.addParameter(value);
  if (ids !== undefined)
    found.addNumbered(`id IN (SELECT value FROM json_each(${parameter(ids)}))`);
  const limit = `${query.limit}`;
  const all = found.toSql();
  const looked = buildUnindexedConditions(query).map(({ sql, params }) =>
    found.bindParameters(sql, params),
  );
  // Of these there are few: then their wallets are looked at, whatever the key is bound to.
  const isOfFew = needsPerson(query) || (query.id ?? query.blockchainIdentifier) !== undefined;
  const { blockchainIdentifier: identifier } = query;
  const table =
    identifier === undefined || ids !== undefined
      ? "escrow"
      : selectByIdentifierSql(parameter(hashIdentifier(identifier)), `'${side}'`);
  const newest = {
    orderBy: "id",
    isDescending: true,
    limit: looked.length > 0 ? `${MAX_SEARCHED_RECORDS}` : limit,
  } as const;
  const arms = sourceTypesOf(query).map((type) => {
    const where = `${all} AND source_type = ${parameter(type)}`;
    const rows = isOfFew
      ? `${table} WHERE ${where}`
      : buildPageRowsSql(query.viewer?.scope, parameter, { where, ...newest });
    if (looked.length === 0) return `SELECT ${columns} FROM ${rows}`;
    return `SELECT ${columns} FROM ${rows} AND id >= coalesce(
      (SELECT id FROM ${rows} ORDER BY id DESC LIMIT 1 OFFSET ${MAX_SEARCHED_RECORDS - 1}), '') AND ${looked.join(" AND ")}`;
  });
  return {
    sql: `${arms.join(" UNION ALL ")} ORDER BY id DESC LIMIT ${limit}`,
    params: found.params,
  };
}

/** Conditions that indexes find rows by. */
function createListConditions(side: Side, query: ListQuery): EscrowConditions {
  const found = new EscrowConditions(side, query.network);
  found.add("id = ?", query.id);
  found.add("on_chain_state = ?", query.filterOnChainState);
  found.add("contract_address = ?", query.filterSmartContractAddress);
  if (query.filterAgentIdentifier !== undefined)
    found.addNumbered(
      `agent_identifier = ${packHexSql(found.addParameter(query.filterAgentIdentifier))}`,
    );
  found.add("error_type = ?", query.filterErrorType);
  if (needsPerson(query)) found.add(NEEDS_PERSON_CONDITION);
  found.restrictToViewer(query.viewer);
  found.restrictToCreationPeriod(query);
  found.add("id < ?", query.cursorId);
  return found;
}

const needsPerson = ({ filterNeedsManualAction, filterErrorType }: ListQuery) =>
  filterNeedsManualAction || filterErrorType !== undefined;

/**
 * SQL condition that a search looks at all records of the database that may match. Otherwise the records of
 * archives come after those that it does not look at. The parameters are without numbers.
 */
function buildSearchesAllCondition(side: Side, query: ListQuery): SqlExpression[] {
  if (buildUnindexedConditions(query).length === 0) return [];
  const found = createListConditions(side, query);
  const used: unknown[] = [];
  const sql = found.toSql().replace(/\?(\d+)/g, (_, position) => {
    used.push(found.params[Number(position) - 1]);
    return "?";
  });
  return [
    {
      sql: `(SELECT count(*) FROM (SELECT 1 FROM escrow WHERE ${sql} LIMIT ${MAX_SEARCHED_RECORDS})) < ${MAX_SEARCHED_RECORDS}`,
      params: used,
    },
  ];
}

/** SQL of an amount of `json_each(funds)`. */
const AMOUNT_SQL = "CAST(value->>'amount' AS INTEGER)";

/** An amount of the price, in minor units of the native coin unless another unit is named. */
function buildAmountConditions({
  filterUnit,
  filterAmountFrom,
  filterAmountTo,
}: ListQuery): SqlExpression[] {
  if ((filterUnit ?? filterAmountFrom ?? filterAmountTo) === undefined) return [];
  const conditions = [
    { sql: "value->>'unit' = ?", value: filterUnit ?? "" },
    { sql: `${AMOUNT_SQL} >= CAST(? AS INTEGER)`, value: filterAmountFrom },
    { sql: `${AMOUNT_SQL} <= CAST(? AS INTEGER)`, value: filterAmountTo },
  ].filter(({ value }) => value !== undefined);
  return [
    {
      sql: `EXISTS (SELECT 1 FROM json_each(funds)
        WHERE ${conditions.map(({ sql }) => sql).join(" AND ")})`,
      params: conditions.map(({ value }) => value),
    },
  ];
}

/** What no index finds: it is looked for in a bounded number of rows. */
function buildUnindexedConditions(query: ListQuery): SqlExpression[] {
  const { searchQuery, filterRequestedAction: action, filterWalletVkey: vkey } = query;
  const { filterDeadlineFrom, filterDeadlineTo } = query;
  const all = [
    ...buildAmountConditions(query),
    ...buildDeadlineConditions(filterDeadlineFrom, filterDeadlineTo),
  ];
  if (searchQuery !== undefined) all.push(buildTextCondition(searchQuery));
  if (action) all.push({ sql: "requested_action = ?", params: [action] });
  if (vkey) all.push({ sql: "wallet_vkey = ?", params: [vkey] });
  return all;
}

/**
 * SQL of the time at which other steps become possible for a row of `escrow`. It is epoch
 * milliseconds as text of any length; null: there is no such time. Unlike the stored `deadline` it
 * exists also when we owe nothing.
 */
const STATE_DEADLINE_SQL = `CASE
  WHEN on_chain_state IS NULL THEN iif(expired_at IS NULL, pay_by_time, NULL)
  WHEN on_chain_state IN ('FundsLocked', 'RefundRequested') THEN submit_result_time
  WHEN on_chain_state = 'ResultSubmitted' THEN unlock_time
  WHEN on_chain_state = 'Disputed' THEN external_dispute_unlock_time END`;

/** SQL conditions that this time lies between two, epoch milliseconds: the first included, the last not. */
function buildDeadlineConditions(
  from: number | undefined,
  to: number | undefined,
): SqlExpression[] {
  const at = `CAST(${STATE_DEADLINE_SQL} AS REAL)`;
  return [
    ...(from === undefined ? [] : [{ sql: `${at} >= ?`, params: [from] }]),
    ...(to === undefined ? [] : [{ sql: `${at} < ?`, params: [to] }]),
  ];
}

/** Decimals of the coin in whose whole units an amount is searched for. */
const COIN_DECIMALS = 6;
const AMOUNT_PATTERN = new RegExp(`^(\\d{1,12})(?:\\.(\\d{0,${COIN_DECIMALS}}))?$`);

/** Texts of a record that are searched, as SQL on a row of `escrow`. */
const SEARCHED_COLUMNS = [
  "id",
  unpackHexSql("agent_identifier"),
  "agent_name",
  unpackHexSql("input_hash"),
  SHOWN_HASH_SQL,
  ACTING_WALLET_ADDRESS_SQL,
];

/**
 * SQL that a row of `escrow` contains a text, in upper or lower case. The text is a part of one of its texts or
 * of its state's name. It may also be the beginning of an amount, or the hash of an earlier transaction.
 */
function buildTextCondition(query: string): SqlExpression {
  const text = query.toLowerCase();
  const name = text.replaceAll(" ", "");
  const states =
    name === "" ? [] : ON_CHAIN_STATES.filter((state) => state.toLowerCase().includes(name));
  const range = parseAmountRange(text);
  const alternatives: SqlExpression[] = SEARCHED_COLUMNS.map((column) => ({
    sql: `instr(lower(${column}), ?) > 0`,
    params: [text],
  }));
  alternatives.push({
    sql: "on_chain_state IN (SELECT value FROM json_each(?))",
    params: [JSON.stringify(states)],
  });
  if (/^[\da-f]{64}$/.test(text))
    alternatives.push({
      sql: `EXISTS (SELECT 1 FROM escrow_transaction AS earlier
        WHERE earlier.record_id = escrow.id AND earlier.tx_hash = ?)`,
      params: [text],
    });
  if (range)
    alternatives.push({
      sql: `EXISTS (SELECT 1 FROM json_each(funds)
        WHERE ${AMOUNT_SQL} >= CAST(? AS INTEGER) AND ${AMOUNT_SQL} < CAST(? AS INTEGER))`,
      params: [String(range.from), String(range.to)],
    });
  const { sql, params } = joinExpressions(alternatives, " OR ");
  return { sql: `(${sql})`, params };
}

/** Amounts, in minor units, whose whole coins begin like a number: `1.5` is 1.5 up to below 1.6. */
function parseAmountRange(text: string): { from: bigint; to: bigint } | null {
  const match = AMOUNT_PATTERN.exec(text);
  if (!match) return null;
  const [, whole = "0", fraction = ""] = match;
  const step = 10n ** BigInt(COIN_DECIMALS - fraction.length);
  const from = BigInt(whole + fraction) * step;
  return { from, to: from + step };
}
