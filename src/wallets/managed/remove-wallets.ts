import { type Database, type Statement, statement } from "../../db/client.ts";
import type { WalletRow } from "./tables.ts";

/** Tables of rules about wallets. */
const RULE_TABLES = ["low_balance_rule", "top_up_rule"] as const;

/**
 * Removes a wallet from its source, with its rules. Nothing is signed with it any more; its mnemonic stays
 * until nothing can need it, and what it did, for when it is taken back.
 */
export function removeWallet(id: string, now: number): Statement[] {
  return [
    statement(
      "UPDATE managed_wallet SET deleted_at = ?2 WHERE id = ?1 AND deleted_at IS NULL",
      id,
      now,
    ),
    ...RULE_TABLES.map((table) => statement(`DELETE FROM ${table} WHERE wallet_id = ?`, id)),
  ];
}

/** The same for all wallets of a source, including those added concurrently. */
export function removeWallets(sourceId: string, now: number): Statement[] {
  return [
    ...RULE_TABLES.map((table) =>
      statement(
        `DELETE FROM ${table}
         WHERE wallet_id IN (SELECT id FROM managed_wallet WHERE source_id = ?)`,
        sourceId,
      ),
    ),
    statement(
      `UPDATE managed_wallet SET deleted_at = ?2
       WHERE source_id = ?1 AND deleted_at IS NULL`,
      sourceId,
      now,
    ),
  ];
}

/** A removed wallet whose mnemonic is still kept. */
export type RetainedWallet = Pick<WalletRow, "id" | "sourceId" | "network" | "vkey">;

/** The removed wallets whose mnemonics are still kept. */
export function listRetainedWallets(core: Database): Promise<RetainedWallet[]> {
  return core.all(
    `SELECT id, source_id AS sourceId, network, vkey FROM managed_wallet
     WHERE deleted_at IS NOT NULL AND mnemonic <> ''`,
  );
}

/** Destroys the mnemonics of removed wallets. */
export function destroyMnemonics(ids: readonly string[]): Statement {
  return statement(
    `UPDATE managed_wallet SET mnemonic = ''
     WHERE id IN (SELECT value FROM json_each(?)) AND deleted_at IS NOT NULL`,
    JSON.stringify(ids),
  );
}

/** What a source knows of a wallet that it takes back. */
export type FormerWallet = Pick<WalletRow, "id" | "vkey" | "role" | "drives">;

/**
 * Wallets that a source takes back when they are added again: removed, and something may still need their keys.
 *
 * @param removed - ids of those that the same request removes
 */
export function listFormerWallets(
  core: Database,
  sourceId: string,
  removed: readonly string[] = [],
): Promise<FormerWallet[]> {
  return core.all(
    `SELECT id, vkey, role, drives FROM managed_wallet
     WHERE source_id = ?1 AND mnemonic <> ''
       AND (deleted_at IS NOT NULL OR id IN (SELECT value FROM json_each(?2)))`,
    sourceId,
    JSON.stringify(removed),
  );
}

/** Of wallets that are added to another source, or in another role: the mnemonics that were kept are in the new rows. */
export function clearFormerMnemonics(
  rows: readonly Pick<WalletRow, "id" | "network" | "vkey">[],
): Statement[] {
  return rows.map(({ id, network, vkey }) =>
    statement(
      `UPDATE managed_wallet SET mnemonic = ''
       WHERE network = ? AND vkey = ? AND id <> ? AND deleted_at IS NOT NULL AND mnemonic <> ''`,
      network,
      vkey,
      id,
    ),
  );
}
