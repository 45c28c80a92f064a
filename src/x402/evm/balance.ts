import { type Rpc, type RpcCall, RpcRefusal, RpcUnavailableError } from "./rpc.ts";

/** Asks a node for a wallet's balance of the native coin (`native`) or of a token. */
export function encodeBalanceCall(address: string, asset: string): RpcCall {
  if (asset === "native") return { method: "eth_getBalance", params: [address, "latest"] };
  const data = `0x70a08231${address.slice(2).padStart(64, "0")}`;
  return { method: "eth_call", params: [{ to: asset, data }, "latest"] };
}

/**
 * The balance that a node returned, in minor units; null when the token gives none, the refusal
 * when the node refuses.
 */
export function decodeBalance(answer: unknown): bigint | null | RpcRefusal {
  if (answer instanceof RpcRefusal && !answer.isRevert) return answer;
  // Without a contract there are no balances.
  if (answer === "0x") return 0n;
  return typeof answer === "string" && /^0x[0-9a-f]{1,64}$/i.test(answer) ? BigInt(answer) : null;
}

/** Decimals of the native coin of every EVM chain. */
export const NATIVE_DECIMALS = 18;

/** Asks a node for the decimals of a token (EIP-20, `decimals()`). */
export function encodeDecimalsCall(asset: string): RpcCall {
  return { method: "eth_call", params: [{ to: asset, data: "0x313ce567" }, "latest"] };
}

/** The decimals that a node returned; null where a token, or what is in its place, tells none. */
export function decodeDecimals(answer: unknown): number | null {
  if (typeof answer !== "string" || !/^0x[0-9a-f]{64}$/i.test(answer)) return null;
  const decimals = BigInt(answer);
  return decimals <= 255n ? Number(decimals) : null;
}

/**
 * A wallet's balance of a token, and the amount that a spender may take of the token. Both are in minor
 * units, and null where the token tells none.
 *
 * @param spender - null: no allowance is read
 * @throws RpcUnavailableError
 */
export async function readTokenFunds(
  rpc: Rpc,
  owner: string,
  token: string,
  spender: string | null,
): Promise<{ balance: bigint | null; allowance: bigint | null }> {
  const calls = [encodeBalanceCall(owner, token)];
  if (spender !== null) calls.push(encodeAllowanceCall(owner, token, spender));
  const [balance = null, allowance = null] = (await rpc.callBatch(calls)).map((answer) => {
    const amount = decodeBalance(answer);
    if (amount instanceof RpcRefusal) throw toRpcUnavailableError(amount);
    return amount;
  });
  return { balance, allowance };
}

function encodeAllowanceCall(owner: string, token: string, spender: string): RpcCall {
  const args = [owner, spender].map((address) => address.slice(2).toLowerCase().padStart(64, "0"));
  return {
    method: "eth_call",
    params: [{ to: token, data: `0xdd62ed3e${args.join("")}` }, "latest"],
  };
}

/** A node that refuses a balance call is treated as one that does not answer. */
export function toRpcUnavailableError(refusal: RpcRefusal): RpcUnavailableError {
  return new RpcUnavailableError(`the RPC node refused the call: ${refusal.message}`, {
    cause: refusal,
  });
}
