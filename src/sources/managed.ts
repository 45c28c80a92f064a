import { and, eq, isNull } from "drizzle-orm";
import type { Network } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import type { SourceRow, WalletRow } from "./record.ts";
import { managedWallet, paymentSource } from "./tables.ts";

/** A managed wallet, without its secret. */
export type ManagedWallet = Omit<WalletRow, "mnemonic">;
/** A followed payment source, its provider key still sealed. */
export type OpenSource = SourceRow;

/** The managed wallet of a payment key hash (hex), in a role if one is asked for. */
export async function findWallet(
  core: Database,
  network: Network,
  vkey: string,
  role?: WalletRow["role"],
): Promise<ManagedWallet | undefined> {
  const [row] = await core.orm
    .select()
    .from(managedWallet)
    .where(
      and(
        eq(managedWallet.network, network),
        eq(managedWallet.vkey, vkey),
        isNull(managedWallet.deletedAt),
        role && eq(managedWallet.role, role),
      ),
    );
  if (!row) return undefined;
  const { mnemonic: _, ...wallet } = row;
  return wallet;
}

/** The followed payment source with an id. */
export async function findSource(
  core: Database,
  network: Network,
  { id }: { id: string },
): Promise<OpenSource | undefined> {
  const [row] = await core.orm
    .select()
    .from(paymentSource)
    .where(
      and(
        eq(paymentSource.id, id),
        eq(paymentSource.network, network),
        isNull(paymentSource.deletedAt),
      ),
    );
  return row;
}
