import { type Database, onViolation, openDb, type Statement, statement } from "../db/client.ts";
import { countUnfinishedRecords } from "../escrow/tasks/unfinished-records.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { findActiveSource } from "../sources/find-source.ts";
import { createWalletNotFoundError, requireActiveWallet } from "../wallets/managed/find-wallet.ts";
import { readHoldings } from "../wallets/managed/read-balances.ts";
import { removeWallet } from "../wallets/managed/remove-wallets.ts";
import { toWalletRecord } from "../wallets/managed/render-wallet.ts";
import type { WalletRecord } from "../wallets/managed/schemas.ts";
import type { WalletRow } from "../wallets/managed/tables.ts";
import { insertWalletChange } from "../wallets/managed/wallet-changes.ts";
import { applyWalletChanges } from "./apply-wallet-changes.ts";
import { destroyUnneededKeys } from "./destroy-unneeded-keys.ts";
import { requireNoOpenTransactions } from "./refuse-removal.ts";

/** The provider's share of a request's remaining time. */
const PROVIDER_TIME_SHARE = 0.6;

/** A transfer that pays from the wallet, or to its address, and has not ended. */
const OPEN_TRANSFER_QUERY = `SELECT 1 FROM wallet_task AS task
  JOIN transfer ON transfer.id = task.subject_id
  WHERE task.feature = 'transfer' AND state IN ('Pending', 'Sent')
    AND (wallet_id = ?1 OR to_address = ?2)`;

/**
 * Removes a wallet that holds nothing and that nothing needs, from its payment source. The service destroys
 * its key. Therefore the balance must be known.
 *
 * @param role - of the wallet; left out: any
 * @param now - epoch milliseconds
 * @returns the wallet as it was
 * @throws ApiError 404; 409 while it holds anything or a task needs it; 503 when its balance is unknown
 */
export async function removeEmptyWallet(
  c: AppContext,
  { id, role }: { id: string; role?: WalletRow["role"] },
  now: number,
): Promise<WalletRecord> {
  const { deadline } = c.var;
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline });
  const wallet = await requireActiveWallet(core, id, "id");
  const source = await findActiveSource(core, wallet.sourceId);
  if (!source || (role !== undefined && wallet.role !== role))
    throw createWalletNotFoundError("id");
  const { network } = source;
  const database = openDb(c.env, network, { deadline });
  const records = { sourceId: source.id, network, vkeys: [wallet.vkey] };
  if ((await countUnfinishedRecords(database, records)) > 0)
    throw createInUseError("a payment or purchase of the wallet is not finished");
  await requireNoOpenTransactions(database, source, [wallet]);
  if (await hasOpenTransfer(database, wallet)) throw createOpenTransferError();
  await requireEmpty(c, wallet);
  const detail = { paymentSourceId: source.id, type: wallet.role, walletVkey: wallet.vkey };
  await commitWithAudit(c, core, { action: "wallet.delete", target: id, detail, now }, [
    abortOnOpenTransfer(wallet),
    ...removeWallet(id, now),
    insertWalletChange(source.id, now),
  ]).catch(onViolation("managed_wallet.note", createOpenTransferError));
  await applyWalletChanges(c.env, source.id, deadline);
  await destroyUnneededKeys(c.env, deadline);
  return toWalletRecord(wallet);
}

function createInUseError(why: string): ApiError {
  return new ApiError("wrong_state", `id: ${why}`);
}

const createOpenTransferError = () => createInUseError("a transfer of the wallet has not ended");

async function hasOpenTransfer(database: Database, { id, address }: WalletRow): Promise<boolean> {
  return (await database.all(`${OPEN_TRANSFER_QUERY} LIMIT 1`, id, address)).length > 0;
}

/** The check may have read the transfers before a top-up was requested. */
function abortOnOpenTransfer({ id, address }: WalletRow): Statement {
  return statement(
    `UPDATE managed_wallet SET note = iif(EXISTS (${OPEN_TRANSFER_QUERY}), NULL, note)
     WHERE id = ?1 AND deleted_at IS NULL`,
    id,
    address,
  );
}

/** @throws ApiError 409, 503 */
async function requireEmpty(c: AppContext, wallet: WalletRow): Promise<void> {
  const { deadline, caller } = c.var;
  const now = Date.now();
  const until = now + (deadline - now) * PROVIDER_TIME_SHARE;
  const holdings = await readHoldings(c.env, [wallet], until, { caller: caller.id });
  const found = holdings.get(wallet.id);
  if (!found)
    throw new ApiError(
      "unavailable",
      "id: the wallet's balance is unknown, since the chain provider did not tell it. Try again.",
      { retryAfter: 30 },
    );
  if (found.utxos.length > 0)
    throw createInUseError("the wallet holds funds. Transfer them to another wallet first.");
}
