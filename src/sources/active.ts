import { and, eq, isNotNull, isNull } from "drizzle-orm";
import type { Network } from "../chain/network.ts";
import type { Database } from "../db/client.ts";
import { managedWallet, paymentSource } from "./tables.ts";

/** Ids of the payment sources that are followed. */
export async function activeSourceIds(core: Database): Promise<string[]> {
  const rows = await core.orm
    .select({ id: paymentSource.id })
    .from(paymentSource)
    .where(isNull(paymentSource.deletedAt));
  return rows.map(({ id }) => id);
}

/** When the sources of a network that are no longer followed were removed, epoch milliseconds by id. */
export async function removedSources(
  core: Database,
  network: Network,
): Promise<Record<string, number>> {
  const rows = await core.orm
    .select({ id: paymentSource.id, deletedAt: paymentSource.deletedAt })
    .from(paymentSource)
    .where(and(eq(paymentSource.network, network), isNotNull(paymentSource.deletedAt)));
  return Object.fromEntries(rows.map(({ id, deletedAt }) => [id, deletedAt ?? 0]));
}

/** A followed source with the wallets in use, its provider key still sealed; null when deleted. */
export async function activeSource(core: Database, id: string) {
  const [source] = await core.orm
    .select()
    .from(paymentSource)
    .where(and(eq(paymentSource.id, id), isNull(paymentSource.deletedAt)));
  if (!source) return null;
  const wallets = await core.orm
    .select()
    .from(managedWallet)
    .where(and(eq(managedWallet.sourceId, id), isNull(managedWallet.deletedAt)));
  return { ...source, wallets };
}
