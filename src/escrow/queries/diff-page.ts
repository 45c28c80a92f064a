import type * as z from "zod";
import type { Database } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";
import type { Side } from "../model/escrow-record.ts";
import type { AutomaticStepSettings } from "../store/blockers.ts";
import { DOC_VERSION } from "../store/render-record.ts";
import { EscrowConditions, sourceTypesOf } from "./conditions.ts";
import {
  buildPageColumnsSql,
  type ContextRow,
  mergeBlockers,
  type PageOptions,
  type PagePosition,
  type RecordPage,
  readPageColumns,
  readPageRows,
  renderRows,
} from "./page-rows.ts";
import type { diffQuery } from "./query-schemas.ts";
import { buildPageRowsSql } from "./scope-condition.ts";

/** The change stamp that a diff is ordered by. */
export type StampColumn = "chain_changed_at" | "action_changed_at" | "changed_at";

export type DiffQuery = z.output<typeof diffQuery> & PageOptions;

/** A page of a diff. */
export interface DiffPage {
  /** JSON text of the records, comma separated. */
  records: string;
  /** What the page shows: another page for the same query and viewer has another version. */
  version: string;
}

/**
 * Reads one page of the records that changed since a point, in ascending order of stamp and id.
 * The page has the records with a later stamp. Of the records with the same stamp it has those
 * from `cursorId` on. Without a cursor, a purchase page begins at `lastUpdate` and a payment page
 * after it. A client that sends the last item's stamp and id therefore sees every change.
 */
export async function readDiffPage(
  db: Database,
  side: Side,
  stamp: StampColumn,
  query: DiffQuery,
): Promise<DiffPage> {
  const page = createDiffPage(side, stamp, query);
  const rows = await readPageRows<Parameters<typeof renderRows>[0][number] & VersionRow>(
    db,
    query,
    page,
    "page.stamp, page.revision, ",
  );
  return {
    records: renderRows(rows, side, query.env).join(","),
    version: toVersion(rows, query.env),
  };
}

/** Reads the version of a page, and none of its texts. */
export async function readDiffVersion(
  db: Database,
  side: Side,
  stamp: StampColumn,
  query: DiffQuery,
): Promise<string> {
  const page = createDiffPage(side, stamp, query);
  const columns = "page.id, page.stamp, page.revision";
  const rows = await readPageColumns<VersionRow>(db, query.env, page, columns);
  return toVersion(rows, query.env);
}

/** A row of a page as far as the version goes. Each write of a record raises its revision. */
interface VersionRow extends ContextRow {
  id: string;
  stamp: number;
  revision: number;
}

function toVersion(rows: readonly VersionRow[], env: AutomaticStepSettings): string {
  const records = rows.map(({ id, stamp, revision }) => [id, stamp, revision]);
  return JSON.stringify([DOC_VERSION, records, rows[0]?.tip, mergeBlockers(rows, env)]);
}

function createDiffPage(side: Side, stamp: StampColumn, query: DiffQuery): RecordPage {
  const { network, cursorId = "", lastUpdate } = query;
  const isAfter = query.cursorId === undefined && side === "payment";
  const begin = { stamp: isAfter ? lastUpdate + 1 : lastUpdate, id: cursorId };
  // The cursor item is returned again: with limit 1 a client would not advance.
  const limit = query.cursorId === undefined ? query.limit : Math.max(query.limit, 2);
  return {
    ...{ network, limit, isDescending: false, firstKey: `least_${stamp}` },
    overlap: {
      sql: `greatest_changed_at >= ? AND greatest_${stamp} >= ?`,
      params: [begin.stamp, begin.stamp],
    },
    // Of an archive's rows, one is read again.
    build: (from, archived) =>
      buildDiffSql(side, stamp, query, {
        from: from ?? begin,
        limit: from ? limit + 1 : limit,
        more: archived?.columns ?? "",
      }),
  };
}

/**
 * SQL of the rows of a page, with ?1 for the network.
 *
 * @param rows - the first row, or what comes before it; how many; SQL of further columns, each after a comma
 */
function buildDiffSql(
  side: Side,
  stamp: StampColumn,
  query: DiffQuery,
  { from, limit, more }: { from: PagePosition; limit: number; more: string },
): SqlExpression {
  const found = new EscrowConditions(side, query.network);
  const begin = [from.stamp, from.id].map((value) => found.addParameter(value));
  found.add("contract_address = ?", query.filterSmartContractAddress);
  found.restrictToViewer(query.viewer);
  // An arm per type walks one index from where the page begins. The outer ORDER BY merges the arms
  // lazily: it reads at most one row more than it returns.
  const arms = sourceTypesOf(query).map((type) => {
    const where = `${found.toSql()} AND source_type = ${found.addParameter(type)}
      AND (${stamp}, id) >= (${begin.join(", ")})`;
    const arm = { where, orderBy: stamp, limit: `${limit}` };
    const rows = buildPageRowsSql(query.viewer?.scope, (ids) => found.addParameter(ids), arm);
    return `SELECT ${buildPageColumnsSql(query)}, revision, ${stamp} AS stamp${more}
      FROM ${rows}`;
  });
  return {
    sql: `${arms.join(" UNION ALL ")} ORDER BY stamp, id LIMIT ${limit}`,
    params: found.params,
  };
}
