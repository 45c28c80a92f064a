import type { Network, PaymentSourceType } from "../chain/network.ts";
import { PAYMENT_SOURCE_TYPES } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow, type Side } from "./record.ts";
import { DOC_VERSION, render, withConfirmations, withHistories } from "./render.ts";

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
}

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
    // The cursor item comes again: alone it would keep a client with limit 1 where it is.
    query.cursorId === undefined ? query.limit : Math.max(query.limit, 2),
    ...types,
    ...(query.filterSmartContractAddress === undefined ? [] : [query.filterSmartContractAddress]),
  ]);
}

/** Columns a page is put together from. */
export const PAGE_COLUMNS = "id, doc, doc_version";

/**
 * Puts a page together from stored text: nothing is parsed or rendered, unless histories are asked
 * for or a row was written by another version of `render.ts`.
 *
 * @param page - SQL that gives `PAGE_COLUMNS` in order; ?1 is the side and ?2 the network
 */
export async function readPage(
  db: Database,
  side: Side,
  options: { includeHistory: boolean },
  page: string,
  params: unknown[],
): Promise<string> {
  const history = options.includeHistory
    ? `, (SELECT group_concat(doc, ',') FROM (SELECT doc FROM escrow_transaction
           WHERE record_id = page.id AND id IS NOT
             (SELECT state->'transaction'->>'id' FROM escrow WHERE id = page.id)
           ORDER BY block_height DESC, tx_index DESC, id DESC)) AS transactions,
         (SELECT group_concat(doc, ',') FROM (SELECT doc FROM escrow_action
           WHERE record_id = page.id ORDER BY id DESC)) AS actions`
    : "";
  const rows = await db.all<{
    id: string;
    doc: string;
    doc_version: number;
    tip: number | null;
    transactions?: string | null;
    actions?: string | null;
  }>(
    `SELECT page.id, page.doc, page.doc_version,
       (SELECT height FROM chain_tip WHERE network = ?2) AS tip ${history}
     FROM (${page}) AS page`,
    ...params,
  );
  const fresh = await renderOutdated(
    db,
    rows.filter(({ doc_version }) => doc_version !== DOC_VERSION).map(({ id }) => id),
  );
  const text = rows
    .map((row) =>
      withHistories(fresh.get(row.id) ?? row.doc, side, row.transactions ?? "", row.actions ?? ""),
    )
    .join(",");
  return withConfirmations(text, rows[0]?.tip ?? 0);
}

/** Renders rows that another version wrote; until all are written anew, each read pays for its own. */
async function renderOutdated(db: Database, ids: string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db.all<EscrowRow>(
    `SELECT ${ESCROW_COLUMNS} FROM escrow WHERE id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids),
  );
  return new Map(rows.map((row) => [row.id, render(recordOfRow(row))]));
}
