import { and, desc, inArray, isNull, lt, type SQL, sql } from "drizzle-orm";
import { NETWORKS, type Network } from "../chain/network.ts";
import { db } from "../db/client.ts";
import { openOrEmpty } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import { isoTime } from "../http/envelope.ts";
import { type SyncStatus, syncStatus } from "../sources/cursor.ts";
import { providerKeyPlace, type SourceRow } from "../sources/record.ts";
import { paymentSource } from "../sources/tables.ts";
import { walletsOf } from "../wallets/managed/find-wallet.ts";
import { renderWallet } from "../wallets/managed/render-wallet.ts";
import { managedWallet, type WalletRow } from "../wallets/managed/tables.ts";
import type { PaymentSourceRecord, PublicSourceRecord } from "./answer-schemas.ts";

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
}

/** One page of sources as the interface shows them to an Admin, newest first. */
export async function listSources(
  env: Env,
  query: SourceQuery,
  deadline: number,
): Promise<PaymentSourceRecord[]> {
  const page = await readPage(env, query, deadline);
  return Promise.all(
    page.map(async ({ source, wallets, status }) =>
      render(source, wallets, await shownKey(env, source), status),
    ),
  );
}

/** One page of sources as every key sees them, newest first. */
export async function listPublicSources(
  env: Env,
  query: SourceQuery,
  deadline: number,
): Promise<PublicSourceRecord[]> {
  const page = await readPage(env, query, deadline);
  return page.map(({ source, wallets, status }) => renderPublic(source, wallets, status));
}

async function readPage(
  env: Env,
  { limit, take = limit, cursorId, networks, walletIds }: SourceQuery,
  deadline: number,
) {
  const core = db(env, undefined, { deadline });
  const sources = await core.orm
    .select()
    .from(paymentSource)
    .where(
      and(
        isNull(paymentSource.deletedAt),
        cursorId === undefined ? undefined : lt(paymentSource.id, cursorId),
        networks === undefined ? undefined : inArray(paymentSource.network, [...networks]),
        walletIds ? hasOneOf(walletIds) : undefined,
      ),
    )
    .orderBy(desc(paymentSource.id))
    .limit(take);
  const ids = sources.map(({ id }) => id);
  const all = await walletsOf(core, ids);
  const wallets = walletIds ? all.filter(({ id }) => walletIds.includes(id)) : all;
  const statuses = await statusOf(env, sources, deadline);
  return sources.map((source) => ({
    source,
    wallets,
    status: statuses.get(source.id) ?? NEVER_SYNCED,
  }));
}

/** That a source has one of some wallets. */
function hasOneOf(walletIds: readonly string[]): SQL {
  return sql`EXISTS (SELECT 1 FROM ${managedWallet} WHERE ${managedWallet.sourceId} = ${paymentSource.id}
    AND ${isNull(managedWallet.deletedAt)}
    AND ${managedWallet.id} IN (SELECT value FROM json_each(${JSON.stringify(walletIds)})))`;
}

/** Sync status by source id, queried once per network. */
async function statusOf(
  env: Env,
  sources: SourceRow[],
  deadline: number,
): Promise<Map<string, SyncStatus>> {
  const now = Date.now();
  const parts = await Promise.all(
    NETWORKS.map((network) => {
      const ids = sources.filter((source) => source.network === network).map(({ id }) => id);
      return ids.length > 0 ? syncStatus(db(env, network, { deadline }), ids, now) : new Map();
    }),
  );
  return new Map(parts.flatMap((part) => [...part]));
}

/** A source as the interface shows it to an Admin, with its provider key. */
export async function toRecord(
  env: Env,
  source: SourceRow,
  wallets: WalletRow[],
  deadline: number,
): Promise<PaymentSourceRecord> {
  const status = (await statusOf(env, [source], deadline)).get(source.id);
  return render(source, wallets, await shownKey(env, source), status ?? NEVER_SYNCED);
}

/** The provider key in clear; `""` when it cannot be opened, so that the source stays removable. */
function shownKey(env: Env, { id, rpcProviderApiKey }: SourceRow): Promise<string> {
  return openOrEmpty(env, providerKeyPlace(id), rpcProviderApiKey);
}

/** The sync status of a source just created. */
export const NEVER_SYNCED: SyncStatus = {
  lastCheckedAt: null,
  lastIdentifierChecked: null,
  syncInProgress: true,
  error: null,
};

/** The record of the interface, from what is stored. `rpcProviderApiKey` is the key in clear. */
export function render(
  source: SourceRow,
  wallets: WalletRow[],
  rpcProviderApiKey: string,
  status: SyncStatus,
): PaymentSourceRecord {
  return {
    ...renderPublic(source, wallets, status),
    error: status.error,
    PaymentSourceConfig: { rpcProviderApiKey, rpcProvider: source.rpcProvider },
  };
}

/** The record without what only operators may see. */
function renderPublic(
  source: SourceRow,
  wallets: WalletRow[],
  status: SyncStatus,
): PublicSourceRecord {
  const own = (role: WalletRow["role"]) =>
    wallets
      .filter((wallet) => wallet.sourceId === source.id && wallet.role === role)
      .map(renderWallet);
  return {
    id: source.id,
    createdAt: isoTime(source.createdAt),
    updatedAt: isoTime(source.updatedAt),
    lastCheckedAt: status.lastCheckedAt === null ? null : isoTime(status.lastCheckedAt),
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
    PurchasingWallets: own("Purchasing"),
    SellingWallets: own("Selling"),
    FundingWallets: own("Funding"),
  };
}
