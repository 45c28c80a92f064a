import type { SqlExpression } from "../../db/clock.ts";

/**
 * SQL of the time at which the state of a row of `escrow` changes what may be done, epoch milliseconds
 * as text of any length; null: none does any more. Unlike the stored `deadline` it is there also when
 * nothing of ours is undone.
 */
const STATE_DEADLINE = `CASE
  WHEN on_chain_state IS NULL THEN iif(expired_at IS NULL, terms->>'payByTime', NULL)
  WHEN on_chain_state IN ('FundsLocked', 'RefundRequested') THEN terms->>'submitResultTime'
  WHEN on_chain_state = 'ResultSubmitted' THEN terms->>'unlockTime'
  WHEN on_chain_state = 'Disputed' THEN terms->>'externalDisputeUnlockTime' END`;

/** SQL conditions that this time lies between two, epoch milliseconds: the first included, the last not. */
export function hasDeadline(from: number | undefined, to: number | undefined): SqlExpression[] {
  const at = `CAST(${STATE_DEADLINE} AS REAL)`;
  return [
    ...(from === undefined ? [] : [{ sql: `${at} >= ?`, params: [from] }]),
    ...(to === undefined ? [] : [{ sql: `${at} < ?`, params: [to] }]),
  ];
}
