import type { Abi } from "viem";
import { loadViem } from "../../packages.ts";
import { tokenAbi } from "./contracts.ts";
import * as results from "./results.ts";
import { type Rpc, RpcRefusal, readResult } from "./rpc.ts";

const { decodeFunctionResult, encodeFunctionData } = await loadViem();

/** A token's own metadata; without name or version it takes no EIP-3009 authorizations. */
export interface TokenDetails {
  name: string | null;
  version: string | null;
  decimals: number;
}

const MAX_TEXT = 200;

/**
 * @returns null when there is no ERC-20 at the address
 * @throws RpcUnavailable
 */
export async function readTokenDetails(rpc: Rpc, asset: string): Promise<TokenDetails | null> {
  const names = ["name", "version", "decimals"] as const;
  const answers = await rpc.many(
    names.map((functionName) => {
      const data = encodeFunctionData({ abi: tokenAbi as Abi, functionName });
      return { method: "eth_call", params: [{ to: asset, data }, "latest"] };
    }),
  );
  const [name, version, decimals] = names.map((functionName, i) =>
    decode(functionName, answers[i]),
  );
  if (typeof decimals !== "number") return null;
  return { name: textOf(name), version: textOf(version), decimals };
}

/** A token may claim anything; a text that no client would sign for is ignored. */
function textOf(value: unknown): string | null {
  return typeof value === "string" && value.length <= MAX_TEXT ? value : null;
}

function decode(functionName: string, answer: unknown): unknown {
  if (answer instanceof RpcRefusal && answer.isRevert) return null;
  const data = readResult(results.bytes, answer);
  try {
    return decodeFunctionResult({ abi: tokenAbi as Abi, functionName, data });
  } catch {
    // Something else answers at this address.
    return null;
  }
}
