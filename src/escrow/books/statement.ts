/** The one statement that adds escrows up. */
import { ON_CHAIN_STATES } from "../../chain/network.ts";
import { IS_OF_REMOVED } from "../reads/meant.ts";
import { ENDED, MOVED_AT } from "./ended.ts";

/**
 * Seconds that a sum covers. Every offset that a time zone has had since the ledger exists is a multiple
 * of it, so a local day is made of whole ones.
 */
export const QUARTER_HOUR = 900;

/** A sum of 64-bit numbers may need more: billions and the rest are added up apart. */
export const BILLION = 1_000_000_000;

const OPEN_STATES = ON_CHAIN_STATES.filter(
  (state) => !ENDED.includes(`'${state}'`) && state !== "FundsOrDatumInvalid",
)
  .map((state) => `'${state}'`)
  .join(", ");

/** What a record says of itself, as the parts below take it. */
const COLUMNS = `on_chain_state AS reached, source_id, source_type, terms, state,
  ${MOVED_AT} / ${QUARTER_HOUR} * ${QUARTER_HOUR} AS quarter,
  CAST(iif(side = 'payment', state->>'sellerFees', state->>'buyerFees') AS INTEGER) AS fees`;

const AMOUNT = `CAST(value->>'amount' AS INTEGER)`;
/** A share of an amount, rounded down, of whatever 64-bit number. */
const share = (amount: string) => `(${amount} / 1000 * rate + ${amount} % 1000 * rate / 1000)`;

/**
 * SQL that adds up what escrows of a side (?1) and a network (?2) came to, from ?3 to before ?4 in Unix
 * seconds; of a type (?5) and of wallets (?6) where they are not null. ?7 are the rates of fees by source,
 * as JSON, and ?8 is the agent where one is asked for.
 */
export const sumsStatement = (ofAgent: boolean) => `WITH
  found AS MATERIALIZED (
    SELECT ${COLUMNS} FROM escrow INDEXED BY ${ofAgent ? "escrow_agent_ended" : "escrow_ended"}
    WHERE side = ?1 AND network = ?2 AND ${ENDED} AND ${MOVED_AT} >= ?3 AND ${MOVED_AT} < ?4
      ${FILTERS(ofAgent)}
    UNION ALL
    SELECT ${COLUMNS} FROM escrow INDEXED BY escrow_state_newest
    WHERE side = ?1 AND network = ?2 AND on_chain_state IN (${OPEN_STATES})
      AND ${MOVED_AT} >= ?3 AND ${MOVED_AT} < ?4 ${FILTERS(ofAgent)}),
  parts AS (
    SELECT quarter, 'gained' AS kind, terms->'funds' AS funds, fees,
      state->>'settled' AS settled, source_id, source_type,
      CAST(coalesce(state->'lock'->>'collateralReturn', terms->>'collateralReturn') AS INTEGER) AS collateral
    FROM found WHERE reached = 'Withdrawn'
    UNION ALL
    SELECT quarter, iif(reached = 'RefundWithdrawn', 'refunded', 'pending'), terms->'funds', fees,
      NULL, NULL, NULL, NULL
    FROM found WHERE reached NOT IN ('Withdrawn', 'DisputedWithdrawn')
    UNION ALL
    SELECT quarter, 'gained', state->'withdrawnForSeller', fees, NULL, NULL, NULL, NULL
    FROM found WHERE reached = 'DisputedWithdrawn' AND state->'withdrawnForSeller' <> '[]'
    UNION ALL
    SELECT quarter, 'refunded', state->'withdrawnForBuyer',
      iif(state->'withdrawnForSeller' = '[]', fees, 0), NULL, NULL, NULL, NULL
    FROM found WHERE reached = 'DisputedWithdrawn'
      AND (state->'withdrawnForBuyer' <> '[]' OR state->'withdrawnForSeller' = '[]')),
  amounts AS (
    SELECT quarter, kind, value->>'unit' AS unit, ${AMOUNT} AS amount, 0 AS fee
    FROM parts, json_each(funds) WHERE ${AMOUNT} > 0
    UNION ALL
    SELECT quarter, kind, value->>'unit', 0, ${AMOUNT}
    FROM parts, json_each(settled, '$.protocolFee')
    UNION ALL
    SELECT quarter, kind, unit, 0, ${share("amount")} FROM (
      SELECT quarter, kind, value->>'unit' AS unit, ?7->>source_id AS rate,
        ${AMOUNT} + iif(value->>'unit' = '', collateral, 0) AS amount
      FROM parts, json_each(funds) WHERE settled IS NULL AND source_type = 'Web3ChainV1')
    WHERE rate IS NOT NULL)
SELECT 'escrows' AS what, 0 AS quarter, NULL AS kind, NULL AS unit,
  0 AS high, count(*) AS low, 0 AS feeHigh, 0 AS feeLow
FROM found
UNION ALL
SELECT 'network', quarter, kind, '', 0, 0, sum(fees / ${BILLION}), sum(fees % ${BILLION})
FROM parts GROUP BY quarter, kind
UNION ALL
SELECT 'unit', quarter, kind, unit, sum(amount / ${BILLION}), sum(amount % ${BILLION}),
  sum(fee / ${BILLION}), sum(fee % ${BILLION})
FROM amounts GROUP BY quarter, kind, unit`;

/**
 * A newer record of the same escrow takes this one's place in the books, unless it does not know yet how the
 * escrow ended: the source was made again. It is of wallets that are asked for, too.
 */
const IS_KEPT_ANEW = `EXISTS (SELECT 1 FROM escrow AS newer INDEXED BY escrow_identifier
    WHERE newer.identifier_hash = escrow.identifier_hash AND newer.side = ?1
      AND newer.network = ?2 AND newer.contract_address = escrow.contract_address
      AND newer.id > escrow.id
      AND (newer.${ENDED} OR NOT escrow.${ENDED})
      AND (?6 IS NULL OR newer.wallet->>'id' IN (SELECT value FROM json_each(?6))))`;

const FILTERS = (ofAgent: boolean) => `
  AND (?5 IS NULL OR source_type = ?5)
  AND (?6 IS NULL OR wallet->>'id' IN (SELECT value FROM json_each(?6)))
  AND NOT (${IS_OF_REMOVED} AND ${IS_KEPT_ANEW})
  ${ofAgent ? "AND terms->>'agentIdentifier' = ?8" : ""}`;
