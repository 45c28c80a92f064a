import { sql } from "drizzle-orm";
import { decodeEscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import type { Network } from "../../chain/network.ts";
import { MAX_UTXOS } from "../../chain/provider/blockfrost/transactions.ts";
import type { Provider } from "../../chain/provider/provider.ts";
import { deriveWalletKeys } from "../../chain/wallet-keys.ts";
import { type Database, type Statement, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { seal } from "../../db/sealed.ts";
import { ApiError } from "../../http/errors.ts";
import type { AutomationMode } from "../../sources/automation-mode.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import { requireAddress } from "../../sources/validate-request.ts";
import { toMnemonicEncryptionContext } from "./open-keys.ts";
import { clearFormerMnemonics, type FormerWallet } from "./remove-wallets.ts";
import type { NewWallet } from "./schemas.ts";
import { managedWallet, WALLET_ROLES, type WalletRole, type WalletRow } from "./tables.ts";

/** A new wallet before it is decided what the service does with it. */
export interface DraftWallet {
  /** Its place in the request: `SellingWallets[0]`. */
  field: string;
  /** `drives` is null where neither the request nor a former life of it says it. */
  row: Omit<WalletRow, "drives"> & { drives: AutomationMode | null };
}

/** What a wallet takes over from its source. */
interface DraftSource {
  id: string;
  network: Network;
  /** The wallets that it takes back; left out: it is new. */
  formerWallets?: readonly FormerWallet[];
}

/** A payment source's contract, as far as its datums depend on it. */
type EscrowContract = Pick<SourceRow, "type" | "network" | "contractAddress">;

/**
 * Derives the wallets that a request lists by their roles, and seals their mnemonics.
 *
 * @param prefix - what the names of the lists begin with: `Add` of `AddSellingWallets`
 * @param now - epoch milliseconds
 * @throws ApiError 400 for a collection address of another network
 */
export async function deriveWallets<Prefix extends "" | "Add">(
  env: { SEALING_KEYS: string },
  source: DraftSource,
  prefix: Prefix,
  lists: { [List in `${Prefix}${WalletRole}Wallets`]?: NewWallet[] | undefined },
  createdById: string,
  now: number,
): Promise<DraftWallet[]> {
  const drafts: DraftWallet[] = [];
  for (const role of WALLET_ROLES) {
    const list = `${prefix}${role}Wallets` as const;
    for (const [index, wallet] of (lists[list] ?? []).entries()) {
      const field = `${list}[${index}]`;
      const at = { source, role, path: `${field}.` };
      drafts.push({ field, row: await deriveWallet(env, at, wallet, createdById, now) });
    }
  }
  return drafts;
}

/**
 * Derives a wallet and seals its mnemonic. A wallet that its source had before keeps its id, and its `drives`
 * unless the request names another.
 *
 * @param path - prefix of the field names in errors
 * @throws ApiError 400 for a collection address of another network
 */
export async function deriveWallet(
  env: { SEALING_KEYS: string },
  { source, role, path }: { source: DraftSource; role: WalletRole; path: string },
  { walletMnemonic, note, collectionAddress: collection, drives }: NewWallet,
  createdById: string,
  now: number,
): Promise<DraftWallet["row"]> {
  const { id: sourceId, network } = source;
  const collectionAddress =
    collection && requireAddress(network, `${path}collectionAddress`, collection);
  const { vkey, address } = await deriveWalletKeys(walletMnemonic, network);
  const former = source.formerWallets?.find((one) => one.vkey === vkey && one.role === role);
  const id = former?.id ?? newId(now);
  // One that drove nothing may be driven from elsewhere.
  const drove = former?.drives === "nothing" ? undefined : former?.drives;
  return {
    id,
    sourceId,
    network,
    role,
    vkey,
    address,
    mnemonic: await seal(env, toMnemonicEncryptionContext(id), walletMnemonic),
    note,
    collectionAddress,
    drives: drives ?? drove ?? null,
    createdById,
    createdAt: now,
    deletedAt: null,
  };
}

/**
 * Decides `drives` of wallets whose request does not name it. The default is `nothing` while an open escrow
 * of the contract names the wallet, so two services never drive one wallet.
 *
 * @returns a row for each draft
 * @throws ProviderError.
 */
export async function decideAutomationModes(
  provider: Pick<Provider, "addressUtxos">,
  contract: EscrowContract,
  drafts: readonly DraftWallet[],
): Promise<(draft: DraftWallet) => WalletRow> {
  const isOpen = drafts.some(({ row }) => row.drives === null);
  const parties = isOpen ? await listEscrowParties(provider, contract) : null;
  return ({ row }) => {
    const isFree = parties !== null && !parties.has(row.vkey);
    return { ...row, drives: row.drives ?? (isFree ? "all" : "nothing") };
  };
}

/**
 * Lists the buyers and sellers of a contract's open escrows.
 *
 * @returns payment key hashes, hex. Null: the contract has too many outputs to list.
 * @throws ProviderError.
 */
async function listEscrowParties(
  provider: Pick<Provider, "addressUtxos">,
  { type: version, network, contractAddress }: EscrowContract,
): Promise<ReadonlySet<string> | null> {
  const utxos = await provider.addressUtxos(contractAddress);
  if (utxos.length >= MAX_UTXOS) return null;
  const parties = new Set<string>();
  for (const { inlineDatum } of utxos) {
    if (inlineDatum === null) continue;
    const decoded = decodeEscrowDatum(inlineDatum, { version, network, contractAddress });
    if (decoded.ok) parties.add(decoded.datum.buyerVkey).add(decoded.datum.sellerVkey);
  }
  return parties;
}

/** @throws ApiError 409 when a request has the same wallet twice */
export function rejectDuplicateWallets(wallets: readonly DraftWallet[]): void {
  const first = new Map<string, string>();
  for (const { field, row } of wallets) {
    const earlier = first.get(row.vkey);
    if (earlier !== undefined)
      throw new ApiError(409, `${field}: is the same wallet as ${earlier}`);
    first.set(row.vkey, field);
  }
}

/** The statements that add wallets, or take back those that were removed. */
export function insertWallets(database: Database, rows: readonly WalletRow[]): Statement[] {
  return [
    ...clearFormerMnemonics(rows),
    ...rows.map((row) =>
      database.orm
        .insert(managedWallet)
        .values(row)
        // Of one that is in use again meanwhile, the batch aborts as with any other.
        .onConflictDoUpdate({
          target: managedWallet.id,
          set: { ...row, vkey: sql`iif(managed_wallet.deleted_at IS NULL, NULL, excluded.vkey)` },
        })
        .toSQL(),
    ),
  ];
}

/**
 * Handles the error of a batch that adds wallets. If some wallets are already managed, it becomes a 409
 * that names them, since only the database can tell.
 */
export const throwForManagedWallets =
  (database: Database, network: Network, wallets: readonly DraftWallet[]) =>
  async (error: unknown): Promise<never> => {
    if (!violates(error, "managed_wallet.vkey")) throw error;
    const rows = await database.all<{ vkey: string }>(
      `SELECT vkey FROM managed_wallet
       WHERE network = ? AND deleted_at IS NULL AND vkey IN (SELECT value FROM json_each(?))`,
      network,
      JSON.stringify(wallets.map(({ row }) => row.vkey)),
    );
    const taken = new Set(rows.map(({ vkey }) => vkey));
    const fields = wallets.filter(({ row }) => taken.has(row.vkey)).map(({ field }) => field);
    throw new ApiError(
      "already_exists",
      `${fields.join(", ")}: a payment source already manages this wallet`,
    );
  };
