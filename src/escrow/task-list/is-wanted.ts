/**
 * SQL on a row of `escrow`: something was asked for and is not done. The index `escrow_wanted` is made of
 * it, and a query uses that only where it says exactly the same.
 */
export const IS_WANTED = "want IS NOT NULL";
