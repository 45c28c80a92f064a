import type { Network } from "../../chain/network.ts";
import { type Statement, statement } from "../../db/client.ts";
import { unpackHexSql } from "../../db/hex-column.ts";
import type { StoredFunds } from "../../escrow/model/escrow-record.ts";
import { selectNewerSql } from "../../escrow/store/identity.ts";
import {
  BILLABLE_AT_SQL,
  BILLABLE_CONDITION,
  BUYER_VKEY_SQL,
} from "../../escrow/store/predicates.ts";
import type { BillablePayment } from "../model/invoice-lines.ts";
import { formatDay, type Month } from "../model/month.ts";

/** Most payments that an invoice covers: their ids must fit in a row. */
export const MAX_INVOICED_PAYMENTS = 20_000;

/** Most payments that a document lists: it must fit in a row. */
export const MAX_LISTED_PAYMENTS = 2_000;

/** What one buyer bought in a month, of one seller or of all. */
export interface BillingScope {
  network: Network;
  /** Payment key hashes, hex. */
  buyerVkey: string;
  sellerVkey: string | null;
  /** The sellers that the API key may bill for; null: any. */
  sellerVkeys: readonly string[] | null;
  month: Month;
}

/** A payment that has become billable, and its billing state. */
export interface BillablePaymentRecord extends BillablePayment {
  /** The same for each record of one payment: a source that was created again makes another. */
  identity: string;
  sellerVkey: string;
  /** Epoch milliseconds. */
  billableAt: number;
  /** The base that bills it; null: none yet. */
  baseId: string | null;
}

/** The seller's revenue: the price, or in a dispute the share that the admins awarded. */
const REVENUE_SQL = `iif(on_chain_state = 'DisputedWithdrawn', withdrawn_for_seller, funds)`;

/**
 * The columns of `BillableRow` but for `baseId`. An identifier of Web3ChainV1 does not name its
 * contract, so the identity does.
 */
export const BILLABLE_COLUMNS = `escrow.id, ${unpackHexSql("agent_identifier")} AS agentIdentifier,
  escrow.seller_vkey AS sellerVkey, ${BILLABLE_AT_SQL} AS billableAt, ${REVENUE_SQL} AS funds,
  CAST(unlock_time AS INTEGER) AS unlockTime, transaction_hash AS txHash,
  escrow.contract_address || '#' || escrow.identifier_hash AS identity`;

/** A row of `BILLABLE_COLUMNS`. */
export interface BillableRow {
  id: string;
  agentIdentifier: string;
  sellerVkey: string;
  billableAt: number;
  /** Epoch milliseconds. */
  unlockTime: number;
  txHash: string | null;
  /** JSON. */
  funds: string;
  identity: string;
  baseId: string | null;
}

/** A payment of which the seller got something. */
export const HAS_REVENUE_CONDITION = `EXISTS (SELECT 1 FROM json_each(${REVENUE_SQL}) AS one
  WHERE CAST(one.value->>'amount' AS REAL) > 0)`;

/**
 * A row of `escrow` that is to be billed: the newest record of its payment. A result that could not be
 * withdrawn yet when its source was removed is left out, since its outcome is unknown. `?1` is the
 * network, `?4` the times at which its sources were removed (JSON: epoch milliseconds by id).
 */
const BILLABLE_RECORD_CONDITION = `${BILLABLE_CONDITION} AND escrow.network = ?1
  AND NOT EXISTS (SELECT 1 FROM ${selectNewerSql("'payment'")}
      AND newer.network = escrow.network AND newer.contract_address = escrow.contract_address)
  AND (on_chain_state <> 'ResultSubmitted' OR NOT EXISTS (SELECT 1 FROM json_each(?4) AS removed
    WHERE removed.key = source_id AND removed.value < ${BILLABLE_AT_SQL}))
  AND ${HAS_REVENUE_CONDITION}`;

/** Such a row that became billable from `?2` on and before `?3`, and is on no invoice. */
export const UNINVOICED_CONDITION = `${BILLABLE_RECORD_CONDITION} AND ${BILLABLE_AT_SQL} >= ?2 AND ${BILLABLE_AT_SQL} < ?3
  AND NOT EXISTS (SELECT 1 FROM invoiced_payment
    WHERE invoiced_payment.identifier_hash = escrow.identifier_hash
      AND invoiced_payment.network = escrow.network
      AND invoiced_payment.contract_address = escrow.contract_address)`;

