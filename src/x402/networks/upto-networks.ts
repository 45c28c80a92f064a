import pMap from "p-map";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import type { Database } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { log } from "../../log.ts";
import { UPTO_PROXY } from "../evm/addresses.ts";
import { RpcRefusal } from "../evm/rpc.ts";
import { type Facilitator, findNetwork, type NetworkRow, openRpc } from "./settlement-network.ts";

/** How long a chain's answer is remembered: a contract stays, and may be deployed any time. */
const DEPLOYED_TTL_MS = 60 * 60_000;
const MISSING_TTL_MS = 60_000;
/** A caller of `supported` waits no longer for a node. */
const MAX_READ_MS = 3_000;
const MAX_REMEMBERED_NETWORKS = 1_000;

/** Whether chains have the proxy of `upto`, by network and sealed RPC URL. */
const deployments = new Map<string, { isDeployed: boolean; until: number }>();

/**
 * Whether the chain has the contract that settles `upto` payments.
 *
 * @param deadline - epoch milliseconds
 * @throws RpcUnavailableError, RpcRefusal
 */
export async function hasUptoProxy(
  env: Env,
  network: NetworkRow,
  deadline: number,
): Promise<boolean> {
  const key = `${network.id} ${network.rpcUrl}`;
  const known = deployments.get(key);
  if (known && known.until > Date.now()) return known.isDeployed;
  const rpc = await openRpc(env, network, deadline);
  const [code] = await rpc.callBatch([{ method: "eth_getCode", params: [UPTO_PROXY, "latest"] }]);
  if (code instanceof RpcRefusal) throw code;
  const isDeployed = typeof code === "string" && /^0x[0-9a-f]{2}/i.test(code);
  if (deployments.size >= MAX_REMEMBERED_NETWORKS) deployments.clear();
  deployments.set(key, {
    isDeployed,
    until: Date.now() + (isDeployed ? DEPLOYED_TTL_MS : MISSING_TTL_MS),
  });
  return isDeployed;
}

/** CAIP-2 ids of the wallets' chains that have the contract of `upto`. A node that does not answer has none. */
export async function listUptoChains(
  env: Env,
  core: Database,
  wallets: readonly Facilitator[],
  deadline: number,
): Promise<Set<string>> {
  const until = Math.min(deadline, Date.now() + MAX_READ_MS);
  const caip2Ids = [...new Set(wallets.map(({ caip2Id }) => caip2Id))];
  const found = await pMap(
    caip2Ids,
    async (caip2Id) => {
      try {
        const network = await findNetwork(core, caip2Id);
        return network !== null && (await hasUptoProxy(env, network, until)) ? caip2Id : [];
      } catch (error) {
        log("warn", "x402.upto_unknown", { caip2Id, error: String(error) });
        return [];
      }
    },
    { concurrency: MAX_CONCURRENT_FETCHES },
  );
  return new Set(found.flat());
}
