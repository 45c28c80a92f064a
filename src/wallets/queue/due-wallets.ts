import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";

/** Which wallets a feature has work for at a time, epoch milliseconds. */
export type DueWalletFinder = (
  db: Database,
  now: number,
) => Promise<{ network: Network; vkey: string }[]>;

/** The wallets of a table whose rows say by `due_at` when their wallet has something to do. */
export function createDueWalletFinder(
  table: "wallet_task" | "wallet_transaction",
): DueWalletFinder {
  return (db, now) =>
    db.all(
      `SELECT DISTINCT network, wallet_vkey AS vkey FROM ${table}
       WHERE due_at IS NOT NULL AND due_at <= ?`,
      now,
    );
}

/** The wallets whose transactions a rollback has taken out of their blocks: they are sent again at once. */
export const findWalletsToResend: DueWalletFinder = (db) =>
  db.all(
    `SELECT DISTINCT network, wallet_vkey AS vkey FROM wallet_transaction
     WHERE due_at IS NOT NULL AND phase = 'RolledBack'`,
  );
