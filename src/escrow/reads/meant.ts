/**
 * Which of the records that have one identifier is meant. There may be several: identifiers of Web3ChainV1 do
 * not name their contract, anybody can lock a copy at another one, and a payment source that was removed and
 * made again has records of the same escrows as before.
 */

/** SQL on a row of `escrow`: its payment source was removed. There are few sources. */
export const IS_OF_REMOVED =
  "source_id IN (SELECT removed.id FROM payment_source AS removed WHERE removed.deleted_at IS NOT NULL)";

/**
 * SQL of the order of rows of `escrow` that have one identifier, the one that is meant first: of sources in
 * use, for only there something can be done; then one that was asked for; then the newest.
 */
export const MEANT_FIRST = `${IS_OF_REMOVED}, terms->>'isRequested' IS NULL, id DESC`;
