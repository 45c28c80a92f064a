import { mayUse } from "../../http/authenticate.ts";
import type { KeyScope } from "../../http/context.ts";
import { type EscrowRecord, walletIdsOf } from "../record.ts";

/** The wallet that acts for a row of `escrow`, as SQL; null: none was chosen yet. */
const CHOSEN = "coalesce(wallet->>'id', terms->>'$.wallet.id')";

/**
 * SQL that a row of `escrow` is of wallets that a key may use: of the one that acts for it or, before
 * one was chosen, of none but those that may. Null for a key that is bound to none: then a page asks
 * nothing of its rows. Else it walks the same index, and looks at the wallets of each row.
 *
 * @param parameter - takes a parameter, and gives its place in the SQL
 */
export function withinScope(
  scope: KeyScope | undefined,
  parameter: (value: string) => string,
): string | null {
  if (!scope?.walletIds) return null;
  const permitted = `(SELECT value FROM json_each(${parameter(JSON.stringify(scope.walletIds))}))`;
  const wallets = `iif(${CHOSEN} IS NULL, coalesce(terms->'walletIds', '[]'), json_array(${CHOSEN}))`;
  return `(SELECT min(value IN ${permitted}) FROM json_each(${wallets}))`;
}

/** The same of a record. */
export function isWithinScope(
  scope: KeyScope | undefined,
  record: Pick<EscrowRecord, "wallet" | "terms">,
): boolean {
  if (!scope?.walletIds) return true;
  const ids = walletIdsOf(record);
  return ids.length > 0 && ids.every((id) => mayUse(scope, id));
}
