/** Wallets that are removed from the payment source and added again, as its requests and the cron do it. */
import { violates } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import {
  applyAllWalletChanges,
  applyWalletChanges,
} from "../../../src/payment-sources/apply-wallet-changes.ts";
import { destroyUnneededKeys } from "../../../src/payment-sources/destroy-unneeded-keys.ts";
import { startBackfill } from "../../../src/sources/cursor.ts";
import { insertWallets } from "../../../src/wallets/managed/derive-wallets.ts";
import { listFormerWallets, removeWallet } from "../../../src/wallets/managed/remove-wallets.ts";
import type { WalletRow } from "../../../src/wallets/managed/tables.ts";
import { insertWalletChange } from "../../../src/wallets/managed/wallet-changes.ts";
import type { ModelDatabase } from "../database.ts";
import type { Reach } from "./process.ts";
import { PARTIES, type Party, SOURCES, WALLETS } from "./terms.ts";

/** Tables with the source's wallets. */
export const WALLET_TABLES = ["managed_wallet", "job"];
/** Milliseconds for telling records. */
const TELL_MS = 60_000;
const SOURCE = SOURCES.Web3ChainV2.id;

/** The payment source, as far as those who tell its records look at it. */
export function insertSource(database: ModelDatabase): void {
  database.run(
    `INSERT INTO payment_source (id, network, type, contract_address, policy_id, admin_wallets,
       fee_rate_permille, cooldown_time, rpc_provider, rpc_provider_api_key, created_by_id,
       created_at, updated_at)
     VALUES (?, 'Preprod', '', '', '', '', 0, 0, '', '', '', 0, 0)`,
    SOURCE,
  );
}

/** Both parties' wallets, in use. */
export function insertParties(database: ModelDatabase): void {
  for (const one of WALLETS)
    database.run(
      `INSERT INTO managed_wallet (id, source_id, network, role, vkey, address, mnemonic, note,
         drives, created_by_id, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?)`,
      ...[one.id, one.sourceId, one.network, one.role, one.vkey, one.address, one.mnemonic],
      ...[one.drives, one.createdById, one.createdAt],
    );
}

/** The wallets in use: what `walletsOf` has, whose queries take too long for each run. */
export function walletsIn(database: ModelDatabase): WalletRow[] {
  return database.all(
    `SELECT id, source_id AS sourceId, network, role, vkey, address, mnemonic, note,
       collection_address AS collectionAddress, drives, created_by_id AS createdById,
       created_at AS createdAt, deleted_at AS deletedAt
     FROM managed_wallet WHERE deleted_at IS NULL ORDER BY created_at, id`,
  );
}

/** By force, as `PATCH /payment-source-extended` does. */
export async function removeParty({ db, d1 }: Reach, { id }: WalletRow, now: number) {
  await db.batch([...removeWallet(id, now), insertWalletChange(SOURCE, now)]);
  await applyWalletChanges({ DB: d1 }, SOURCE, now + TELL_MS);
  await destroyUnneededKeys({ DB: d1 }, now + TELL_MS);
}

/** One whose key is still kept is what it was, and another one else. */
export async function addParty({ db, d1 }: Reach, party: Party, now: number) {
  const { vkey } = PARTIES[party];
  const wallet = WALLETS.find((one) => one.vkey === vkey) as WalletRow;
  const former = (await listFormerWallets(db, SOURCE)).find((one) => one.vkey === vkey);
  const row = { ...wallet, id: former?.id ?? newId(now), createdAt: now };
  try {
    await db.batch([
      ...insertWallets(db, [row]),
      insertWalletChange(SOURCE, now),
      startBackfill(SOURCE, [row]),
    ]);
  } catch (error) {
    // The batch was sent again, and whoever asked for it learns that the wallet is there. The cron tells of it.
    if (violates(error, "managed_wallet.vkey")) return;
    throw error;
  }
  await applyWalletChanges({ DB: d1 }, SOURCE, now + TELL_MS);
}

/** Records that do not say of a wallet of theirs that it was removed, or is back, though all were told of it. */
export function wronglyMarked(database: ModelDatabase): string[] {
  return database
    .all<{ told: string }>(
      `SELECT json_object('side', side, 'state', on_chain_state, 'marked', wallet_removed) AS told
       FROM escrow LEFT JOIN managed_wallet AS own
         ON own.vkey = wallet_vkey AND own.deleted_at IS NULL
       WHERE wallet_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM job)
         AND iif(own.id IS NULL, wallet_removed IS NULL AND expired_at IS NULL AND coalesce(
           on_chain_state NOT IN ('Withdrawn', 'RefundWithdrawn', 'DisputedWithdrawn'), 1),
           wallet_removed IS NOT NULL)`,
    )
    .map(({ told }) => told);
}

/** What the cron does about wallets that were removed or added, if there are such. */
export async function tendWallets(database: ModelDatabase, { d1 }: Reach, now: number) {
  const [row] = database.all<{ untold: number; kept: number }>(
    `SELECT EXISTS (SELECT 1 FROM job) AS untold, EXISTS (
       SELECT 1 FROM managed_wallet WHERE deleted_at IS NOT NULL AND mnemonic <> '') AS kept`,
  );
  if (row?.untold) await applyAllWalletChanges({ DB: d1 }, now + TELL_MS);
  if (row?.kept) await destroyUnneededKeys({ DB: d1 }, now + TELL_MS);
}
