import type { Network, PaymentSourceType } from "../../chain/network.ts";
import { PAYMENT_SOURCE_TYPES } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";
import type { Caller } from "../../http/context.ts";
import type { Side } from "../model/escrow-record.ts";
import {
  type AutomaticStepSettings,
  BLOCKERS_SQL,
  type Blockers,
  findDisabledSteps,
} from "../store/blockers.ts";
import { DOC_OR_ROW_SQL, readDocument, type StoredDocument } from "../store/outdated-documents.ts";
import { SHOWN_HASH_SQL } from "../store/predicates.ts";
import { DOC_VERSION, withConfirmations, withMetadata } from "../store/render-record.ts";
import { addHistories, HISTORIES_SQL, type HistoriesRow } from "./histories.ts";
import { buildPageRowsSql, buildScopeCondition } from "./scope-condition.ts";

/** The change stamp that a diff is ordered by. */
export type StampColumn = "chain_changed_at" | "action_changed_at" | "changed_at";

export interface DiffQuery {
  network: Network;
  limit: number;
  /** Epoch milliseconds. */
  lastUpdate: number;
  cursorId?: string | undefined;
  filterSmartContractAddress?: string | undefined;
  filterPaymentSourceType?: PaymentSourceType | undefined;
  includeHistory: boolean;
  /** Left out: somebody who is shown every record, and nothing that its owner noted. */
  viewer?: Viewer;
  env: AutomaticStepSettings;
}

/** The caller, as far as what it may see of records depends on it. */
export type Viewer = Pick<Caller, "id" | "permission" | "scope">;

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
  const { sql, params } = buildDiffSql(side, stamp, query);
  const rows = await readRows<RecordRow & VersionRow>(
    db,
    query,
    sql,
    params,
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
  const { sql, params } = buildDiffSql(side, stamp, query);
  const rows = await db.all<VersionRow>(
    `SELECT page.id, page.stamp, page.revision, ${CONTEXT_SQL} FROM (${sql}) AS page`,
    ...params,
  );
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

/** SQL of the rows of a page, with ?1 for the side and ?2 for the network. */
function buildDiffSql(side: Side, stamp: StampColumn, query: DiffQuery): SqlExpression {
  const from =
    query.cursorId === undefined && side === "payment" ? query.lastUpdate + 1 : query.lastUpdate;
  const types = query.filterPaymentSourceType
    ? [query.filterPaymentSourceType]
    : PAYMENT_SOURCE_TYPES;
  // An arm per type walks one index from where the page begins. The outer ORDER BY merges the arms
  // lazily: it reads at most one row more than it returns.
  const params: unknown[] = [
    side,
    query.network,
    from,
    query.cursorId ?? "",
    // The cursor item is returned again: with limit 1 a client would not advance.
    query.cursorId === undefined ? query.limit : Math.max(query.limit, 2),
  ];
  const parameter = (value: unknown) => `?${params.push(value)}`;
  const contract = query.filterSmartContractAddress;
  const scope = query.viewer?.scope;
  const conditions = [
    contract === undefined ? null : `contract_address = ${parameter(contract)}`,
    buildScopeCondition(scope, parameter),
  ].map((condition) => (condition === null ? "" : `AND ${condition}`));
  const arms = types.map((type) => {
    const where = `side = ?1 AND network = ?2 AND source_type = ${parameter(type)}
      ${conditions.join(" ")} AND (${stamp}, id) >= (?3, ?4)`;
    const rows = buildPageRowsSql(scope, parameter, { where, orderBy: stamp, limit: "?5" });
    return `SELECT ${buildPageColumnsSql(query)}, revision, ${stamp} AS stamp FROM ${rows}`;
  });
  return { sql: `${arms.join(" UNION ALL ")} ORDER BY stamp, id LIMIT ?5`, params };
}

/** Columns of a page, which orders rows without their texts. Histories need another column. */
export function buildPageColumnsSql({ includeHistory }: Pick<DiffQuery, "includeHistory">): string {
  const shown = `${SHOWN_HASH_SQL} AS shown`;
  return `id, due_at${includeHistory ? `, ${shown}` : ""}`;
}

/** SQL of the height of the tip. */
const TIP_SQL = "(SELECT height FROM chain_tip WHERE network = ?2)";

/** SQL of what the texts of a page have placeholders for: the tip, and what holds up records that are due. */
const CONTEXT_SQL = `${TIP_SQL} AS tip, iif(page.due_at IS NULL, NULL, ${BLOCKERS_SQL}) AS holds`;

interface ContextRow {
  tip: number | null;
  /** Null: nothing is due, so no text has a placeholder for it. */
  holds: string | null;
}

/** What holds up the records of a page: the same in every row that waits. */
function mergeBlockers(rows: readonly ContextRow[], env: AutomaticStepSettings): Blockers {
  const found = JSON.parse(rows.find((row) => row.holds !== null)?.holds ?? "{}") as Blockers;
  return { ...found, ...findDisabledSteps(env) };
}

/** A page as `readRecords` has it: JSON text of the records, comma separated. */
export async function readPageJson(...page: Parameters<typeof readRecords>): Promise<string> {
  return (await readRecords(...page)).join(",");
}

/**
 * Reads the records of a page. Stored text is shown as it is, and other rows are rendered.
 *
 * @param page - SQL of `buildPageColumnsSql` in order; ?1 is the side and ?2 the network.
 * @returns JSON text of each record.
 */
export async function readRecords(
  db: Database,
  side: Side,
  options: Pick<DiffQuery, "includeHistory" | "viewer" | "env">,
  page: string,
  params: unknown[],
): Promise<string[]> {
  return renderRows(await readRows(db, options, page, params), side, options.env);
}

interface RecordRow extends StoredDocument, ContextRow, HistoriesRow {
  id: string;
  metadata: string | null;
}

/** @param more - SQL of further columns */
function readRows<Row extends RecordRow>(
  db: Database,
  { viewer, includeHistory }: Pick<DiffQuery, "includeHistory" | "viewer">,
  page: string,
  params: unknown[],
  more = "",
): Promise<Row[]> {
  return db.all<Row>(
    `SELECT page.id, ${more}${DOC_OR_ROW_SQL}, ${buildMetadataSql(viewer, params.length + 1)},
       ${CONTEXT_SQL}${includeHistory ? HISTORIES_SQL : ""}
     FROM (${page}) AS page`,
    ...params,
    ...(viewer ? [viewer.id] : []),
  );
}

function renderRows(rows: readonly RecordRow[], side: Side, env: AutomaticStepSettings): string[] {
  const holds = mergeBlockers(rows, env);
  return rows.map((row) => {
    const tip = row.tip ?? 0;
    const text = withMetadata(readDocument(row), row.metadata);
    return addHistories(withConfirmations(text, tip, holds), side, row, tip);
  });
}

/**
 * SQL of the note of a record's owner. The owner, Admins, and keys that are bound to the record's
 * wallet can read it.
 *
 * @param position - of the viewer's id among the parameters
 */
function buildMetadataSql(viewer: Viewer | undefined, position: number): string {
  if (!viewer) return "NULL AS metadata";
  const isAlwaysShown = viewer.permission === "Admin" || Boolean(viewer.scope?.walletIds);
  return `(SELECT metadata FROM escrow_request WHERE record_id = page.id AND
    (?${position} = requested_by_id OR ${isAlwaysShown})) AS metadata`;
}