/**
 * The parameters `?1` to `?4` of `UNINVOICED_CONDITION` for a month.
 *
 * @param removed - removal times of the network's sources, epoch milliseconds by id
 * @param now - epoch milliseconds; later payments are omitted
 */
export function toUninvoicedParams(
  network: Network,
  month: Month,
  removed: Readonly<Record<string, number>>,
  now: number,
): unknown[] {
  return [network, month.startAt, Math.min(month.endAt, now + 1), JSON.stringify(removed)];
}

/**
 * What a buyer has to be billed for a month. These are payments that became billable in the month and
 * are on no invoice, and the payments on its invoice. Oldest first, at most one more than an invoice
 * covers. Rows: `BillableRow`. Parameters: see `toUninvoicedParams`.
 */
export function selectBillablePayments(
  { network, buyerVkey, sellerVkey, sellerVkeys, month }: BillingScope,
  removed: Readonly<Record<string, number>>,
  now: number,
): Statement {
  return statement(
    `SELECT ${BILLABLE_COLUMNS}, NULL AS baseId FROM escrow INDEXED BY escrow_billed
     WHERE ${UNINVOICED_CONDITION} AND ${BUYER_VKEY_SQL} = ?5
       AND (?6 IS NULL OR seller_vkey = ?6)
       AND (?8 IS NULL OR seller_vkey IN (SELECT value FROM json_each(?8)))
     UNION ALL
     SELECT ${BILLABLE_COLUMNS}, base_id FROM (
       SELECT base_id, contract_address AS billed_contract, escrow_identity.id AS billed_id
       FROM invoice_base JOIN invoiced_payment ON base_id = invoice_base.id
         CROSS JOIN escrow_identity ON escrow_identity.side = 'payment'
           AND escrow_identity.identifier_hash = unhex(invoiced_payment.identifier_hash)
       WHERE invoice_base.network = ?1 AND buyer_vkey = ?5 AND month = ?7
         AND (?6 IS NULL OR seller_vkey = ?6)
         AND (?8 IS NULL OR seller_vkey IN (SELECT value FROM json_each(?8)))
         AND invoiced_payment.network = ?1)
       CROSS JOIN escrow ON escrow.id = billed_id AND escrow.contract_address = billed_contract
     WHERE ${BILLABLE_RECORD_CONDITION}
     ORDER BY billableAt, identity LIMIT ${MAX_INVOICED_PAYMENTS + 1}`,
    ...toUninvoicedParams(network, month, removed, now),
    buyerVkey,
    sellerVkey,
    month.text,
    sellerVkeys && JSON.stringify(sellerVkeys),
  );
}

/**
 * Reads a row without amounts of zero or less, since a dispute's fee can exceed its share.
 *
 * @param month - the billing month, which may precede the withdrawal
 */
export function toBillablePayment(row: BillableRow, month: Month): BillablePaymentRecord {
  const funds = (JSON.parse(row.funds) as StoredFunds[]).filter(
    ({ amount }) => BigInt(amount) > 0n,
  );
  const isLater = row.billableAt < month.startAt || row.billableAt >= month.endAt;
  const at = isLater ? row.unlockTime : row.billableAt;
  const day = formatDay(Math.min(Math.max(at, month.startAt), month.endAt - 1));
  return { ...row, funds, day };
}

/**
 * Sets the payments that a base bills to exactly these. Aborts the batch when another base has
 * taken one of them: `violates(error, "invoiced_payment.base_id")`.
 *
 * @param identities - of the payments, which archives may have
 */
export function updateInvoicedPayments(
  baseId: string,
  network: Network,
  identities: readonly string[],
): Statement[] {
  const rows = JSON.stringify(identities.map((identity) => identity.split("#")));
  const covered = `SELECT value->>1 AS identifier_hash, ?3 AS network, value->>0 AS contract_address
    FROM json_each(?2)`;
  return [
    statement(
      `DELETE FROM invoiced_payment
       WHERE base_id = ?1 AND (identifier_hash, network, contract_address) NOT IN (${covered})`,
      baseId,
      rows,
      network,
    ),
    statement(
      `INSERT INTO invoiced_payment (identifier_hash, network, contract_address, base_id)
       SELECT *, ?1 FROM (${covered}) WHERE true
       ON CONFLICT (identifier_hash, network, contract_address)
       DO UPDATE SET base_id = iif(base_id = excluded.base_id, base_id, NULL)`,
      baseId,
      rows,
      network,
    ),
  ];
}
