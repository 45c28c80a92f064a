import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";

/** That nothing of a purchase was locked, and nothing can be any more. */
const ENDED_UNLOCKED = `charge = 'held' AND expired_at IS NOT NULL
  AND coalesce(on_chain_state, 'FundsOrDatumInvalid') = 'FundsOrDatumInvalid'
  AND want IS NULL AND under_way IS NULL AND NOT EXISTS (
    SELECT 1 FROM escrow_transaction AS made
    JOIN wallet_transaction AS kept ON kept.hash = made.tx_hash
    WHERE made.record_id = escrow.id AND made.want IS NOT NULL AND kept.due_at IS NOT NULL)`;

/**
 * Purchases whose charge can be given back: final without a lock.
 *
 * @param only - the id of one of them; left out: any
 */
export function chargesToReturn(
  ledger: Pick<Database, "all">,
  network: Network,
  limit: number,
  only: string | null = null,
): Promise<{ id: string; requestedById: string }[]> {
  return ledger.all(
    `SELECT id, requested_by_id AS requestedById FROM escrow
     WHERE network = ?1 AND ${ENDED_UNLOCKED} AND (?2 IS NULL OR id = ?2) ORDER BY id LIMIT ?3`,
    network,
    only,
    limit,
  );
}

/**
 * Marks charges as given back, once: for the batch that writes the balances of their keys. It aborts the
 * batch when one of them was given back meanwhile, or the purchase is not over any more (`escrow.rev`).
 */
export function chargesReturned(ids: readonly string[]): Statement {
  return statement(
    `UPDATE escrow SET charge = 'returned', rev = iif(${ENDED_UNLOCKED}, rev + 1, NULL)
     WHERE id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids),
  );
}
