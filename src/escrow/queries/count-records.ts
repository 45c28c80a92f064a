import type * as z from "zod";
import { readIfNoneArchived } from "../../archive/open-archives.ts";
import { ON_CHAIN_STATES } from "../../chain/network.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { firstIdAt } from "../../db/id.ts";
import type { Side } from "../model/escrow-record.ts";
import { DAY_MS } from "../store/archived-counts.ts";
import { NEEDS_PERSON_CONDITION } from "../store/predicates.ts";
import { EscrowConditions, sourceTypesOf } from "./conditions.ts";
import { readListStates } from "./list-page.ts";
import type { PageOptions } from "./page-rows.ts";
import type { countQuery, recordCounts } from "./query-schemas.ts";
import { buildPermittedCondition } from "./scope-condition.ts";

type CountQuery = Omit<z.output<typeof countQuery>, "days"> & Pick<PageOptions, "env" | "viewer">;
type Counts = z.input<typeof recordCounts>;
type CountsByState = Counts["byState"];
type CountedState = CountsByState[number]["onChainState"];

/** Each state, and none. */
const STATE_COUNTERS = [null, ...ON_CHAIN_STATES].map((state) => ({
  state,
  name: state ?? "none",
  sql: state === null ? "on_chain_state IS NULL" : `on_chain_state = '${state}'`,
}));

/** How many records there are, and how many in each state. */
export async function countRecords(
  db: Database,
  side: Side,
  query: CountQuery,
): Promise<Omit<Counts, "byDay">> {
  const { days, edges } = splitPeriod(query);
  const counts =
    (edges.length > 0 || !mayBeArchived(query) ? await countAlone(db, side, query) : null) ??
    (await countWithArchives(db, side, query, { days, edges }));
  return withTotal(
    STATE_COUNTERS.map(({ state }) => ({ onChainState: state, count: counts.get(state) ?? 0 })),
  );
}

type StateCounts = Map<CountedState, number>;

/** Null: archives may have some of the records. */
async function countAlone(
  db: Database,
  side: Side,
  query: CountQuery,
): Promise<StateCounts | null> {
  const { network } = query;
  const hot = buildCount(side, query);
  const rows = mayBeArchived(query)
    ? await readIfNoneArchived<CountRow>(db, { kind: "escrow", network, hot })
    : await db.all<CountRow>(hot.sql, ...hot.params);
  return rows && toCounts(rows);
}

async function countWithArchives(
  db: Database,
  side: Side,
  query: CountQuery,
  { days, edges }: ReturnType<typeof splitPeriod>,
): Promise<StateCounts> {
  const counts = days ? await countWholeDays(db, side, { ...query, ...days }) : new Map();
  for (const edge of edges)
    for (const state of await readListStates(db, side, { ...query, ...edge }))
      addTo(counts, state, 1);
  return counts;
}

type CountRow = Record<string, number>;

/** One pass, where GROUP BY would sort what it reads. */
function buildCount(side: Side, query: CountQuery): Statement {
  const found = new EscrowConditions(side, query.network);
  addFilters(found, query);
  found.restrictToCreationPeriod(query);
  return statement(
    `SELECT ${STATE_COUNTERS.map(({ name, sql }) => `count(*) FILTER (WHERE ${sql}) AS "${name}"`).join(", ")}
     FROM escrow WHERE ${found.toSql()}`,
    ...found.params,
  );
}

const toCounts = ([row]: readonly CountRow[]): StateCounts =>
  new Map(STATE_COUNTERS.map(({ state, name }) => [state, row?.[name] ?? 0]));

function addTo(counts: StateCounts, state: CountedState, count: number): void {
  counts.set(state, (counts.get(state) ?? 0) + count);
}

/** What waits for a person is in no archive. */
const mayBeArchived = ({ filterNeedsManualAction }: CountQuery) => !filterNeedsManualAction;

type Period = Pick<CountQuery, "createdFrom" | "createdTo">;

/**
 * The whole days of a period, by which archived records are counted, and the rest before and after them.
 * `days` is null where there are none.
 */
function splitPeriod({ createdFrom: from, createdTo: to }: Period): {
  days: Period | null;
  edges: Period[];
} {
  const firstDay = from === undefined ? undefined : Math.ceil(from / DAY_MS) * DAY_MS;
  const lastDay = to === undefined ? undefined : Math.floor(to / DAY_MS) * DAY_MS;
  if (firstDay !== undefined && lastDay !== undefined && firstDay >= lastDay)
    return { days: null, edges: [{ createdFrom: from, createdTo: to }] };
  return {
    days: { createdFrom: firstDay, createdTo: lastDay },
    edges: [
      { createdFrom: from, createdTo: firstDay },
      { createdFrom: lastDay, createdTo: to },
    ].filter(({ createdFrom, createdTo }) => createdFrom !== createdTo),
  };
}

