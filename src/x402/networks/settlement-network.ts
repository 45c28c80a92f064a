import { and, eq, getTableColumns, inArray, isNull } from "drizzle-orm";
import type { Network } from "../../chain/network.ts";
import { batchReads } from "../../db/batch-reads.ts";
import { type Database, openDb } from "../../db/client.ts";
import { unseal } from "../../db/sealed.ts";
import type { Env } from "../../env.ts";
import { listLoopbackOrigins } from "../../http/outbound/loopback-origins.ts";
import { createRpc, type Rpc, type RpcOptions } from "../evm/rpc.ts";
import { x402Network, x402Wallet } from "../model/tables.ts";

export type NetworkRow = typeof x402Network.$inferSelect;
export type WalletRow = typeof x402Wallet.$inferSelect;

/** The sealed place of a network's RPC URL. */
export function toRpcUrlEncryptionContext(networkId: string) {
  return { table: "x402_network", id: networkId, column: "rpc_url" };
}

/** The sealed place of the header `Authorization` for another facilitator. */
export function toFacilitatorAuthEncryptionContext(networkId: string) {
  return { table: "x402_network", id: networkId, column: "facilitator_auth" };
}

/** The sealed place of a wallet's key. */
export function toPrivateKeyEncryptionContext(walletId: string) {
  return { table: "x402_wallet", id: walletId, column: "private_key" };
}

export async function findNetwork(core: Database, caip2Id: string): Promise<NetworkRow | null> {
  const [row] = await core.all<Record<string, unknown>>(
    "SELECT * FROM x402_network WHERE caip2_id = ?",
    caip2Id,
  );
  return row ? toNetworkRow(row) : null;
}

function toNetworkRow(row: Record<string, unknown>): NetworkRow {
  const fields = Object.entries(getTableColumns(x402Network)).map(([field, column]) => {
    const value = row[column.name] ?? null;
    return [field, value === null ? null : column.mapFromDriverValue(value)];
  });
  return Object.fromEntries(fields) as NetworkRow;
}

/** Finds a wallet that was not removed. */
export async function findEvmWallet(core: Database, id: string): Promise<WalletRow | null> {
  const [row] = await core.orm
    .select()
    .from(x402Wallet)
    .where(and(eq(x402Wallet.id, id), isNull(x402Wallet.deletedAt)));
  return row ?? null;
}

/** The wallets of these ids that were not removed. */
export function findWallets(core: Database, ids: readonly string[]): Promise<WalletRow[]> {
  return core.orm
    .select()
    .from(x402Wallet)
    .where(and(inArray(x402Wallet.id, ids), isNull(x402Wallet.deletedAt)));
}

/** Opens the RPC client of a network. */
export async function openRpc(env: Env, network: NetworkRow, deadline: number): Promise<Rpc> {
  const [url, options] = await Promise.all([
    unseal(env, toRpcUrlEncryptionContext(network.id), network.rpcUrl),
    readRpcOptions(env, deadline),
  ]);
  return createRpc(url, options);
}

/** Options of calls to RPC nodes. */
export async function readRpcOptions(
  env: Env,
  deadline: number,
  core?: Database,
): Promise<RpcOptions> {
  return {
    loopbackOrigins: await listLoopbackOrigins(env, deadline, core),
    resolverUrl: env.DNS_OVER_HTTPS_URL,
  };
}

/** Ids of the wallets that settle, the first one first. */
export function listFacilitatorIds({
  facilitatorWalletId: first,
  otherFacilitatorWalletIds: others,
}: Pick<NetworkRow, "facilitatorWalletId" | "otherFacilitatorWalletIds">): string[] {
  return first === null ? [] : [...new Set([first, ...(JSON.parse(others) as string[])])];
}

/** A wallet that settles on a chain. */
export interface Facilitator {
  id: string;
  caip2Id: string;
  address: string;
}

/** Reads the wallets that settle, the first of each chain first. @param caip2Id - null: of all chains */
export async function listFacilitators(
  core: Database,
  caip2Id: string | null,
): Promise<Facilitator[]> {
  return core.all<Facilitator>(
    `SELECT DISTINCT wallet.id, wallet.caip2_id AS caip2Id, wallet.address
     FROM x402_network AS network,
       json_each(json_insert(network.other_facilitator_wallet_ids, '$[#]', network.facilitator_wallet_id)) AS listed
       JOIN x402_wallet AS wallet ON wallet.id = listed.value
     WHERE network.facilitator_wallet_id IS NOT NULL AND wallet.deleted_at IS NULL
       AND network.caip2_id = ifnull(?, network.caip2_id)
     ORDER BY network.caip2_id, wallet.id <> network.facilitator_wallet_id, listed.key`,
    caip2Id,
  );
}

/**
 * The wallet that a payer has named as the facilitator of an `upto` payment. It may have left the network
 * since, but was not removed.
 */
