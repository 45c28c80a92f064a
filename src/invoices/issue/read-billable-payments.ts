import { readIfNoneArchived } from "../../archive/open-archives.ts";
import type { Database } from "../../db/client.ts";
import {
  BILLABLE_AT_SQL,
  BILLABLE_CONDITION,
  BUYER_VKEY_SQL,
} from "../../escrow/store/predicates.ts";
import { readPayments } from "./archived-payments.ts";
import {
  BILLABLE_COLUMNS,
  type BillableRow,
  type BillingScope,
  MAX_INVOICED_PAYMENTS,
  selectBillablePayments,
  toUninvoicedParams,
} from "./billable-payments.ts";

/** A row of an archive that became billable in a month. ?1 is its begin and ?2 its end, epoch milliseconds. */
const BILLABLE_IN_MONTH_CONDITION = `${BILLABLE_AT_SQL} >= ?1 AND ${BILLABLE_AT_SQL} < ?2`;

/** The same as `selectBillablePayments`, of the database and its archives. */
export async function readBillablePayments(
  database: Database,
  env: Parameters<typeof readPayments>[1],
  scope: BillingScope,
  removed: Readonly<Record<string, number>>,
  now: number,
): Promise<BillableRow[]> {
  const { network, buyerVkey, sellerVkey, sellerVkeys, month } = scope;
  const hot = selectBillablePayments(scope, removed, now);
  const alone = await readIfNoneArchived<BillableRow>(database, { kind: "escrow", network, hot });
  if (alone) return alone;
  const billed = await database.all<{ baseId: string; id: string }>(
    `SELECT base_id AS baseId, place.id FROM invoice_base
       JOIN invoiced_payment ON base_id = invoice_base.id
       CROSS JOIN escrow_identity AS place ON place.side = 'payment'
         AND place.identifier_hash = unhex(invoiced_payment.identifier_hash)
     WHERE invoice_base.network = ?1 AND buyer_vkey = ?2 AND month = ?3 AND place.archive IS NOT NULL`,
    network,
    buyerVkey,
    month.text,
  );
  const [, from, to] = toUninvoicedParams(network, month, removed, now);
  const ofSellers = `(?4 IS NULL OR seller_vkey = ?4)
    AND (?5 IS NULL OR seller_vkey IN (SELECT value FROM json_each(?5)))`;
  const found = await readPayments<BillableRow>(database, env, network, hot, {
    columns: `${BILLABLE_COLUMNS}, ${BILLABLE_IN_MONTH_CONDITION} AS isOfMonth`,
    ids: `SELECT id FROM escrow INDEXED BY escrow_billed
          WHERE ${BILLABLE_CONDITION} AND network = ?7 AND ${BUYER_VKEY_SQL} = ?3
            AND ${BILLABLE_IN_MONTH_CONDITION} AND ${ofSellers}
        UNION SELECT id FROM escrow WHERE id IN (SELECT value FROM json_each(?6)) AND ${ofSellers}`,
    params: [
      from,
      to,
      buyerVkey,
      sellerVkey,
      sellerVkeys && JSON.stringify(sellerVkeys),
      JSON.stringify(billed.map(({ id }) => id)),
    ],
  });
  const own = new Set(billed.map(({ baseId }) => baseId));
  const archived = (found.archived as (BillableRow & { isOfMonth: number })[]).filter(
    ({ baseId, isOfMonth }) => (baseId === null ? isOfMonth === 1 : own.has(baseId)),
  );
  return [...found.hot, ...archived]
    .sort((a, b) => a.billableAt - b.billableAt || (a.identity < b.identity ? -1 : 1))
    .slice(0, MAX_INVOICED_PAYMENTS + 1);
}
