import { openArchives } from "../../archive/open-archives.ts";
import { readMerged } from "../../archive/read-merged.ts";
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { SqlExpression } from "../../db/clock.ts";
import type { Caller } from "../../http/context.ts";
import type { Side } from "../model/escrow-record.ts";
import { findNamedEscrows, PLACE_SQL, selectEscrowPlaces } from "../store/archived-escrows.ts";
import {
  type AutomaticStepSettings,
  BLOCKERS_SQL,
  type Blockers,
  findDisabledSteps,
} from "../store/blockers.ts";
import {
  ARCHIVED_ROW_SQL,
  DOC_OR_ROW_SQL,
  readDocument,
  type StoredDocument,
} from "../store/outdated-documents.ts";
import { SHOWN_HASH_SQL } from "../store/predicates.ts";
import { withConfirmations, withMetadata } from "../store/render-record.ts";
import { HISTORIES_SQL, type HistoriesRow, renderRowHistories } from "./histories.ts";

/** The caller, as far as what it may see of records depends on it. */
export type Viewer = Pick<Caller, "id" | "permission" | "scope">;

/** The deployment's settings and archives, as far as pages need them. */
export type PageEnv = AutomaticStepSettings & Parameters<typeof openArchives>[0];

/** What pages show of records. */
export interface PageOptions {
  includeHistory: boolean;
  /** Left out: somebody who is shown every record, and nothing that its owner noted. */
  viewer?: Viewer;
  env: PageEnv;
}

/** Which records a page has. */
export interface RecordPage {
  network: Network;
  limit: number;
  isDescending: boolean;
  /** Columns of `archive_range` with the key of an archive's first row, in the page's order. */
  firstKey: string;
  /** SQL condition on `archive_range`, that an archive may have rows of the page; null: none has. */
  overlap: SqlExpression | null;
  /** Hash of the only identifier that the page is about, hex. */
  identifierHash?: string | undefined;
  /**
   * SQL of its rows in order: `buildPageColumnsSql`, `stamp` if they are ordered by one, and `revision` if
   * versions are read. ?1 is the network.
   *
   * @param from - the row to begin from, or after
   * @param archived - of an archive; left out: of the database
   */
  build(from: PagePosition | null, archived?: ArchivedRows): SqlExpression;
}

/** What rows of an archive have beside the columns of a page. */
export interface ArchivedRows {
  /** SQL of columns of `escrow`, each after a comma. They are read with the row, so that it is read once. */
  columns: string;
  /** JSON array of the only ids; left out: all. */
  ids?: string;
}

export interface PagePosition {
  id: string;
  /** Of a page that is ordered by one. */
  stamp?: number;
}

/** What the database adds for archives. */
export interface ArchiveContext {
  tip: number | null;
  /** The last change stamp of the network. */
  clock: number;
  /** JSON array; null: all. */
  ids: string | null;
}

/** Columns of a page, which orders rows without their texts. Histories need another column. */
export function buildPageColumnsSql({
  includeHistory,
}: Pick<PageOptions, "includeHistory">): string {
  const shown = `${SHOWN_HASH_SQL} AS shown`;
  return `id, due_at${includeHistory ? `, ${shown}` : ""}`;
}

/** SQL of the height of the tip. */
const TIP_SQL = "(SELECT height FROM chain_tip WHERE network = ?1)";

/** SQL of what the texts of a page have placeholders for: the tip, and what holds up records that are due. */
const CONTEXT_SQL = `${TIP_SQL} AS tip, iif(page.due_at IS NULL, NULL, ${BLOCKERS_SQL}) AS holds`;

/** What the texts of a page need beside them. */
export interface ContextRow {
  tip: number | null;
  /** Null: nothing is due, so no text has a placeholder for it. */
  holds: string | null;
}

/** What holds up the records of a page: the same in every row that waits. */
export function mergeBlockers(rows: readonly ContextRow[], env: AutomaticStepSettings): Blockers {
  const found = JSON.parse(rows.find((row) => row.holds !== null)?.holds ?? "{}") as Blockers;
  return { ...found, ...findDisabledSteps(env) };
}

/** SQL of what the texts of an archive's rows are rendered from. */
export const ARCHIVED_TEXT_COLUMNS = `, ${ARCHIVED_ROW_SQL}, has_note`;

interface RecordRow extends StoredDocument, ContextRow, HistoriesRow, PagePosition {
  metadata: string | null;
  place?: string;
}

/**
 * Reads the rows of a page, from the archives too. Stored text is shown as it is, and other rows are rendered.
 *
 * @param more - SQL of further columns, each followed by a comma
 */