export async function findNamedFacilitator(
  core: Database,
  caip2Id: string,
  address: string,
): Promise<Facilitator | null> {
  const [wallet] = await core.all<Facilitator>(
    `SELECT id, caip2_id AS caip2Id, address FROM x402_wallet
     WHERE caip2_id = ? AND address = ? AND deleted_at IS NULL
       AND type = 'Selling' AND was_facilitator = 1`,
    caip2Id,
    address.toLowerCase(),
  );
  return wallet ?? null;
}

/** What settles on a network: wallets of this service, or another facilitator in their place. */
export type Settler =
  | { kind: "wallets"; wallets: readonly [Facilitator, ...Facilitator[]] }
  | { kind: "remote"; facilitator: RemoteFacilitator };

/** Another x402 facilitator. */
export interface RemoteFacilitator {
  /** Base URL, without a slash at its end. */
  url: string;
  /** Header `Authorization`; null: none. Never logged. */
  auth: string | null;
}

/** The other facilitator of a network; null: it settles with wallets, or nothing. */
export async function openRemoteFacilitator(
  env: Env,
  { id, facilitatorUrl: url, facilitatorAuth }: NetworkRow,
): Promise<RemoteFacilitator | null> {
  if (url === null) return null;
  const auth =
    facilitatorAuth === null
      ? null
      : await unseal(env, toFacilitatorAuthEncryptionContext(id), facilitatorAuth);
  return { url, auth };
}

/** An enabled network with its facilitator and RPC client. */
export interface SettlementNetwork {
  network: NetworkRow;
  settler: Settler;
  rpc: Rpc;
}

/** Why a network cannot settle; the message is for callers. */
export class NoSettlementNetworkError extends Error {
  override name = "NoSettlementNetworkError";
}

/**
 * @param deadline - epoch milliseconds
 * @param core - a database whose reads are sent together with others
 * @throws NoSettlementNetworkError when the network is unknown, disabled, or has no facilitator
 */
export async function findSettlementNetwork(
  env: Env,
  caip2Id: string,
  deadline: number,
  core: Database = batchReads(openDb(env, undefined, { deadline })),
): Promise<SettlementNetwork> {
  const [network, [first, ...others], options] = await Promise.all([
    findNetwork(core, caip2Id),
    listFacilitators(core, caip2Id),
    readRpcOptions(env, deadline, core),
  ]);
  if (!network?.isEnabled)
    throw new NoSettlementNetworkError(`There is no enabled network ${caip2Id}`);
  const remote = await openRemoteFacilitator(env, network);
  if (!first && !remote)
    throw new NoSettlementNetworkError(`The network ${caip2Id} has no facilitator wallet`);
  const url = await unseal(env, toRpcUrlEncryptionContext(network.id), network.rpcUrl);
  const settler: Settler = remote
    ? { kind: "remote", facilitator: remote }
    : { kind: "wallets", wallets: [first as Facilitator, ...others] };
  return { network, settler, rpc: createRpc(url, options) };
}

/** Readiness of an enabled EVM chain. */
export interface ChainReadiness {
  caip2Id: string;
  hasRpcUrl: boolean;
  hasFacilitator: boolean;
  hasSellingWallet: boolean;
  hasPurchasingWallet: boolean;
  /** Whether a key has a budget for a purchasing wallet. */
  hasBudget: boolean;
}

/** The enabled EVM chains that go with a network: testnets with Preprod, others with Mainnet. */
export async function listEnabledChains(
  core: Database,
  network: Network,
): Promise<ChainReadiness[]> {
  const rows = await core.all<Record<keyof ChainReadiness, unknown> & { caip2Id: string }>(
    `SELECT caip2_id AS caip2Id, rpc_url <> '' AS hasRpcUrl,
       facilitator_url IS NOT NULL OR EXISTS (SELECT 1 FROM x402_wallet AS w
         WHERE w.id = n.facilitator_wallet_id AND w.deleted_at IS NULL) AS hasFacilitator,
       facilitator_url IS NOT NULL OR ${walletExistsSql("Selling", "")} AS hasSellingWallet,
       ${walletExistsSql("Purchasing", "")} AS hasPurchasingWallet,
       ${walletExistsSql(
         "Purchasing",
         `AND EXISTS (SELECT 1 FROM x402_budget AS b WHERE b.evm_wallet_id = w.id
           AND b.is_enabled = 1 AND b.remaining_amount <> '0')`,
       )} AS hasBudget
     FROM x402_network AS n WHERE is_enabled = 1 AND is_testnet = ? ORDER BY caip2_id`,
    network === "Preprod" ? 1 : 0,
  );
  return rows.map(({ caip2Id, ...has }) => ({
    caip2Id,
    hasRpcUrl: has.hasRpcUrl === 1,
    hasFacilitator: has.hasFacilitator === 1,
    hasSellingWallet: has.hasSellingWallet === 1,
    hasPurchasingWallet: has.hasPurchasingWallet === 1,
    hasBudget: has.hasBudget === 1,
  }));
}

function walletExistsSql(type: "Selling" | "Purchasing", more: string): string {
  return `EXISTS (SELECT 1 FROM x402_wallet AS w WHERE w.caip2_id = n.caip2_id
    AND w.type = '${type}' AND w.deleted_at IS NULL ${more})`;
}
