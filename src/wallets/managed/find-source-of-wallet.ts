import { type SQL, sql } from "drizzle-orm";
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { findActiveSource } from "../../sources/find-source.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import { listActiveWallets } from "./find-wallet.ts";
import type { WalletRow } from "./tables.ts";

/** A followed payment source, and its wallets in use in the order in which they were added. */
export interface SourceWithWallets {
  source: SourceRow;
  wallets: WalletRow[];
}

/** The payment source that manages a wallet; null: none does. @param vkey - payment key hash, hex */
export function findSourceOfWallet(
  core: Database,
  network: Network,
  vkey: string,
): Promise<SourceWithWallets | null> {
  return findSourceWithWallets(
    core,
    sql`(SELECT source_id FROM managed_wallet
      WHERE network = ${network} AND vkey = ${vkey} AND deleted_at IS NULL)`,
  );
}

/** A payment source with its wallets; null: it was removed, or never was. @param id - its id, or SQL of the id */
export async function findSourceWithWallets(
  core: Database,
  id: string | SQL,
): Promise<SourceWithWallets | null> {
  const [source, wallets] = await Promise.all([
    findActiveSource(core, id),
    listActiveWallets(core, sql`(${id})`),
  ]);
  return source && { source, wallets };
}
