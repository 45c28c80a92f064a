import { COSTS } from "../../api-keys/costs.ts";
import { giveCreditsBack } from "../../api-keys/credits.ts";
import { giveSpendingBack, spend } from "../../api-keys/spending.ts";
import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../../db/client.ts";
import type { Caller } from "../../http/context.ts";
import type { EscrowRecord, StoredFunds } from "../record.ts";
import { totals } from "../requests/sign.ts";
import { chargesReturned, chargesToReturn } from "../tasks/charge.ts";

/** Purchases whose charges one run returns. */
const MAX_RETURNED = 100;

/**
 * Charges a purchase's price to its key's spending limits, and notes what the batch took, which is what can be
 * given back. For the batch that writes the purchase and takes its credits.
 */
export function holdCharge(
  caller: Caller,
  { id, network, terms }: Pick<EscrowRecord, "id" | "network" | "terms">,
): Statement[] {
  const spent = spend(caller, network, totals(terms.funds));
  if (spent.length === 0 && !caller.usageLimited) return [];
  // The caller is cached for a while, in which its limits may be lifted: then the statements take nothing.
  return [
    ...spent,
    statement(
      `UPDATE escrow_request SET credits = iif(usage_limited, ?2, 0),
         is_spent = ?3 AND spending_limits IS NOT NULL
       FROM api_key WHERE api_key.id = ?4 AND record_id = ?1`,
      id,
      caller.usageLimited ? COSTS.purchase : 0,
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
interface Charged {
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
  const due = await chargesToReturn(database, network, MAX_RETURNED, only);
  for (const { id, requestedById } of due) {
    const [row] = await database.all<Charged>(
      `SELECT credits, is_spent AS isSpent, terms->'funds' AS funds
       FROM escrow_request JOIN escrow ON id = record_id WHERE record_id = ?`,
      id,
    );
    const price = row?.isSpent ? totals(JSON.parse(row.funds) as StoredFunds[]) : [];
    try {
      await database.batch([
        chargesReturned([id]),
        giveCreditsBack(requestedById, row?.credits ?? 0, ALWAYS),
        ...giveSpendingBack(requestedById, network, price),
      ]);
    } catch (error) {
      // Somebody else returned it, or it is not over any more.
      if (!violates(error, "escrow.rev")) throw error;
    }
  }
}

const ALWAYS = { sql: "TRUE", params: [] };
