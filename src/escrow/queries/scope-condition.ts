import { mayUseWallet } from "../../http/authenticate.ts";
import type { Caller, KeyScope } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { type EscrowRecord, walletIdsOf } from "../model/escrow-record.ts";

/** By what pages are ordered by, the index of the rows of each wallet in that order. */
const WALLET_INDEXES = {
  chain_changed_at: "escrow_wallet_chain_changed",
  action_changed_at: "escrow_wallet_action_changed",
  changed_at: "escrow_wallet_changed",
  id: "escrow_wallet_newest",
} as const;

/**
 * SQL that a key may use the wallet of a row of `escrow`. Before a wallet acts for the row, only
 * the wallets that may act for it count. Null for a key that is bound to no wallets: then a page
 * filters no rows.
 *
 * @param parameter - takes a parameter, and gives its place in the SQL
 */
export function buildScopeCondition(
  scope: KeyScope | undefined,
  parameter: (value: string) => string,
): string | null {
  if (!scope?.walletIds) return null;
  return buildPermittedCondition(scope.walletIds, WALLETS_SQL, parameter);
}

/** SQL of the wallets of a row of `escrow`, a JSON array. */
const WALLETS_SQL = `iif(wallet_id IS NULL, coalesce(wallet_ids, '[]'), json_array(wallet_id))`;

/** SQL that a JSON array has wallets, all of which are permitted. @param wallets - SQL of the array */
export function buildPermittedCondition(
  permittedIds: readonly string[],
  wallets: string,
  parameter: (value: string) => string,
): string {
  const permitted = `(SELECT value FROM json_each(${parameter(JSON.stringify(permittedIds))}))`;
  return `(SELECT min(value IN ${permitted}) FROM json_each(${wallets}))`;
}

/** A page before it is put together: which rows of one type, in which order, and how many. */
interface PageRowsQuery {
  /** SQL; it names a type, and says `buildScopeCondition`. */
  where: string;
  orderBy: keyof typeof WALLET_INDEXES;
  isDescending?: boolean;
  /** SQL: a number or a parameter. */
  limit: string;
}

/**
 * SQL of the rows of an arm of a page, to follow FROM and to be ordered and limited again. For a
 * key that is bound to wallets, it reads the first rows of each wallet, and of records without a
 * wallet. Rows of other wallets are not read.
 *
 * @param parameter - takes a parameter, and gives its place in the SQL
 */
export function buildPageRowsSql(
  scope: KeyScope | undefined,
  parameter: (value: string) => string,
  { where, orderBy, isDescending = false, limit }: PageRowsQuery,
): string {
  if (!scope?.walletIds) return `escrow WHERE ${where}`;
  const order = [...new Set([orderBy, "id"])].map(
    (column) => `${column}${isDescending ? " DESC" : ""}`,
  );
  return `escrow WHERE id IN (
    SELECT found.id FROM json_each(${parameter(JSON.stringify([...scope.walletIds, null]))}) AS permitted
    CROSS JOIN escrow AS found ON found.id IN (
      SELECT id FROM escrow INDEXED BY ${WALLET_INDEXES[orderBy]}
      WHERE wallet_id IS permitted.value AND ${where} ORDER BY ${order} LIMIT ${limit}))`;
}

/** `buildScopeCondition` of a record. */
export function isWithinScope(
  scope: KeyScope | undefined,
  record: Pick<EscrowRecord, "wallet" | "terms">,
): boolean {
  if (!scope?.walletIds) return true;
  const ids = walletIdsOf(record);
  return ids.length > 0 && ids.every((id) => mayUseWallet(scope, id));
}

/** Only its owner and Admins may change a record. @throws ApiError 403 */
export function requireOwner(
  caller: Caller,
  { side, requestedById }: Pick<EscrowRecord, "side" | "requestedById">,
): void {
  if (caller.permission !== "Admin" && caller.id !== requestedById)
    throw new ApiError("not_owner", `blockchainIdentifier: the ${side} belongs to another API key`);
}
