import { encodeFunctionData, type Hex, recoverAddress } from "viem";
import type { Authorization } from "../evm/authorization.ts";
import { innerSignature } from "../evm/calldata.ts";
import { erc1271Abi } from "../evm/contracts.ts";
import { type Rpc, RpcRefusal, RpcUnavailable } from "../evm/rpc.ts";

/** Who pays: an account with a key, or a wallet that is a contract. */
export interface Payer {
  address: string;
  hasCode: boolean;
}

/** On-chain facts about payer and token. */
export async function readPayer(
  rpc: Rpc,
  address: string,
  asset: string,
): Promise<{ payer: Payer; assetHasCode: boolean }> {
  const [payerCode, assetCode] = await rpc.many([
    { method: "eth_getCode", params: [address, "latest"] },
    { method: "eth_getCode", params: [asset, "latest"] },
  ]);
  return { payer: { address, hasCode: isCode(payerCode) }, assetHasCode: isCode(assetCode) };
}

function isCode(code: unknown): boolean {
  if (code instanceof RpcRefusal)
    throw new RpcUnavailable("the RPC node gives no code", { cause: code });
  return typeof code === "string" && code !== "0x";
}

const ERC1271_MAGIC = "0x1626ba7e";

/**
 * Whether the payer signed the digest. A contract is asked (ERC-1271) and never treated as a key,
 * even where it would also recover; anything else must recover from exactly 65 bytes.
 */
export async function isSigned(
  rpc: Rpc,
  payer: Payer,
  digest: Hex,
  authorization: Authorization,
): Promise<boolean> {
  // Permit2 takes no ERC-6492 wrapper: there the signature is used as sent.
  const signature =
    authorization.kind === "eip3009"
      ? innerSignature(authorization.signature)
      : (authorization.signature as Hex);
  if (payer.hasCode) return isSignedByContract(rpc, payer.address, digest, signature);
  if (signature.length !== 132) return false;
  try {
    const recovered = await recoverAddress({ hash: digest, signature });
    return recovered.toLowerCase() === payer.address.toLowerCase();
  } catch {
    // Not a point on the curve: nobody's signature.
    return false;
  }
}

async function isSignedByContract(
  rpc: Rpc,
  wallet: string,
  digest: Hex,
  signature: Hex,
): Promise<boolean> {
  const data = encodeFunctionData({
    abi: erc1271Abi,
    functionName: "isValidSignature",
    args: [digest, signature],
  });
  try {
    const answer = await rpc.call<string>("eth_call", { to: wallet, data }, "latest");
    return answer.toLowerCase().startsWith(ERC1271_MAGIC);
  } catch (error) {
    if (error instanceof RpcRefusal && error.isRevert) return false;
    throw error;
  }
}
