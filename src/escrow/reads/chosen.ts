/**
 * SQL of the id of the wallet that acts for a row of `escrow`; null: none was chosen yet. The indexes
 * `escrow_wallet_…` are made of it, and used only where a query says exactly the same.
 */
export const CHOSEN = `(CASE WHEN wallet IS NULL THEN terms->>'$.wallet.id' ELSE wallet->>'id' END)`;
