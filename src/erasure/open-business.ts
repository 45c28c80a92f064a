import { UNFINISHED_CONDITION } from "../escrow/store/predicates.ts";

/** What a key must have none of before its data is erased. */
export interface OpenBusiness {
  escrows: number;
  charges: number;
  payments: number;
}

/**
 * SQL that counts what is open of the key `?1`. Each part walks a partial index, whose rows are those
 * that are open. An escrow with an invalid lock ends with its time to pay, since no step follows.
 */
export const OPEN_BUSINESS_SQL = {
  escrows: `(SELECT count(*) FROM (
    SELECT id FROM escrow INDEXED BY escrow_unfinished WHERE requested_by_id = ?1
      AND ${UNFINISHED_CONDITION}
      AND (expired_at IS NULL OR on_chain_state IS NOT 'FundsOrDatumInvalid')
    UNION SELECT id FROM escrow INDEXED BY escrow_intent
      WHERE requested_by_id = ?1 AND intent IS NOT NULL
    UNION SELECT id FROM escrow INDEXED BY escrow_initiated
      WHERE requested_by_id = ?1 AND requested_action GLOB '*Initiated'))`,
  charges: `(SELECT count(*) FROM escrow INDEXED BY escrow_held
    WHERE requested_by_id = ?1 AND charge = 'held' AND expired_at IS NOT NULL
      AND coalesce(on_chain_state, 'FundsOrDatumInvalid') = 'FundsOrDatumInvalid')`,
  payments: `(SELECT count(*) FROM (
    SELECT id FROM x402_payment_attempt INDEXED BY x402_attempt_open
      WHERE api_key_id = ?1 AND direction = 'InboundSettle' AND status = 'Verified'
    UNION SELECT id FROM x402_payment_attempt INDEXED BY x402_attempt_watched
      WHERE api_key_id = ?1 AND watched_until IS NOT NULL))`,
} as const satisfies Record<keyof OpenBusiness, string>;
