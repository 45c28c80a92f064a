/**
 * SQL on a row of `escrow`, which partial indexes and indexes of expressions repeat. A query uses such an
 * index only where it has exactly the same text, so both take it from here.
 */

/** Index `escrow_billed`: payments whose seller has withdrawn, or can withdraw, the funds. */
export const BILLABLE_CONDITION = `side = 'payment' AND on_chain_state IN ('Withdrawn', 'ResultSubmitted', 'DisputedWithdrawn')`;

/**
 * When a payment became billable, epoch milliseconds: the block time of its withdrawal, or the time
 * from which a submitted result can be withdrawn. Never when sync applied it.
 */
export const BILLABLE_AT_SQL = `(CASE on_chain_state WHEN 'ResultSubmitted' THEN CAST(unlock_time AS INTEGER) ELSE block_time * 1000 END)`;

/** Payment key hash of the buyer, as its lock names it; null: nothing is locked. */
export const BUYER_VKEY_SQL = `(CASE WHEN lock IS NULL THEN NULL
  WHEN lock->>'buyerVkey' IS NULL THEN buyer_vkey ELSE lock->>'buyerVkey' END)`;

/** Address of the wallet that acts for the record; null: none was chosen yet. */
export const ACTING_WALLET_ADDRESS_SQL = `iif(wallet_id IS NULL, NULL, coalesce(wallet_address,
  iif(side = 'payment', seller, coalesce(lock->>'buyer', buyer))))`;

/** Hash of the transaction that a record shows (`CurrentTransaction`); null: there is none. */
export const SHOWN_HASH_SQL = "coalesce(pending_hash, transaction_hash)";

/** Index `escrow_needs_person`: something went wrong, or a person has to decide. */
export const NEEDS_PERSON_CONDITION = "error_type IS NOT NULL";

/** Indexes `escrow_ended` and `escrow_agent_ended`: the funds were paid out. */
export const ENDED_CONDITION = `on_chain_state IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn')`;

/** Index `escrow_intent`: a step was requested and is not done. */
export const HAS_INTENT_CONDITION = "intent IS NOT NULL";

/** Index `escrow_unfinished`: funds may still be locked, or are locked. */
export const UNFINISHED_CONDITION = `CASE WHEN on_chain_state IS NULL THEN expired_at IS NULL
  ELSE on_chain_state NOT IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn') END`;

/** Index `escrow_bulky`: the output that holds the funds is larger than nearly all, of about 4,000 bytes. */
export const LARGE_OUTPUT_CONDITION = "output_length > 8000";

/**
 * Index `escrow_final`: nothing more is done for the escrow, and nobody has to decide. Only a block that a
 * rollback reaches, or a transaction that comes late, changes it.
 */
export const FINAL_CONDITION = `requested_action = 'None' AND error_type IS NULL AND pending_hash IS NULL
  AND utxo IS NULL AND output_length IS NULL AND due_at IS NULL AND deadline IS NULL
  AND wallet_removed IS NULL
  AND (charge IS NOT 'held' OR expired_at IS NULL)`;

/** The payment source was removed. There are few sources. */
export const SOURCE_REMOVED_CONDITION =
  "source_id IN (SELECT removed.id FROM payment_source AS removed WHERE removed.deleted_at IS NOT NULL)";