export function readPageRows<Row extends RecordRow>(
  db: Database,
  options: PageOptions,
  page: RecordPage,
  more = "",
): Promise<Row[]> {
  const build: BuildPage = (rows, context) => buildRowsSql(rows, options, more, context);
  return readPage<Row>(db, options.env, page, build, ARCHIVED_TEXT_COLUMNS);
}

/** Reads the given columns of a page's rows, with what `ContextRow` has, and no text. */
export function readPageColumns<Row extends ContextRow & PagePosition>(
  db: Database,
  env: PageEnv,
  page: RecordPage,
  columns: string,
): Promise<Row[]> {
  return readPage<Row>(db, env, page, ({ sql, params }, context) => ({
    sql: `SELECT ${columns}, ${context ? `page.place, ?${params.length + 1} AS tip, NULL AS holds` : CONTEXT_SQL}
      FROM (${sql}) AS page`,
    params: context ? [...params, context.tip] : params,
  }));
}

/** SQL of a page's rows with all columns; with a context of an archive, `page.place` among them. */
type BuildPage = (rows: SqlExpression, context: ArchiveContext | null) => SqlExpression;

/**
 * Reads a page from the database and its archives.
 *
 * @param columns - see `ArchivedRows`
 */
export function readPage<Row extends PagePosition>(
  db: Database,
  env: PageEnv,
  page: RecordPage,
  build: BuildPage,
  columns = "",
): Promise<Row[]> {
  const { network, limit, isDescending, firstKey, overlap, identifierHash } = page;
  const ofIdentifier = `(SELECT json_group_array(id) FROM escrow_identity WHERE identifier_hash = unhex(?))`;
  return readMerged<Row, ArchiveContext>(db, openArchives(env), {
    ...{ kind: "escrow", network, limit, isDescending, firstKey },
    keyOf: (row) => row.stamp ?? row.id,
    overlap,
    isByStamp: !isDescending,
    context: {
      sql: `(SELECT height FROM chain_tip WHERE network = archive_range.network) AS tip,
        (SELECT t FROM clock WHERE feed = 'escrow:' || archive_range.network) AS clock,
        ${identifierHash === undefined ? "NULL" : ofIdentifier} AS ids`,
      params: identifierHash === undefined ? [] : [identifierHash],
    },
    hot: build(page.build(null), null),
    buildArchived: (context, after) => {
      const { ids } = context;
      const archived = { columns: `, ${PLACE_SQL}${columns}`, ...(ids !== null && { ids }) };
      return build(page.build(after, archived), context);
    },
    isKnown: ({ stamp }, { clock }) => stamp === undefined || stamp <= clock,
    findNamed: findNamedEscrows,
    selectPlaces: selectEscrowPlaces,
  });
}

/**
 * SQL of a page's rows, with what their texts need.
 *
 * @param more - SQL of further columns, each followed by a comma
 * @param context - of an archive: its rows have `ARCHIVED_TEXT_COLUMNS`
 */
export function buildRowsSql(
  { sql, params }: SqlExpression,
  { viewer, includeHistory }: Pick<PageOptions, "viewer" | "includeHistory">,
  more: string,
  context: Pick<ArchiveContext, "tip"> | null,
): SqlExpression {
  const all = [...params, ...(viewer ? [viewer.id] : []), ...(context ? [context.tip] : [])];
  const note = buildNoteSql(viewer, params.length + 1);
  const columns = context
    ? `page.document, page.place, ?${all.length} AS tip, NULL AS holds`
    : `${DOC_OR_ROW_SQL}, ${CONTEXT_SQL}`;
  return {
    sql: `SELECT page.id, ${more}${columns},
       ${context ? `iif(page.has_note, ${note}, NULL)` : note} AS metadata
       ${includeHistory ? HISTORIES_SQL : ""}
     FROM (${sql}) AS page`,
    params: all,
  };
}

/** JSON text of each record of rows. */
export function renderRows(
  rows: readonly RecordRow[],
  side: Side,
  env: AutomaticStepSettings,
): string[] {
  const holds = mergeBlockers(rows, env);
  return rows.map((row) => {
    const tip = row.tip ?? 0;
    const doc = withMetadata(readDocument(row), row.metadata);
    return withConfirmations(doc.slice(0, -1), tip, holds) + renderRowHistories(side, row, tip);
  });
}

/**
 * SQL of the note of a record's owner. The owner, Admins, and keys that are bound to the record's
 * wallet can read it.
 *
 * @param position - of the viewer's id among the parameters
 */
function buildNoteSql(viewer: Viewer | undefined, position: number): string {
  if (!viewer) return "NULL";
  const isAlwaysShown = viewer.permission === "Admin" || Boolean(viewer.scope?.walletIds);
  return `(SELECT metadata FROM escrow_request WHERE record_id = page.id AND
    (?${position} = requested_by_id OR ${isAlwaysShown}))`;
}
