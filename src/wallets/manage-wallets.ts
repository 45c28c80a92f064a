import { and, desc, inArray, isNull, lt } from "drizzle-orm";
import { onViolation, openDb, statement } from "../db/client.ts";
import { equalsIfGiven, isOneOf } from "../db/conditions.ts";
import { commitWithAudit } from "../http/audit.ts";
import { listPermittedNetworks } from "../http/authenticate.ts";
import type { AppContext } from "../http/context.ts";
import { toIsoTime } from "../http/envelope.ts";
import { requireAddress } from "../sources/validate-request.ts";
import type {
  WalletDetailsResponse,
  WalletQuery,
  WalletResponse,
} from "./details/response-schemas.ts";
import { readWalletDetails } from "./details/wallet-details.ts";
import { createWalletNotFoundError, requireActiveWallet } from "./managed/find-wallet.ts";
import { openMnemonic } from "./managed/open-keys.ts";
import { toWalletRecord } from "./managed/render-wallet.ts";
import type { ChangeWalletBody, WalletListQuery, WalletRecord } from "./managed/schemas.ts";
import { managedWallet } from "./managed/tables.ts";
import { renderLowBalanceRule } from "./rules/low-balance.ts";
import type { FeatureQueue } from "./spending/feature-queue.ts";

/**
 * Lists active wallets that the API key may use, newest first, with balances, transactions and waiting tasks.
 *
 * @param features - the features that have tasks for wallets
 */
export async function listWallets(
  c: AppContext,
  query: WalletListQuery,
  features: readonly FeatureQueue[],
): Promise<WalletResponse[]> {
  const walletIds = c.var.caller.scope?.walletIds;
  const filters = [
    isNull(managedWallet.deletedAt),
    inArray(managedWallet.network, listPermittedNetworks(c.var.caller)),
    walletIds ? isOneOf(managedWallet.id, walletIds) : undefined,
    query.cursorId === undefined ? undefined : lt(managedWallet.id, query.cursorId),
    equalsIfGiven(managedWallet.sourceId, query.paymentSourceId),
    equalsIfGiven(managedWallet.id, query.id),
    equalsIfGiven(managedWallet.role, query.walletType),
    equalsIfGiven(managedWallet.vkey, query.walletVkey),
    equalsIfGiven(managedWallet.address, query.walletAddress),
  ];
  const rows = await openDb(c.env, undefined, { deadline: c.var.deadline })
    .orm.select()
    .from(managedWallet)
    .where(and(...filters))
    .orderBy(desc(managedWallet.id))
    .limit(query.take ?? query.limit);
  const shown = await readWalletDetails(c, rows, features);
  return shown.map(({ wallet }) => wallet);
}

/**
 * Reads a wallet with all details. A request for the mnemonic is written to the audit log before the answer.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404
 */
export async function getWallet(
  c: AppContext,
  { id, walletType, includeSecret }: WalletQuery,
  features: readonly FeatureQueue[],
  now: number,
): Promise<WalletDetailsResponse> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const row = await requireActiveWallet(database, id, "id");
  if (walletType !== undefined && walletType !== row.role) throw createWalletNotFoundError("id");
  if (includeSecret) {
    const detail = { walletVkey: row.vkey };
    const entry = { action: "wallet.reveal-secret", target: id, detail, now } as const;
    await commitWithAudit(c, database, entry, []);
  }
  const [shown] = await readWalletDetails(c, [row], features);
  if (!shown) throw createWalletNotFoundError("id");
  const [oldest] = shown.pendingTransactions;
  const createdAt = toIsoTime(row.createdAt);
  return {
    ...shown.wallet,
    PendingTransaction: oldest
      ? {
          createdAt: toIsoTime(oldest.createdAt),
          updatedAt: toIsoTime(oldest.movedAt),
          hash: oldest.hash,
          lastCheckedAt: null,
        }
      : null,
    LowBalanceRules: shown.rules.map(renderLowBalanceRule),
    ...(includeSecret && {
      Secret: { createdAt, updatedAt: createdAt, mnemonic: await openMnemonic(c.env, row) },
    }),
  };
}

/**
 * Changes what is said of a wallet; omitted fields are kept.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400 for a collection address of another network, 404
 */
export async function changeWallet(
  c: AppContext,
  { id, ...changes }: ChangeWalletBody,
  now: number,
): Promise<WalletRecord> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const { network } = await requireActiveWallet(database, id, "id");
  const { note, drives } = changes;
  const field =
    changes.collectionAddress === undefined ? "newCollectionAddress" : "collectionAddress";
  const to = changes[field];
  const collectionAddress = to && requireAddress(network, field, to);
  const entry = { action: "wallet.update", target: id, detail: changes, now } as const;
  await commitWithAudit(c, database, entry, [
    statement(
      `UPDATE managed_wallet SET note = iif(deleted_at IS NULL, ifnull(?2, note), NULL),
         collection_address = iif(?3, ?4, collection_address), drives = ifnull(?5, drives)
       WHERE id = ?1`,
      id,
      note ?? null,
      Number(collectionAddress !== undefined),
      collectionAddress ?? null,
      drives ?? null,
    ),
  ]).catch(onViolation("managed_wallet.note", () => createWalletNotFoundError("id")));
  return toWalletRecord(await requireActiveWallet(database, id, "id"));
}
