import type { Network } from "../../chain/network.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";

/** Tables of rules about wallets. */
const RULES = ["low_balance_rule", "top_up_rule"] as const;

/**
 * Removes a wallet from its source, with its rules. Nothing is signed with it any more; its mnemonic stays
 * until nothing can need it.
 */
export function removeWallet(id: string, now: number): Statement[] {
  return [
    statement(
      `UPDATE managed_wallet SET deleted_at = ?2, drives = 'nothing'
       WHERE id = ?1 AND deleted_at IS NULL`,
      id,
      now,
    ),
    ...RULES.map((table) => statement(`DELETE FROM ${table} WHERE wallet_id = ?`, id)),
  ];
}

/** The same for all wallets of a source, including those added concurrently. */
export function removeWallets(sourceId: string, now: number): Statement[] {
  return [
    ...RULES.map((table) =>
      statement(
        `DELETE FROM ${table}
         WHERE wallet_id IN (SELECT id FROM managed_wallet WHERE source_id = ?)`,
        sourceId,
      ),
    ),
    statement(
      `UPDATE managed_wallet SET deleted_at = ?2, drives = 'nothing'
       WHERE source_id = ?1 AND deleted_at IS NULL`,
      sourceId,
      now,
    ),
  ];
}

/** A removed wallet whose mnemonic is still kept. */
export interface KeptWallet {
  id: string;
  sourceId: string;
  network: Network;
  /** Payment key hash, hex. */
  vkey: string;
}

/** The removed wallets whose mnemonics are still kept. */
export function keptWallets(core: Database): Promise<KeptWallet[]> {
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

/** Of wallets that are added again: the mnemonics that were kept are in the new rows. */
export function takeBack(rows: readonly { network: Network; vkey: string }[]): Statement[] {
  return rows.map(({ network, vkey }) =>
    statement(
      `UPDATE managed_wallet SET mnemonic = ''
       WHERE network = ? AND vkey = ? AND deleted_at IS NOT NULL AND mnemonic <> ''`,
      network,
      vkey,
    ),
  );
}
