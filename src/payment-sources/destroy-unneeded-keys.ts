import { NETWORKS, type Network } from "../chain/network.ts";
import { type Database, openDb, statement } from "../db/client.ts";
import type { Env } from "../env.ts";
import { findWalletsOfUnfinishedRecords } from "../escrow/tasks/unfinished-records.ts";
import { log } from "../log.ts";
import {
  destroyMnemonics,
  listRetainedWallets,
  type RetainedWallet,
} from "../wallets/managed/remove-wallets.ts";
import { listOpenVkeys } from "../wallets/spending/store/transactions.ts";

/**
 * Destroys the mnemonics of removed wallets that nothing can need any more. Each of their transactions
 * is final, and no unfinished payment or purchase names them. The last wallet of a removed source takes
 * the provider key with it, since transactions are followed with that key until then.
 *
 * @param deadline - epoch milliseconds
 */
export async function destroyUnneededKeys(env: Pick<Env, "DB">, deadline: number): Promise<void> {
  const core = openDb(env, undefined, { writes: "idempotent", deadline });
  const kept = await listRetainedWallets(core);
  const unneeded = await Promise.all(
    NETWORKS.map((network) => {
      const own = kept.filter((wallet) => wallet.network === network);
      return own.length > 0
        ? findUnneededWallets(openDb(env, network, { deadline }), network, own)
        : [];
    }),
  );
  const ids = unneeded.flat().map(({ id }) => id);
  await core.batch([
    destroyMnemonics(ids),
    statement(
      `UPDATE payment_source SET rpc_provider_api_key = '', rpc_providers = NULL
       WHERE deleted_at IS NOT NULL AND rpc_provider_api_key <> '' AND NOT EXISTS (
         SELECT 1 FROM managed_wallet WHERE source_id = payment_source.id AND mnemonic <> '')`,
    ),
  ]);
  if (ids.length > 0) log("info", "wallet.keys_destroyed", { wallets: ids });
}

async function findUnneededWallets(
  database: Database,
  network: Network,
  kept: readonly RetainedWallet[],
): Promise<RetainedWallet[]> {
  const [open, named] = await Promise.all([
    listOpenVkeys(
      database,
      network,
      kept.map(({ vkey }) => vkey),
    ),
    findWalletsOfUnfinishedRecords(database, kept),
  ]);
  return kept.filter(
    ({ vkey, sourceId }) =>
      !open.has(vkey) && !named.some((one) => one.vkey === vkey && one.sourceId === sourceId),
  );
}
