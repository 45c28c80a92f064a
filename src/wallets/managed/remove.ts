import { type Statement, statement } from "../../db/client.ts";

/** Tables of rules about wallets. */
const RULES = ["low_balance_rule", "top_up_rule"] as const;

/** Removes a wallet from its source, with its rules, and destroys its mnemonic. */
export function removeWallet(id: string, now: number): Statement[] {
  return [
    statement(
      `UPDATE managed_wallet SET deleted_at = ?2, mnemonic = ''
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
      `UPDATE managed_wallet SET deleted_at = ?2, mnemonic = ''
       WHERE source_id = ?1 AND deleted_at IS NULL`,
      sourceId,
      now,
    ),
  ];
}
