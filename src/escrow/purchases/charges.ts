import { COSTS } from "../../api-keys/costs.ts";
import { giveCreditsBack } from "../../api-keys/credits.ts";
import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../../db/client.ts";
import type { Caller } from "../../http/context.ts";
import { chargesReturned, chargesToReturn } from "../tasks/charge.ts";

/** Purchases whose charges one run returns. */
const MOST_RETURNED = 100;

/**
 * Notes what a purchase costs its key, so that this can be given back; for the batch that charges it and
 * writes the purchase.
 */
export function holdCharge(caller: Caller, id: string): Statement[] {
  if (!caller.usageLimited) return [];
  return [
    statement("UPDATE escrow SET charge = 'held' WHERE id = ?", id),
    statement("UPDATE escrow_request SET credits = ? WHERE record_id = ?", COSTS.purchase, id),
  ];
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
  const due = await chargesToReturn(database, network, MOST_RETURNED);
  for (const { id, requestedById } of due) {
    if (only !== undefined && id !== only) continue;
    const [row] = await database.all<{ credits: number | null }>(
      "SELECT credits FROM escrow_request WHERE record_id = ?",
      id,
    );
    try {
      await database.batch([
        chargesReturned([id]),
        giveCreditsBack(requestedById, row?.credits ?? 0, { sql: "TRUE", params: [] }),
      ]);
    } catch (error) {
      // Somebody else returned it, or it is not over any more.
      if (!violates(error, "escrow.rev")) throw error;
    }
  }
}
