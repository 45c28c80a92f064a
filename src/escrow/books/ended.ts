/**
 * SQL on a row of `escrow` that the indexes `escrow_ended` and `escrow_agent_ended` are made of. A query
 * uses them only where it says exactly the same, so both take it from here.
 */

/** Escrows whose funds were paid out. */
export const ENDED = `on_chain_state IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn')`;

/** Block time of a record's newest transaction, Unix seconds: of an escrow that ended, of what ended it. */
export const MOVED_AT = `(state->'transaction'->>'blockTime')`;
