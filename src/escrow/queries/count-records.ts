import type * as z from "zod";
import { ON_CHAIN_STATES } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { firstIdAt } from "../../db/id.ts";
import type { Side } from "../model/escrow-record.ts";
import { NEEDS_PERSON_CONDITION } from "../store/predicates.ts";
import { EscrowConditions, sourceTypesOf } from "./conditions.ts";
import type { Viewer } from "./diff-page.ts";
import type { countQuery, recordCounts } from "./query-schemas.ts";

type CountQuery = Omit<z.output<typeof countQuery>, "days"> & { viewer?: Viewer };
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
  const found = new EscrowConditions(side, query.network);
  addFilters(found, query);
  found.restrictToCreationPeriod(query);
  // One pass, where GROUP BY would sort what it reads.
  const [row = {}] = await db.all<Record<string, number>>(
    `SELECT ${STATE_COUNTERS.map(({ name, sql }) => `count(*) FILTER (WHERE ${sql}) AS "${name}"`).join(", ")}
     FROM escrow WHERE ${found.toSql()}`,
    ...found.params,
  );
  const byState = STATE_COUNTERS.map(({ state, name }) => ({
    onChainState: state,
    count: row[name] ?? 0,
  })).filter(({ count }) => count > 0);
  return withTotal(byState);
}

const DAY_MS = 24 * 60 * 60_000;

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
    const day = new Date(from).toISOString().slice(0, "YYYY-MM-DD".length);
    return { day, from: firstIdAt(from), to: firstIdAt(from + DAY_MS) };
  });
  const found = new EscrowConditions(side, query.network);
  addFilters(found, query);
  const [inDays = "", ofTypes = "", inStates = ""] = [
    days,
    sourceTypesOf(query),
    STATE_COUNTERS.map(({ state }) => state),
  ].map((list) => found.addParameter(JSON.stringify(list)));
  // Added up here: GROUP BY would sort what it reads.
  const rows = await db.all<{ day: string; state: CountedState; n: number }>(
    `SELECT days.value->>'day' AS day, states.value AS state,
       (SELECT count(*) FROM escrow INDEXED BY escrow_state_newest
        WHERE ${found.toSql()} AND on_chain_state IS states.value AND source_type = types.value
          AND escrow.id >= days.value->>'from' AND escrow.id < days.value->>'to') AS n
     FROM json_each(${inDays}) AS days, json_each(${inStates}) AS states,
       json_each(${ofTypes}) AS types`,
    ...found.params,
  );
  return days.map(({ day }) => {
    const ofDay = rows.filter((row) => row.day === day);
    const byState = STATE_COUNTERS.map(({ state }) => ({
      onChainState: state,
      count: ofDay.filter((row) => row.state === state).reduce((sum, { n }) => sum + n, 0),
    }));
    return { day, ...withTotal(byState.filter(({ count }) => count > 0)) };
  });
}

function addFilters(found: EscrowConditions, query: CountQuery): void {
  found.addCondition("contract_address =", query.filterSmartContractAddress);
  found.addCondition("source_type =", query.filterPaymentSourceType);
  if (query.filterNeedsManualAction) found.conditions.push(NEEDS_PERSON_CONDITION);
  found.restrictToViewer(query.viewer);
}

function withTotal(byState: CountsByState) {
  return { total: byState.reduce((sum, { count }) => sum + count, 0), byState };
}
