import { CREDIT_COSTS, refundCredits } from "../../api-keys/credits.ts";
import { chargeSpending, refundSpending } from "../../api-keys/spending-limits.ts";
import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../../db/client.ts";
import type { Caller } from "../../http/context.ts";
import { type EscrowRecord, type StoredFunds, sumFunds } from "../model/escrow-record.ts";

/** Purchases whose charges one run returns. */
const MAX_RETURNED_CHARGES = 100;

/**
 * Charges a purchase's price to its key's spending limits, and notes what the batch took, which is what can be
 * given back. For the batch that writes the purchase and takes its credits.
 */
export function chargePurchase(
  caller: Caller,
  { id, network, terms }: Pick<EscrowRecord, "id" | "network" | "terms">,
): Statement[] {
  const spent = chargeSpending(caller, network, sumFunds(terms.funds));
  if (spent.length === 0 && !caller.isUsageLimited) return [];
  // The caller is cached for a while, in which its limits may be lifted: then the statements take nothing.
  return [
    ...spent,
    statement(
      `UPDATE escrow_request SET credits = iif(usage_limited, ?2, 0),
         is_spent = ?3 AND spending_limits IS NOT NULL
       FROM api_key WHERE api_key.id = ?4 AND record_id = ?1`,
      id,
      caller.isUsageLimited ? CREDIT_COSTS.purchase : 0,
      Number(spent.length > 0),
      caller.id,
    ),
    statement(
      `UPDATE escrow SET charge = 'held' WHERE id = ?1 AND EXISTS (
         SELECT 1 FROM escrow_request WHERE record_id = ?1 AND (credits > 0 OR is_spent))`,
      id,
    ),
  ];
}

/** What a purchase has cost its key. */
interface ChargeRow {
  credits: number | null;
  /** Whether its price was charged. */
  isSpent: number | null;
  /** JSON of the price. */
  funds: string;
}

/**
 * Gives back what purchases cost that ended without a lock: each once, as soon as none of its transactions
 * can land any more. `database` may repeat its writes.
 *
 * @param only - the id of one purchase; left out: all that are due
 */
export async function returnCharges(
  database: Database,
  network: Network,
  only?: string,
): Promise<void> {
  const due = await findReturnableCharges(database, network, MAX_RETURNED_CHARGES, only);
  for (const { id, requestedById } of due) {
    const [row] = await database.all<ChargeRow>(
      `SELECT credits, is_spent AS isSpent, funds
       FROM escrow_request JOIN escrow ON id = record_id WHERE record_id = ?`,
      id,
    );
    const price = row?.isSpent ? sumFunds(JSON.parse(row.funds) as StoredFunds[]) : [];
    try {
      await database.batch([
        markChargesReturned([id]),
        refundCredits(requestedById, row?.credits ?? 0, TRUE_CONDITION),
        ...refundSpending(requestedById, network, price),
      ]);
    } catch (error) {
      // Another run returned the charge, or the purchase is open again.
      if (!violates(error, "escrow.revision")) throw error;
    }
  }
}

const TRUE_CONDITION = { sql: "TRUE", params: [] };

/** That nothing of a purchase was locked, and nothing can be any more. */
const RETURNABLE_CONDITION = `charge = 'held' AND expired_at IS NOT NULL
  AND coalesce(on_chain_state, 'FundsOrDatumInvalid') = 'FundsOrDatumInvalid'
  AND intent IS NULL AND pending_hash IS NULL AND NOT EXISTS (
    SELECT 1 FROM escrow_transaction AS made
    JOIN wallet_transaction AS kept ON kept.hash = made.tx_hash
    WHERE made.record_id = escrow.id AND made.intent IS NOT NULL AND kept.due_at IS NOT NULL)`;

/**
 * Purchases whose charge can be given back: final without a lock.
 *
 * @param only - the id of one of them; left out: any
 */
export function findReturnableCharges(
  database: Pick<Database, "all">,
  network: Network,
  limit: number,
  only: string | null = null,
): Promise<{ id: string; requestedById: string }[]> {
  return database.all(
    `SELECT id, requested_by_id AS requestedById FROM escrow
     WHERE network = ?1 AND ${RETURNABLE_CONDITION} AND (?2 IS NULL OR id = ?2) ORDER BY id LIMIT ${limit}`,
    network,
    only,
  );
}

/**
 * Marks charges as given back, once: for the batch that writes the balances of their keys. It aborts the
 * batch when one of them was given back meanwhile, or the purchase is not over any more (`escrow.revision`).
 */
export function markChargesReturned(ids: readonly string[]): Statement {
  return statement(
    `UPDATE escrow SET charge = 'returned', revision = iif(${RETURNABLE_CONDITION}, revision + 1, NULL)
     WHERE id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids),
  );
}
