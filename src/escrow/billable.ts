/**
 * SQL on a row of `escrow` that the index `escrow_billable` is made of. A query uses the index only
 * where it says exactly the same, so both take it from here.
 */

/** Payments whose seller has, or can take, the money. */
export const BILLABLE = `side = 'payment' AND on_chain_state IN ('Withdrawn', 'ResultSubmitted', 'DisputedWithdrawn')`;

/**
 * When a payment became billable, epoch milliseconds: the block time of its withdrawal, or the time
 * from which a submitted result can be withdrawn. Never when we learned of it.
 */
export const BILLABLE_AT = `(CASE on_chain_state WHEN 'ResultSubmitted' THEN CAST(terms->>'unlockTime' AS INTEGER) ELSE (state->'transaction'->>'blockTime') * 1000 END)`;
