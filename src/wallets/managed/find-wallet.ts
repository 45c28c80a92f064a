import { and, asc, eq, inArray, isNull, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { Network } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { equalsIfGiven } from "../../db/conditions.ts";
import { mayUseWallet } from "../../http/authenticate.ts";
import type { Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { findActiveSource } from "../../sources/find-source.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import { managedWallet, type WalletRole, type WalletRow } from "./tables.ts";

/** A managed wallet, without its secret. */
export type ManagedWallet = Omit<WalletRow, "mnemonic">;

/** The managed wallet of a payment key hash (hex), optionally in a given role. */
export async function findWallet(
  core: Database,
  network: Network,
  vkey: string,
  role?: WalletRole,
): Promise<WalletRow | undefined> {
  const [row] = await core.orm
    .select()
    .from(managedWallet)
    .where(
      and(
        eq(managedWallet.network, network),
        eq(managedWallet.vkey, vkey),
        isNull(managedWallet.deletedAt),
        equalsIfGiven(managedWallet.role, role),
      ),
    );
  return row;
}

/**
 * Finds the managed wallet of a payment key hash that an API key may use.
 *
 * @param vkey - hex.
 * @returns undefined for an unknown wallet and for a wallet outside of the key's scope.
 */
export async function findScopedWallet(
  core: Database,
  { scope }: Pick<Caller, "scope">,
  network: Network,
  vkey: string,
  role?: WalletRole,
): Promise<WalletRow | undefined> {
  const wallet = await findWallet(core, network, vkey, role);
  return wallet && mayUseWallet(scope, wallet.id) ? wallet : undefined;
}

/**
 * The payment key hashes (hex) of the wallets on a network that a key is bound to, removed ones
 * included.
 *
 * @returns null for a key that is bound to no wallets
 */
export async function listScopedVkeys(
  core: Database,
  { scope }: Pick<Caller, "scope">,
  network: Network,
): Promise<readonly string[] | null> {
  if (!scope?.walletIds) return null;
  const rows = await core.all<{ vkey: string }>(
    `SELECT DISTINCT vkey FROM managed_wallet
     WHERE network = ?1 AND id IN (SELECT value FROM json_each(?2))`,
    network,
    JSON.stringify(scope.walletIds),
  );
  return rows.map(({ vkey }) => vkey);
}

/** Whether a source has a wallet in use that a key may use; of a key that is bound to none, always. */
export async function isSourceInScope(
  core: Database,
  { scope }: Pick<Caller, "scope">,
  sourceId: string,
): Promise<boolean> {
  if (!scope?.walletIds) return true;
  return (await listActiveWallets(core, [sourceId])).some(({ id }) => mayUseWallet(scope, id));
}

/**
 * The wallets in use of some sources, in the order in which they were added.
 *
 * @param sourceIds - the ids, or SQL that selects the ids
 */
export function listActiveWallets(
  core: Database,
  sourceIds: readonly string[] | SQLWrapper,
): Promise<WalletRow[]> {
  return core.orm
    .select()
    .from(managedWallet)
    .where(and(inArray(managedWallet.sourceId, sourceIds), isNull(managedWallet.deletedAt)))
    .orderBy(asc(managedWallet.createdAt), asc(managedWallet.id));
}

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

/**
 * A wallet that was not removed.
 *
 * @param field - where the request has the id
 * @throws ApiError 404
 */
export async function requireActiveWallet(
  database: Database,
  id: string,
  field: string,
): Promise<WalletRow> {
  const [row] = await database.orm
    .select()
    .from(managedWallet)
    .where(and(eq(managedWallet.id, id), isNull(managedWallet.deletedAt)));
  if (!row) throw createWalletNotFoundError(field);
  return row;
}

export function createWalletNotFoundError(field: string): ApiError {
  return new ApiError(404, `${field}: there is no such wallet`);
}
