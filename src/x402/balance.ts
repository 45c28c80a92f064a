import { type Rpc, type RpcCall, RpcRefusal, RpcUnavailable } from "./rpc.ts";

/** Asks a node what a wallet holds of the native coin (`native`) or of a token. */
export function balanceCall(address: string, asset: string): RpcCall {
  if (asset === "native") return { method: "eth_getBalance", params: [address, "latest"] };
  const data = `0x70a08231${address.slice(2).padStart(64, "0")}`;
  return { method: "eth_call", params: [{ to: asset, data }, "latest"] };
}

/**
 * The balance that a node answered with, in smallest units; null when the token does not tell it.
 *
 * @throws RpcUnavailable when it is the node that refuses
 */
export function balanceIn(answer: unknown): bigint | null {
  if (answer instanceof RpcRefusal && !answer.isRevert)
    throw new RpcUnavailable(`the RPC node refuses: ${answer.message}`, { cause: answer });
  // Where no contract answers, nobody holds anything.
  if (answer === "0x") return 0n;
  return typeof answer === "string" && /^0x[0-9a-f]{1,64}$/i.test(answer) ? BigInt(answer) : null;
}

/**
 * What a wallet holds, in smallest units; null when the token does not tell it.
 *
 * @throws RpcUnavailable
 */
export async function balanceOf(rpc: Rpc, address: string, asset: string): Promise<bigint | null> {
  const [answer] = await rpc.many([balanceCall(address, asset)]);
  return balanceIn(answer);
}
