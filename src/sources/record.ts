import { and, asc, desc, eq, inArray, isNull, lt } from "drizzle-orm";
import type { Network } from "../chain/network.ts";
import { db } from "../db/client.ts";
import { open } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import { isoTime } from "../http/envelope.ts";
import { type SyncStatus, syncStatus } from "./cursor.ts";
import type { PaymentSourceRecord } from "./schemas.ts";
import { managedWallet, paymentSource } from "./tables.ts";

export type SourceRow = typeof paymentSource.$inferSelect;
export type WalletRow = typeof managedWallet.$inferSelect;

/** One page of sources as the interface shows them to an Admin, newest first. */
export async function listSources(
  env: Env,
  query: { limit: number; cursorId?: string | undefined; network?: Network | undefined },
  deadline: number,
): Promise<PaymentSourceRecord[]> {
  const core = db(env, undefined, { deadline });
  const sources = await core.orm
    .select()
    .from(paymentSource)
    .where(
      and(
        isNull(paymentSource.deletedAt),
        query.cursorId === undefined ? undefined : lt(paymentSource.id, query.cursorId),
        query.network === undefined ? undefined : eq(paymentSource.network, query.network),
      ),
    )
    .orderBy(desc(paymentSource.id))
    .limit(query.limit);
  const ids = sources.map(({ id }) => id);
  const wallets = await core.orm
    .select()
    .from(managedWallet)
    .where(and(inArray(managedWallet.sourceId, ids), isNull(managedWallet.deletedAt)))
    .orderBy(asc(managedWallet.createdAt), asc(managedWallet.id));
  return Promise.all(sources.map((source) => toRecord(env, source, wallets, deadline)));
}

/** A source as the interface shows it to an Admin, with its provider key. */
export async function toRecord(
  env: Env,
  source: SourceRow,
  wallets: WalletRow[],
  deadline: number,
): Promise<PaymentSourceRecord> {
  const ledger = db(env, source.network, { deadline });
  const status = (await syncStatus(ledger, [source.id], Date.now())).get(source.id);
  const apiKey = await open(env, providerKeyPlace(source.id), source.rpcProviderApiKey);
  return render(source, wallets, apiKey, status ?? NEVER_SYNCED);
}

/** Where the provider key of a source is sealed for. */
export function providerKeyPlace(sourceId: string) {
  return { table: "payment_source", id: sourceId, column: "rpc_provider_api_key" };
}

/** What sync says of a source that was just created. */
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
  const own = (role: WalletRow["role"]) =>
    wallets
      .filter((wallet) => wallet.sourceId === source.id && wallet.role === role)
      .map(({ id, vkey, address, note, collectionAddress }) => ({
        id,
        walletVkey: vkey,
        walletAddress: address,
        note,
        collectionAddress,
      }));
  return {
    id: source.id,
    createdAt: isoTime(source.createdAt),
    updatedAt: isoTime(source.updatedAt),
    lastCheckedAt: status.lastCheckedAt === null ? null : isoTime(status.lastCheckedAt),
    network: source.network,
    paymentType: source.type,
    paymentSourceType: source.type,
    syncInProgress: status.syncInProgress,
    error: status.error,
    smartContractAddress: source.contractAddress,
    policyId: source.policyId,
    AdminWallets: JSON.parse(source.adminWallets),
    feeRatePermille: source.feeRatePermille,
    FeeReceiverNetworkWallet:
      source.feeReceiverAddress === null ? null : { walletAddress: source.feeReceiverAddress },
    requiredAdminSignatures: source.requiredAdminSignatures,
    cooldownTime: source.cooldownTime,
    lastIdentifierChecked: status.lastIdentifierChecked,
    PaymentSourceConfig: { rpcProviderApiKey, rpcProvider: source.rpcProvider },
    PurchasingWallets: own("Purchasing"),
    SellingWallets: own("Selling"),
  };
}
