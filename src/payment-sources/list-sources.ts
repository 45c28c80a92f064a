import { and, asc, desc, gt, inArray, isNull, lt, type SQL, sql } from "drizzle-orm";
import { NETWORKS, type Network } from "../chain/network.ts";
import { openDb } from "../db/client.ts";
import { isOneOf } from "../db/conditions.ts";
import { unsealOrEmpty } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import { toIsoTime } from "../http/envelope.ts";
import { readSyncStatuses, type SyncStatus } from "../sources/cursor.ts";
import { loadProviderRecords } from "../sources/further-providers.ts";
import type { ProviderRecords } from "../sources/schemas.ts";
import { type SourceRow, toProviderKeyEncryptionContext } from "../sources/source-row.ts";
import { paymentSource } from "../sources/tables.ts";
import { listActiveWallets } from "../wallets/managed/find-wallet.ts";
import { renderWallet } from "../wallets/managed/render-wallet.ts";
import { managedWallet, type WalletRow } from "../wallets/managed/tables.ts";
import type { PaymentSourceRecord, PublicSourceRecord } from "./response-schemas.ts";

/** Which sources a list shows. */
export interface SourceQuery {
  limit: number;
  /** Instead of `limit`. */
  take?: number | undefined;
  cursorId?: string | undefined;
  /** Of these networks only; all when left out. */
  networks?: readonly Network[] | undefined;
  /** With these wallets only, and the sources that have one; null or left out: all. */
  walletIds?: readonly string[] | null | undefined;
  /** Newest first when left out. */
  order?: "oldest" | undefined;
}

/** One page of sources as the interface shows them to an Admin. */
export async function listSources(
  env: Env,
  query: SourceQuery,
  deadline: number,
): Promise<PaymentSourceRecord[]> {
  const page = await loadPage(env, query, deadline);
  return Promise.all(
    page.map(async ({ source, wallets, status }) =>
      toSourceRecord(
        source,
        wallets,
        await openProviderKey(env, source),
        status,
        await loadProviderRecords(env, source),
      ),
    ),
  );
}

/** One page of sources as every key sees them, newest first. */
export async function listPublicSources(
  env: Env,
  query: SourceQuery,
  deadline: number,
): Promise<PublicSourceRecord[]> {
  const page = await loadPage(env, query, deadline);
  return page.map(({ source, wallets, status }) => toPublicSourceRecord(source, wallets, status));
}

async function loadPage(
  env: Env,
  { limit, take = limit, cursorId, networks, walletIds, order }: SourceQuery,
  deadline: number,
) {
  const [isAfter, by] = order === "oldest" ? [gt, asc] : [lt, desc];
  const core = openDb(env, undefined, { deadline });
  const sources = await core.orm
    .select()
    .from(paymentSource)
    .where(
      and(
        isNull(paymentSource.deletedAt),
        cursorId === undefined ? undefined : isAfter(paymentSource.id, cursorId),
        networks === undefined ? undefined : inArray(paymentSource.network, [...networks]),
        walletIds ? hasWalletCondition(walletIds) : undefined,
      ),
    )
    .orderBy(by(paymentSource.id))
    .limit(take);
  const ids = sources.map(({ id }) => id);
  const all = await listActiveWallets(core, ids);
  const wallets = walletIds ? all.filter(({ id }) => walletIds.includes(id)) : all;
  const statuses = await loadSyncStatuses(env, sources, deadline);
  return sources.map((source) => ({
    source,
    wallets,
    status: statuses.get(source.id) ?? INITIAL_SYNC_STATUS,
  }));
}

/** That a source has one of some wallets. */
function hasWalletCondition(walletIds: readonly string[]): SQL {
  return sql`EXISTS (SELECT 1 FROM ${managedWallet} WHERE ${managedWallet.sourceId} = ${paymentSource.id}
    AND ${isNull(managedWallet.deletedAt)}
    AND ${isOneOf(managedWallet.id, walletIds)})`;
}

/** Sync status by source id, queried once per network. */
async function loadSyncStatuses(
  env: Env,
  sources: SourceRow[],
  deadline: number,
): Promise<Map<string, SyncStatus>> {
  const now = Date.now();
  const parts = await Promise.all(
    NETWORKS.map((network) => {
      const ids = sources.filter((source) => source.network === network).map(({ id }) => id);
      return ids.length > 0
        ? readSyncStatuses(openDb(env, network, { deadline }), ids, now)
        : new Map();
    }),
  );
  return new Map(parts.flatMap((part) => [...part]));
}

/** A source as the interface shows it to an Admin, with its provider key. */
export async function loadSourceRecord(
  env: Env,
  source: SourceRow,
  wallets: WalletRow[],
  deadline: number,
): Promise<PaymentSourceRecord> {
  const status = (await loadSyncStatuses(env, [source], deadline)).get(source.id);
  return toSourceRecord(
    source,
    wallets,
    await openProviderKey(env, source),
    status ?? INITIAL_SYNC_STATUS,
    await loadProviderRecords(env, source),
  );
}

/** The provider key in clear; `""` when it cannot be opened, so that the source stays removable. */
function openProviderKey(env: Env, { id, rpcProviderApiKey }: SourceRow): Promise<string> {
  return unsealOrEmpty(env, toProviderKeyEncryptionContext(id), rpcProviderApiKey);
}

/** The sync status of a source just created. */
export const INITIAL_SYNC_STATUS: SyncStatus = {
  lastCheckedAt: null,
  lastIdentifierChecked: null,
  syncInProgress: true,
  error: null,
};

/** The record of the interface, from what is stored. `rpcProviderApiKey` is the key in clear. */
export function toSourceRecord(
  source: SourceRow,
  wallets: WalletRow[],
  rpcProviderApiKey: string,
  status: SyncStatus,
  providers: ProviderRecords,
): PaymentSourceRecord {
  return {
    ...toPublicSourceRecord(source, wallets, status),
    error: status.error,
    PaymentSourceConfig: { rpcProviderApiKey, rpcProvider: source.rpcProvider },
    ...providers,
  };
}

/** The record without what only operators may see. */
function toPublicSourceRecord(
  source: SourceRow,
  wallets: WalletRow[],
  status: SyncStatus,
): PublicSourceRecord {
  const renderWalletsInRole = (role: WalletRow["role"]) =>
    wallets
      .filter((wallet) => wallet.sourceId === source.id && wallet.role === role)
      .map(renderWallet);
  return {
    id: source.id,
    createdAt: toIsoTime(source.createdAt),
    updatedAt: toIsoTime(source.updatedAt),
    lastCheckedAt: status.lastCheckedAt === null ? null : toIsoTime(status.lastCheckedAt),
    network: source.network,
    paymentType: source.type,
    paymentSourceType: source.type,
    syncInProgress: status.syncInProgress,
    smartContractAddress: source.contractAddress,
    policyId: source.policyId,
    AdminWallets: JSON.parse(source.adminWallets),
    feeRatePermille: source.feeRatePermille,
    FeeReceiverNetworkWallet: { walletAddress: source.feeReceiverAddress ?? "" },
    requiredAdminSignatures: source.requiredAdminSignatures,
    cooldownTime: source.cooldownTime,
    drives: source.drives,
    autoWithdrawPayments: source.autoWithdrawPayments,
    autoWithdrawRefunds: source.autoWithdrawRefunds,
    lastIdentifierChecked: status.lastIdentifierChecked ?? "",
    PurchasingWallets: renderWalletsInRole("Purchasing"),
    SellingWallets: renderWalletsInRole("Selling"),
    FundingWallets: renderWalletsInRole("Funding"),
  };
}
