import { and, eq, isNull } from "drizzle-orm";
import { type Database, db } from "../../db/client.ts";
import { open } from "../../db/sealed.ts";
import type { Env } from "../../env.ts";
import { loopbackOrigins } from "../../http/outbound/loopback-origins.ts";
import { createRpc, type Rpc, type RpcOptions } from "../evm/rpc.ts";
import { x402Network, x402Wallet } from "../tables.ts";

export type NetworkRow = typeof x402Network.$inferSelect;
export type WalletRow = typeof x402Wallet.$inferSelect;

/** The place that a network's RPC URL is sealed for. */
export function rpcUrlPlace(networkId: string) {
  return { table: "x402_network", id: networkId, column: "rpc_url" };
}

/** The place that a wallet's key is sealed for. */
export function privateKeyPlace(walletId: string) {
  return { table: "x402_wallet", id: walletId, column: "private_key" };
}

export async function findNetwork(core: Database, caip2Id: string): Promise<NetworkRow | null> {
  const [row] = await core.orm.select().from(x402Network).where(eq(x402Network.caip2Id, caip2Id));
  return row ?? null;
}

/** A wallet that was not removed. */
export async function findWallet(core: Database, id: string): Promise<WalletRow | null> {
  const [row] = await core.orm
    .select()
    .from(x402Wallet)
    .where(and(eq(x402Wallet.id, id), isNull(x402Wallet.deletedAt)));
  return row ?? null;
}

/** The node of a network. */
export async function rpcOf(env: Env, network: NetworkRow, deadline: number): Promise<Rpc> {
  const url = await open(env, rpcUrlPlace(network.id), network.rpcUrl);
  return createRpc(url, await rpcOptions(env, deadline));
}

/** How RPC nodes are reached from here. */
export async function rpcOptions(env: Env, deadline: number): Promise<RpcOptions> {
  return {
    loopbackOrigins: await loopbackOrigins(env, deadline),
    resolverUrl: env.DNS_OVER_HTTPS_URL,
  };
}

/** An enabled network with all that is needed to settle on it. */
export interface SettlementNetwork {
  network: NetworkRow;
  facilitator: WalletRow;
  rpc: Rpc;
}

/** Why a network cannot settle; the message is for callers. */
export class NoSettlementNetwork extends Error {
  override name = "NoSettlementNetwork";
}

/**
 * @param deadline - epoch milliseconds
 * @throws NoSettlementNetwork when the network is unknown, disabled, or has no facilitator wallet
 */
export async function settlementNetworkOf(
  env: Env,
  caip2Id: string,
  deadline: number,
): Promise<SettlementNetwork> {
  const core = db(env, undefined, { deadline });
  const network = await findNetwork(core, caip2Id);
  if (!network?.isEnabled) throw new NoSettlementNetwork(`There is no enabled network ${caip2Id}`);
  const facilitator =
    network.facilitatorWalletId === null
      ? null
      : await findWallet(core, network.facilitatorWalletId);
  if (!facilitator)
    throw new NoSettlementNetwork(`The network ${caip2Id} has no facilitator wallet`);
  return { network, facilitator, rpc: await rpcOf(env, network, deadline) };
}
