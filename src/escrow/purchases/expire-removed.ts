import type { Network } from "../../chain/network.ts";
import { type Database, violates } from "../../db/client.ts";
import { readTip } from "../../indexer/chain-tip.ts";
import { ChangeSet } from "../fold/changes.ts";
import { writeChanges } from "../fold/write-changes.ts";
import { ESCROW_COLUMNS, type EscrowRow, recordOfRow } from "../row.ts";
import { expire } from "../sync/expire.ts";

/** Purchases that one run expires. */
const MAX_EXPIRED = 80;
/** Twenty blocks, of which there is one in 20 seconds: no block of before pay-by is that much later. */
const MARGIN_MS = 20 * 20_000;

/**
 * Ends purchases of payment sources that were removed, once nothing can be locked for them any more. Nobody
 * follows their chain, so the service's own clock decides; only wallets of ours lock a purchase, and what they
 * sent may still land and is waited for. Quotes are left: strangers may have locked funds for them.
 *
 * @param sourceIds - of the removed sources
 * @param now - epoch milliseconds
 */
export async function expireOfRemoved(
  ledger: Database,
  network: Network,
  sourceIds: readonly string[],
  now: number,
): Promise<void> {
  const rows = await ledger.all<EscrowRow>(
    `SELECT ${ESCROW_COLUMNS} FROM escrow INDEXED BY escrow_unlocked
     WHERE source_id IN (SELECT value FROM json_each(?1))
       AND on_chain_state IS NULL AND expired_at IS NULL
       AND CAST(terms->>'payByTime' AS INTEGER) < ?2
       AND side = 'purchase' AND network = ?3 AND terms->>'isRequested' AND under_way IS NULL
     LIMIT ${MAX_EXPIRED}`,
    JSON.stringify(sourceIds),
    now - MARGIN_MS,
    network,
  );
  if (rows.length === 0) return;
  const tipHeight = (await readTip(ledger, network)) ?? 0;
  for (const [sourceId, found] of Map.groupBy(rows.map(recordOfRow), (one) => one.sourceId)) {
    const changes = new ChangeSet(found, now, tipHeight);
    for (const record of found) {
      // That its source was removed asks nothing of a person any more.
      const { error } = record.wanted;
      expire(changes, record, error?.isOfOtherFunds ? error : null);
    }
    try {
      await ledger.batch(writeChanges(changes, { sourceId, network }));
    } catch (error) {
      // Somebody has changed one meanwhile: the next run looks again.
      if (!violates(error, "escrow.rev")) throw error;
    }
  }
}
