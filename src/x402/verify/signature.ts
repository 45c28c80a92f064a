import type { Hex } from "viem";
import { loadViem } from "../../packages.ts";
import type { Authorization } from "../evm/authorization.ts";
import { payerSignature } from "../evm/calldata.ts";
import { erc1271Abi } from "../evm/contracts.ts";
import * as results from "../evm/results.ts";
import { type Rpc, type RpcCall, RpcRefusal, RpcUnavailable, readResult } from "../evm/rpc.ts";
import { chainIdOf } from "../networks/chain-id.ts";
import type { PaymentRequirements } from "../schemas.ts";

const { encodeFunctionData, recoverAddress } = await loadViem();

/** On-chain facts about a payment. */
interface Facts {
  /** Whether it is a wallet that is a contract, and no account with a key. */
  payerHasCode: boolean;
  assetHasCode: boolean;
  /** What the node answered to `also`; undefined when nothing was asked. */
  answer: unknown | RpcRefusal;
}

/**
 * Reads who pays in which token, in one request.
 *
 * @param payer - address
 * @param also - another call for the same request
 * @throws RpcUnavailable, also when the node is on another chain
 */
export async function readFacts(
  rpc: Rpc,
  { network, asset }: Pick<PaymentRequirements, "network" | "asset">,
  payer: string,
  also: RpcCall | null,
): Promise<Facts> {
  const [chainId, payerCode, assetCode, answer] = await rpc.many([
    { method: "eth_chainId", params: [] },
    { method: "eth_getCode", params: [payer, "latest"] },
    { method: "eth_getCode", params: [asset, "latest"] },
    ...(also ? [also] : []),
  ]);
  if (chainId instanceof RpcRefusal) throw chainId;
  const chain = readResult(results.count, chainId);
  if (chain !== chainIdOf(network))
    throw new RpcUnavailable(`the RPC node is on chain ${chain}, not ${network}`);
  return {
    payerHasCode: isCode(payerCode),
    assetHasCode: isCode(assetCode),
    answer,
  };
}

function isCode(code: unknown): boolean {
  return readResult(results.bytes, code) !== "0x";
}

const ERC1271_MAGIC = "0x1626ba7e";

/** Whether the authorization's signature, of exactly 65 bytes, recovers to its payer. */
export async function isSignedByKey(digest: Hex, authorization: Authorization): Promise<boolean> {
  const signature = payerSignature(authorization);
  if (signature.length !== 132) return false;
  try {
    const recovered = await recoverAddress({ hash: digest, signature });
    return recovered.toLowerCase() === authorization.from.toLowerCase();
  } catch {
    // Not a point on the curve: nobody's signature.
    return false;
  }
}

/** Whether a contract says that the digest was signed for it (ERC-1271). */
export async function isSignedByContract(
  rpc: Rpc,
  digest: Hex,
  authorization: Authorization,
): Promise<boolean> {
  const data = encodeFunctionData({
    abi: erc1271Abi,
    functionName: "isValidSignature",
    args: [digest, payerSignature(authorization)],
  });
  try {
    const call = { to: authorization.from, data };
    const answer = await rpc.call(results.bytes, "eth_call", call, "latest");
    return answer.toLowerCase().startsWith(ERC1271_MAGIC);
  } catch (error) {
    if (error instanceof RpcRefusal && error.isRevert) return false;
    throw error;
  }
}
