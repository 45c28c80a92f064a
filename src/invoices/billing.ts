import type { Network } from "../chain/network.ts";
import { type Database, type Statement, statement } from "../db/client.ts";
import type { StoredFunds } from "../escrow/record.ts";
import type { BillablePayment } from "./lines.ts";
import type { Month } from "./month.ts";

/** A payment that has become billable, and where it stands. */
export interface Billable extends BillablePayment {
  sellerVkey: string;
  /** Epoch milliseconds. */
  billableAt: number;
  /** The base that bills it; null: none does yet. */
  baseId: string | null;
}

/**
 * When a payment became billable, epoch milliseconds: the block time of its withdrawal, or the time
 * from which a submitted result can be withdrawn. Never when we learned of it.
 */
const BILLABLE_AT = `iif(on_chain_state = 'ResultSubmitted', CAST(terms->>'unlockTime' AS INTEGER),
  (state->'transaction'->>'blockTime') * 1000)`;

/** Payments whose seller has, or can take, the money. Index: `escrow_billable`. */
export const BILLABLE = `side = 'payment'
  AND on_chain_state IN ('Withdrawn', 'ResultSubmitted', 'DisputedWithdrawn')`;

/** What the seller got: the price, or in a dispute the share that the admins gave it. */
const FUNDS = `iif(on_chain_state = 'DisputedWithdrawn', state->'withdrawnForSeller', terms->'funds')`;

/** The columns of `BillableRow`, for a statement FROM `escrow` and its `invoiced_payment`. */
export const BILLABLE_COLUMNS = `escrow.id, terms->>'agentIdentifier' AS agentIdentifier,
  terms->>'sellerVkey' AS sellerVkey, ${BILLABLE_AT} AS billableAt, ${FUNDS} AS funds,
  invoiced_payment.base_id AS baseId`;

/** A row of `BILLABLE_COLUMNS`. */
export interface BillableRow {
  id: string;
  agentIdentifier: string;
  sellerVkey: string;
  billableAt: number;
  /** JSON. */
  funds: string;
  baseId: string | null;
}

/**
 * What a buyer has to be billed for a month: payments that became billable in it and are in no
 * other invoice, and those that an invoice of this month holds already. Oldest first.
 *
 * @param now - epoch milliseconds: what becomes billable later is left out
 */
export async function billablePayments(
  database: Database,
  subject: { network: Network; buyerVkey: string; month: Month },
  now: number,
): Promise<Billable[]> {
  const { network, buyerVkey, month } = subject;
  const rows = await database.all<BillableRow>(
    `SELECT ${BILLABLE_COLUMNS} FROM escrow
       LEFT JOIN invoiced_payment ON invoiced_payment.payment_id = escrow.id
       LEFT JOIN invoice_base ON invoice_base.id = invoiced_payment.base_id
     WHERE ${BILLABLE} AND escrow.network = ?1 AND terms->>'buyerVkey' = ?2
       AND iif(invoice_base.id IS NULL,
             billableAt >= ?4 AND billableAt < ?5 AND billableAt <= ?6,
             invoice_base.month = ?3)
     ORDER BY billableAt, escrow.id`,
    network,
    buyerVkey,
    month.text,
    month.start,
    month.end,
    now,
  );
  return rows.map(billableOfRow).filter(({ funds }) => funds.length > 0);
}

/** Reads a row; amounts that are not above zero (a dispute's fee can exceed its share) are dropped. */
export function billableOfRow(row: BillableRow): Billable {
  const funds = (JSON.parse(row.funds) as StoredFunds[]).filter(
    ({ amount }) => BigInt(amount) > 0n,
  );
  return { ...row, funds };
}

/**
 * Makes these payments, and no others, those that a base bills. Aborts the batch when another base
 * took one of them meanwhile: `violates(error, "invoiced_payment.base_id")`.
 */
export function coverPayments(baseId: string, paymentIds: readonly string[]): Statement[] {
  const ids = JSON.stringify(paymentIds);
  return [
    statement(
      `DELETE FROM invoiced_payment
       WHERE base_id = ? AND payment_id NOT IN (SELECT value FROM json_each(?))`,
      baseId,
      ids,
    ),
    statement(
      `INSERT INTO invoiced_payment (payment_id, base_id)
       SELECT value, ?1 FROM json_each(?2) WHERE true
       ON CONFLICT (payment_id) DO UPDATE SET base_id = iif(base_id = excluded.base_id, base_id, NULL)`,
      baseId,
      ids,
    ),
  ];
}
