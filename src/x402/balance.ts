import { type Rpc, type RpcCall, RpcRefusal, RpcUnavailable } from "./rpc.ts";

/** Asks a node what a wallet holds of the native coin (`native`) or of a token. */
export function balanceCall(address: string, asset: string): RpcCall {
  if (asset === "native") return { method: "eth_getBalance", params: [address, "latest"] };
  const data = `0x70a08231${address.slice(2).padStart(64, "0")}`;
  return { method: "eth_call", params: [{ to: asset, data }, "latest"] };
}

/**
 * The balance that a node answered with, in smallest units; null when the token does not tell it,
 * the refusal when it is the node that does not.
 */
export function balanceIn(answer: unknown): bigint | null | RpcRefusal {
  if (answer instanceof RpcRefusal && !answer.isRevert) return answer;
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
  const balance = balanceIn(answer);
  if (balance instanceof RpcRefusal) throw refused(balance);
  return balance;
}

/** A node that refuses what it is asked for a balance is as good as one that does not answer. */
export function refused(refusal: RpcRefusal): RpcUnavailable {
  return new RpcUnavailable(`the RPC node refuses: ${refusal.message}`, { cause: refusal });
}
