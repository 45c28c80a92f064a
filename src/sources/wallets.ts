import { keysFromMnemonic } from "../chain/keys.ts";
import type { Network } from "../chain/network.ts";
import { type Database, type Statement, statement, violates } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { seal } from "../db/sealed.ts";
import { ApiError } from "../http/errors.ts";
import { addressOn } from "./checks.ts";
import type { WalletRow } from "./record.ts";
import type { NewWallet } from "./schemas.ts";

/** A new wallet's row, and where the request has it: `SellingWallets[0]`. */
export interface NewWalletRow {
  field: string;
  row: WalletRow;
}

/**
 * Derives the wallets of one list of a request and seals their mnemonics.
 *
 * @param field - the list's name in the request, which says the role too
 * @param now - epoch milliseconds
 * @throws ApiError 400 for a collection address of another network
 */
export async function deriveWallets(
  env: { SEALING_KEYS: string },
  source: { id: string; network: Network },
  field: `${"" | "Add"}${WalletRow["role"]}Wallets`,
  wallets: NewWallet[],
  createdById: string,
  now: number,
): Promise<NewWalletRow[]> {
  const role = field.endsWith("PurchasingWallets") ? "Purchasing" : "Selling";
  const rows: NewWalletRow[] = [];
  for (const [index, wallet] of wallets.entries()) {
    const at = `${field}[${index}]`;
    const mnemonic = wallet.walletMnemonic;
    const { collectionAddress: collection } = wallet;
    const collectionAddress =
      collection && addressOn(source.network, `${at}.collectionAddress`, collection);
    const { vkey, address } = await keysFromMnemonic(mnemonic, source.network);
    const id = newId(now);
    const place = { table: "managed_wallet", id, column: "mnemonic" };
    rows.push({
      field: at,
      row: {
        id,
        sourceId: source.id,
        network: source.network,
        role,
        vkey,
        address,
        mnemonic: await seal(env, place, mnemonic),
        note: wallet.note,
        collectionAddress,
        createdById,
        createdAt: now,
        deletedAt: null,
      },
    });
  }
  return rows;
}

/** @throws ApiError 409 when a request brings the same wallet twice */
export function refuseRepeated(wallets: NewWalletRow[]): void {
  const first = new Map<string, string>();
  for (const { field, row } of wallets) {
    const earlier = first.get(row.vkey);
    if (earlier !== undefined)
      throw new ApiError(409, `${field}: is the same wallet as ${earlier}`);
    first.set(row.vkey, field);
  }
}

/** Takes a wallet away from its source, with its rules, and destroys its mnemonic. */
export function removeWallet(id: string, now: number): Statement[] {
  return [
    statement(
      `UPDATE managed_wallet SET deleted_at = ?2, mnemonic = ''
       WHERE id = ?1 AND deleted_at IS NULL`,
      id,
      now,
    ),
    statement("DELETE FROM low_balance_rule WHERE wallet_id = ?", id),
  ];
}

/** The same for all wallets of a source, whoever added them and when. */
export function removeWallets(sourceId: string, now: number): Statement[] {
  return [
    statement(
      `DELETE FROM low_balance_rule
       WHERE wallet_id IN (SELECT id FROM managed_wallet WHERE source_id = ?)`,
      sourceId,
    ),
    statement(
      `UPDATE managed_wallet SET deleted_at = ?2, mnemonic = ''
       WHERE source_id = ?1 AND deleted_at IS NULL`,
      sourceId,
      now,
    ),
  ];
}

/** A 409 that names which of the wallets is managed already, after a batch failed over it. */
async function walletConflict(
  database: Database,
  network: Network,
  wallets: NewWalletRow[],
): Promise<ApiError> {
  const rows = await database.all<{ vkey: string }>(
    `SELECT vkey FROM managed_wallet
     WHERE network = ? AND deleted_at IS NULL AND vkey IN (SELECT value FROM json_each(?))`,
    network,
    JSON.stringify(wallets.map(({ row }) => row.vkey)),
  );
  const taken = new Set(rows.map(({ vkey }) => vkey));
  const fields = wallets.filter(({ row }) => taken.has(row.vkey)).map(({ field }) => field);
  return new ApiError(409, `${fields.join(", ")}: is managed by a payment source already`);
}

/**
 * What to throw for an error of a batch that adds wallets: a 409 when it broke a rule that only
 * the database can keep (one active source per contract, one active use of a wallet).
 */
export async function conflictOf(
  error: unknown,
  database: Database,
  network: Network,
  wallets: NewWalletRow[],
): Promise<unknown> {
  if (violates(error, "payment_source.contract_address"))
    return new ApiError(409, "smartContractAddress: is a payment source already");
  if (violates(error, "managed_wallet.vkey")) return walletConflict(database, network, wallets);
  return error;
}
