import { asc, eq } from "drizzle-orm";
import { db } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { open, seal } from "../db/sealed.ts";
import type { Env } from "../env.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { isoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { checkPublicUrl, PublicFetchError } from "../http/fetch-public.ts";
import { chainIdOf } from "./chain-id.ts";
import {
  findNetwork,
  findWallet,
  type NetworkRow,
  rpcOptions,
  rpcUrlPlace,
  type WalletRow,
} from "./networks.ts";
import { createRpc, RpcRefusal, RpcUnavailable } from "./rpc.ts";
import { x402Network, x402Wallet } from "./tables.ts";

/** `undefined` keeps what is stored, null clears. */
export interface NetworkChange {
  caip2Id: string;
  displayName?: string | undefined;
  rpcUrl?: string | undefined;
  isTestnet?: boolean | undefined;
  isEnabled?: boolean | undefined;
  defaultAsset?: string | null | undefined;
  facilitatorWalletId?: string | null | undefined;
  eip6492AllowedFactories?: string[] | undefined;
}

/** Every network, by CAIP-2 id. */
export async function listNetworks(env: Env, deadline: number) {
  const core = db(env, undefined, { deadline });
  const rows = await core.orm
    .select({ network: x402Network, facilitator: x402Wallet })
    .from(x402Network)
    .leftJoin(x402Wallet, eq(x402Wallet.id, x402Network.facilitatorWalletId))
    .orderBy(asc(x402Network.caip2Id));
  return Promise.all(
    rows.map(async ({ network, facilitator }) =>
      render(network, facilitator, await open(env, rpcUrlPlace(network.id), network.rpcUrl)),
    ),
  );
}

/**
 * Creates a network or changes the one of that CAIP-2 id. A new RPC address must answer for the
 * chain that is declared.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404; 502 or 504 when the RPC node fails
 */
export async function saveNetwork(c: AppContext, change: NetworkChange, now: number) {
  const { deadline } = c.var;
  const core = db(c.env, undefined, { writes: "idempotent", deadline });
  const stored = await findNetwork(core, change.caip2Id);
  const id = stored?.id ?? newId(now);
  if (!stored) {
    if (change.displayName === undefined) throw new ApiError(400, "displayName: is required");
    if (change.rpcUrl === undefined) throw new ApiError(400, "rpcUrl: is required");
  }
  if (change.rpcUrl !== undefined) await checkRpcUrl(c, change.rpcUrl, change.caip2Id);
  const walletId = change.facilitatorWalletId ?? null;
  if (walletId !== null) checkFacilitator(await findWallet(core, walletId), change.caip2Id);

  const row: NetworkRow = {
    id,
    caip2Id: change.caip2Id,
    displayName: change.displayName ?? stored?.displayName ?? "",
    rpcUrl:
      change.rpcUrl === undefined
        ? (stored?.rpcUrl ?? "")
        : await seal(c.env, rpcUrlPlace(id), change.rpcUrl),
    isTestnet: change.isTestnet ?? stored?.isTestnet ?? false,
    isEnabled: change.isEnabled ?? stored?.isEnabled ?? true,
    defaultAsset: keep(change.defaultAsset, stored?.defaultAsset),
    facilitatorWalletId: keep(change.facilitatorWalletId, stored?.facilitatorWalletId),
    eip6492Factories: change.eip6492AllowedFactories
      ? JSON.stringify(change.eip6492AllowedFactories)
      : (stored?.eip6492Factories ?? "[]"),
    createdById: stored ? stored.createdById : c.var.caller.id,
    createdAt: stored?.createdAt ?? now,
    updatedAt: now,
  };
  const { id: _, caip2Id, createdAt, createdById, ...changed } = row;
  const { rpcUrl, ...detail } = change;
  await commitAudited(
    c,
    core,
    {
      action: "x402-network.save",
      target: id,
      detail: { ...detail, rpcUrl: rpcUrl !== undefined },
      now,
    },
    [
      core.orm
        .insert(x402Network)
        .values(row)
        .onConflictDoUpdate({ target: x402Network.caip2Id, set: changed })
        .toSQL(),
    ],
  );
  const facilitator =
    row.facilitatorWalletId === null ? null : await findWallet(core, row.facilitatorWalletId);
  return render(row, facilitator, await open(c.env, rpcUrlPlace(id), row.rpcUrl));
}

function keep<T>(change: T | null | undefined, stored: T | null | undefined): T | null {
  return change === undefined ? (stored ?? null) : change;
}

async function checkRpcUrl(c: AppContext, rpcUrl: string, caip2Id: string): Promise<void> {
  const options = await rpcOptions(c.env, c.var.deadline);
  try {
    checkPublicUrl(rpcUrl, { allowHttp: true, loopbackOrigins: options.loopbackOrigins });
  } catch (error) {
    if (error instanceof PublicFetchError) throw new ApiError(400, `rpcUrl: ${error.message}`);
    throw error;
  }
  let chainId: number;
  try {
    chainId = Number(await createRpc(rpcUrl, options).call<string>("eth_chainId"));
  } catch (error) {
    throw rpcError(error);
  }
  if (chainId !== chainIdOf(caip2Id))
    throw new ApiError(400, `rpcUrl: the node is on chain ${chainId}, not ${caip2Id}`);
}

/** What a caller learns when the RPC node could not be relied on; any other error as it is. */
export function rpcError(error: unknown): unknown {
  if (error instanceof RpcUnavailable)
    return error.timedOut
      ? new ApiError(504, "The RPC node did not answer in time", { retryAfter: 5 })
      : new ApiError(502, "The RPC node failed");
  if (error instanceof RpcRefusal) return new ApiError(502, "The RPC node refused the call");
  return error;
}

function checkFacilitator(wallet: WalletRow | null, caip2Id: string): void {
  if (!wallet) throw new ApiError(404, "facilitatorWalletId: there is no such wallet");
  if (wallet.caip2Id !== caip2Id)
    throw new ApiError(400, `facilitatorWalletId: the wallet is on ${wallet.caip2Id}`);
  if (wallet.type !== "Selling")
    throw new ApiError(400, "facilitatorWalletId: must be a wallet of the type Selling");
}

function render(network: NetworkRow, facilitator: WalletRow | null, rpcUrl: string) {
  const { eip6492Factories, createdAt, updatedAt, ...rest } = network;
  return {
    ...rest,
    rpcUrl,
    facilitatorWalletAddress: facilitator?.address ?? null,
    eip6492AllowedFactories: JSON.parse(eip6492Factories) as string[],
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}