async function countWholeDays(db: Database, side: Side, query: CountQuery): Promise<StateCounts> {
  const [here, archived] = (await db.batch([
    buildCount(side, query),
    countArchives(side, query),
  ])) as [D1Result<CountRow>, D1Result<ArchivedCount>];
  const counts = toCounts(here.results);
  for (const { state, n } of archived.results) addTo(counts, state, n);
  return counts;
}

interface ArchivedCount {
  /** Days since 1970. */
  day: number;
  state: CountedState;
  n: number;
}

/** How many records of whole days archives have. Moves write it, so that it is read with the rest at one moment. */
function countArchives(side: Side, query: CountQuery): Statement {
  const { createdFrom: from, createdTo: to } = query;
  const found = new EscrowConditions(side, query.network);
  found.add("day >= ?", from === undefined ? undefined : from / DAY_MS);
  found.add("day < ?", to === undefined ? undefined : to / DAY_MS);
  found.add("contract_address = ?", query.filterSmartContractAddress);
  found.add("source_type = ?", query.filterPaymentSourceType);
  const scope = query.viewer?.scope;
  if (scope?.walletIds)
    found.addNumbered(
      buildPermittedCondition(scope.walletIds, "wallet_ids", (ids) => found.addParameter(ids)),
    );
  return statement(
    `SELECT day, nullif(on_chain_state, '') AS state, sum(count) AS n FROM archived_escrow_count
     WHERE ${found.toSql()} GROUP BY 1, 2`,
    ...found.params,
  );
}

/**
 * The same of each of the last days, in UTC, today included: of records made in them. It reads the
 * index's entries of those records, and of no others.
 *
 * @param now - epoch milliseconds
 */
export async function countByDay(
  db: Database,
  side: Side,
  query: CountQuery & { days: number },
  now: number,
): Promise<Counts["byDay"]> {
  if (query.days === 0) return [];
  const today = Math.floor(now / DAY_MS);
  const days = Array.from({ length: query.days }, (_, i) => {
    const from = (today - query.days + 1 + i) * DAY_MS;
    return { day: formatDay(from / DAY_MS), from: firstIdAt(from), to: firstIdAt(from + DAY_MS) };
  });
  const found = new EscrowConditions(side, query.network);
  addFilters(found, query);
  const [inDays = "", ofTypes = "", inStates = ""] = [
    days,
    sourceTypesOf(query),
    STATE_COUNTERS.map(({ state }) => state),
  ].map((list) => found.addParameter(JSON.stringify(list)));
  // Added up here: GROUP BY would sort what it reads.
  const here = statement(
    `SELECT days.value->>'day' AS day, states.value AS state,
       (SELECT count(*) FROM escrow INDEXED BY escrow_state_newest
        WHERE ${found.toSql()} AND on_chain_state IS states.value AND source_type = types.value
          AND escrow.id >= days.value->>'from' AND escrow.id < days.value->>'to') AS n
     FROM json_each(${inDays}) AS days, json_each(${inStates}) AS states,
       json_each(${ofTypes}) AS types`,
    ...found.params,
  );
  const period = { createdFrom: (today - query.days + 1) * DAY_MS, createdTo: undefined };
  const [rows, archived] = (await db.batch([
    here,
    ...(mayBeArchived(query) ? [countArchives(side, { ...query, ...period })] : []),
  ])) as [D1Result<{ day: string; state: CountedState; n: number }>, D1Result<ArchivedCount>?];
  return days.map(({ day }) => {
    const ofDay = [
      ...rows.results.filter((row) => row.day === day),
      ...(archived?.results ?? []).filter((row) => formatDay(row.day) === day),
    ];
    const byState = STATE_COUNTERS.map(({ state }) => ({
      onChainState: state,
      count: ofDay.filter((row) => row.state === state).reduce((sum, { n }) => sum + n, 0),
    }));
    return { day, ...withTotal(byState) };
  });
}

function addFilters(found: EscrowConditions, query: CountQuery): void {
  found.add("contract_address = ?", query.filterSmartContractAddress);
  found.add("source_type = ?", query.filterPaymentSourceType);
  if (query.filterNeedsManualAction) found.add(NEEDS_PERSON_CONDITION);
  found.restrictToViewer(query.viewer);
}

const formatDay = (day: number) =>
  new Date(day * DAY_MS).toISOString().slice(0, "YYYY-MM-DD".length);

function withTotal(counts: CountsByState) {
  const byState = counts.filter(({ count }) => count > 0);
  return { total: byState.reduce((sum, { count }) => sum + count, 0), byState };
}
