import { and, eq, isNull } from "drizzle-orm";
import { type Database, db } from "../db/client.ts";
import { open } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import { loopbackOrigins } from "../sources/development.ts";
import { createRpc, type Rpc, type RpcOptions } from "./rpc.ts";
import { x402Network, x402Wallet } from "./tables.ts";

export type NetworkRow = typeof x402Network.$inferSelect;
export type WalletRow = typeof x402Wallet.$inferSelect;

/** Where the RPC address of a network is sealed for. */
export function rpcUrlPlace(networkId: string) {
  return { table: "x402_network", id: networkId, column: "rpc_url" };
}

/** Where the key of a wallet is sealed for. */
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

/** An enabled network with all that settling on it takes. */
export interface Rail {
  network: NetworkRow;
  facilitator: WalletRow;
  rpc: Rpc;
}

/** Why a network cannot settle; the message is for callers. */
export class NoRail extends Error {
  override name = "NoRail";
}

/**
 * @param deadline - epoch milliseconds
 * @throws NoRail when the network is unknown, disabled, or has no facilitator wallet
 */
export async function railOf(env: Env, caip2Id: string, deadline: number): Promise<Rail> {
  const core = db(env, undefined, { deadline });
  const network = await findNetwork(core, caip2Id);
  if (!network?.isEnabled) throw new NoRail(`There is no enabled network ${caip2Id}`);
  const facilitator =
    network.facilitatorWalletId === null
      ? null
      : await findWallet(core, network.facilitatorWalletId);
  if (!facilitator) throw new NoRail(`The network ${caip2Id} has no facilitator wallet`);
  return { network, facilitator, rpc: await rpcOf(env, network, deadline) };
}
