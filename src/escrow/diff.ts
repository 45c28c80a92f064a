import type { Network, PaymentSourceType } from "../chain/network.ts";
import { PAYMENT_SOURCE_TYPES } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import type { Caller } from "../http/context.ts";
import { DOC_OR_OUTDATED, renderOutdated } from "./outdated.ts";
import type { Side } from "./record.ts";
import { withConfirmations, withHistories, withMetadata } from "./render.ts";

/** The change stamp that a diff is ordered by. */
export type Stamp = "chain_changed_at" | "action_changed_at" | "changed_at";

export interface DiffQuery {
  network: Network;
  limit: number;
  /** Epoch milliseconds. */
  lastUpdate: number;
  cursorId?: string | undefined;
  filterSmartContractAddress?: string | undefined;
  filterPaymentSourceType?: PaymentSourceType | undefined;
  includeHistory: boolean;
  /** Who is shown what the owners of records noted; left out: nobody. */
  viewer?: Viewer;
}

/** The caller, as far as what it may see of a record depends on it. */
export type Viewer = Pick<Caller, "id" | "permission">;

/**
 * One page of the records changed since a point: those with a later stamp, and of those with the
 * same stamp the ones from `cursorId` on. Without a cursor a purchase page begins at `lastUpdate`,
 * a payment page after it. Ascending by stamp, then id, so a client that sends the last item's
 * stamp and id sees every change (`interface.md`, decisions §4).
 *
 * @returns JSON text of the records, comma separated
 */
export function diffPage(
  db: Database,
  side: Side,
  stamp: Stamp,
  query: DiffQuery,
): Promise<string> {
  const from =
    query.cursorId === undefined && side === "payment" ? query.lastUpdate + 1 : query.lastUpdate;
  const types = query.filterPaymentSourceType
    ? [query.filterPaymentSourceType]
    : PAYMENT_SOURCE_TYPES;
  // An arm per type walks one index from where the page begins; the outer ORDER BY merges them
  // lazily, so that no more rows are read than are returned, and one.
  const arms = types.map(
    (_, i) => `SELECT ${PAGE_COLUMNS}, ${stamp} AS stamp FROM escrow
      WHERE side = ?1 AND network = ?2 AND source_type = ?${6 + i}
        ${query.filterSmartContractAddress === undefined ? "" : `AND contract_address = ?${6 + types.length}`}
        AND (${stamp}, id) >= (?3, ?4)`,
  );
  return readPage(db, side, query, `${arms.join(" UNION ALL ")} ORDER BY stamp, id LIMIT ?5`, [
    side,
    query.network,
    from,
    query.cursorId ?? "",
    // The cursor item is returned again: with limit 1 a client would not advance.
    query.cursorId === undefined ? query.limit : Math.max(query.limit, 2),
    ...types,
    ...(query.filterSmartContractAddress === undefined ? [] : [query.filterSmartContractAddress]),
  ]);
}

/** Columns that a page is made of. */
export const PAGE_COLUMNS = `id, ${DOC_OR_OUTDATED}`;

/**
 * Entries of a history that are shown: a party may take thousands of steps, while a text in D1 has
 * at most two megabytes, and an entry up to about 1,500 bytes.
 */
const LONGEST_HISTORY = 1_000;

/** Newest first; the current transaction is shown by itself. */
const PAST_TRANSACTIONS = `FROM escrow_transaction
  WHERE record_id = page.id AND id IS NOT
    (SELECT coalesce(under_way->'transaction', state->'transaction')->>'id' FROM escrow
     WHERE id = page.id)
  ORDER BY id DESC`;
const PAST_ACTIONS = "FROM escrow_action WHERE record_id = page.id ORDER BY id DESC";

/**
 * Concatenates a page from stored text: nothing is parsed or rendered, unless a row was written by
 * another version of `render.ts`.
 *
 * @param page - SQL that gives `PAGE_COLUMNS` in order; ?1 is the side and ?2 the network
 */
export async function readPage(
  db: Database,
  side: Side,
  options: Pick<DiffQuery, "includeHistory" | "viewer">,
  page: string,
  params: unknown[],
): Promise<string> {
  const history = options.includeHistory
    ? `, (SELECT group_concat(doc, ',') FROM (SELECT doc ${PAST_TRANSACTIONS} LIMIT ${LONGEST_HISTORY}))
           AS transactions,
         (SELECT group_concat(doc, ',') FROM (SELECT doc ${PAST_ACTIONS} LIMIT ${LONGEST_HISTORY}))
           AS actions,
         EXISTS (SELECT 1 ${PAST_TRANSACTIONS} LIMIT 1 OFFSET ${LONGEST_HISTORY}) OR
         EXISTS (SELECT 1 ${PAST_ACTIONS} LIMIT 1 OFFSET ${LONGEST_HISTORY}) AS truncated`
    : "";
  const rows = await db.all<{
    id: string;
    doc: string | null;
    outdated: string | null;
    metadata: string | null;
    tip: number | null;
    transactions?: string | null;
    actions?: string | null;
    truncated?: 0 | 1;
  }>(
    `SELECT page.id, page.doc, page.outdated, ${metadataFor(options.viewer, params.length + 1)},
       (SELECT height FROM chain_tip WHERE network = ?2) AS tip ${history}
     FROM (${page}) AS page`,
    ...params,
    ...(options.viewer ? [options.viewer.id] : []),
  );
  const text = rows
    .map(({ doc, outdated, metadata, transactions, actions, truncated }) =>
      withHistories(withMetadata(doc ?? renderOutdated(outdated ?? "[]"), metadata), side, {
        transactions: transactions ?? "",
        actions: actions ?? "",
        isTruncated: truncated === 1,
      }),
    )
    .join(",");
  return withConfirmations(text, rows[0]?.tip ?? 0);
}

/**
 * SQL of what a record's owner noted, for the owner and for Admins.
 *
 * @param position - of the viewer's id among the parameters
 */
function metadataFor(viewer: Viewer | undefined, position: number): string {
  if (!viewer) return "NULL AS metadata";
  return `(SELECT metadata FROM escrow_request WHERE record_id = page.id AND
    (?${position} = requested_by_id OR ${viewer.permission === "Admin"})) AS metadata`;
}
