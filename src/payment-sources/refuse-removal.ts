import type { Network } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import {
  countUnfinishedRecords,
  type WalletRecordsFilter,
} from "../escrow/tasks/unfinished-records.ts";
import { ApiError } from "../http/errors.ts";

/**
 * Refuses to remove what payments and purchases need that are not finished.
 *
 * @throws ApiError 409 with their number
 */
export async function requireNoUnfinishedRecords(
  database: Database,
  of: WalletRecordsFilter,
): Promise<void> {
  const count = await countUnfinishedRecords(database, of);
  if (count === 0) return;
  const what = count === 1 ? "1 payment or purchase is" : `${count} payments and purchases are`;
  throw new ApiError(
    "wrong_state",
    `force: ${what} not finished; with true, the service stops work on them`,
  );
}

/**
 * Refuses to remove wallets whose keys are still needed, because a transaction was sent and is not
 * settled yet. The state `…Initiated` of a payment, purchase or registration shows this, or `Sent` of a
 * transfer.
 *
 * @throws ApiError 409 naming the wallets
 */
export async function requireNoOpenTransactions(
  database: Database,
  source: { id: string; network: Network },
  wallets: { id: string; vkey: string }[],
): Promise<void> {
  if (wallets.length === 0) return;
  // Indexes: `escrow_initiated`, `transfer_wallet` and the key of `wallet_task`.
  const rows = await database.all<{ vkey: string }>(
    `SELECT wallet_vkey AS vkey FROM escrow
     WHERE source_id = ?1 AND requested_action GLOB '*Initiated'
     UNION
     SELECT task.wallet_vkey FROM wallet_task AS task
     JOIN registration ON registration.id = task.subject_id
     WHERE task.feature = 'registration' AND task.network = ?2 AND task.source_id = ?1
       AND task.wallet_vkey IN (SELECT value FROM json_each(?3)) AND registration.state GLOB '*Initiated'
     UNION
     SELECT wallet_vkey FROM transfer
     WHERE wallet_id IN (SELECT value FROM json_each(?4)) AND state = 'Sent'`,
    source.id,
    source.network,
    JSON.stringify(wallets.map(({ vkey }) => vkey)),
    JSON.stringify(wallets.map(({ id }) => id)),
  );
  const open = new Set(rows.map(({ vkey }) => vkey));
  const ids = wallets.filter(({ vkey }) => open.has(vkey)).map(({ id }) => id);
  if (ids.length > 0)
    throw new ApiError(
      "wrong_state",
      `wallet ${ids.join(", ")}: has a transaction that is not settled yet`,
    );
}
