/**
 * SQL on a row of `escrow` that the index `escrow_billed` is made of. A query uses the index only
 * where it says exactly the same, so both take it from here.
 */

/** Payments whose seller has withdrawn, or can withdraw, the funds. */
export const BILLABLE = `side = 'payment' AND on_chain_state IN ('Withdrawn', 'ResultSubmitted', 'DisputedWithdrawn')`;

/**
 * When a payment became billable, epoch milliseconds: the block time of its withdrawal, or the time
 * from which a submitted result can be withdrawn. Never when sync applied it.
 */
export const BILLABLE_AT = `(CASE on_chain_state WHEN 'ResultSubmitted' THEN CAST(terms->>'unlockTime' AS INTEGER) ELSE (state->'transaction'->>'blockTime') * 1000 END)`;

/** Payment key hash of who paid: of the lock, or of a row that an older version wrote, as agreed. */
export const BUYER_VKEY = `(CASE WHEN state->'lock'->>'buyerVkey' IS NULL THEN terms->>'buyerVkey' ELSE state->'lock'->>'buyerVkey' END)`;
