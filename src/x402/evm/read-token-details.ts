import type { Abi } from "viem";
import { loadViem } from "../../packages.ts";
import type { TokenDomain } from "./calldata.ts";
import { tokenAbi } from "./contracts.ts";
import { type Rpc, RpcRefusal, readResult } from "./rpc.ts";
import * as results from "./rpc-results.ts";

const { decodeFunctionResult, domainSeparator, encodeFunctionData, getAddress } = await loadViem();

/** A token's own metadata; without name or version it takes no EIP-3009 authorizations. */
export interface TokenDetails {
  name: string | null;
  version: string | null;
  decimals: number;
  /** What the token hashes into signatures, hex of 32 bytes; null when the token does not say. */
  domainSeparator: string | null;
}

const MAX_TEXT_LENGTH = 200;

/**
 * @returns null when there is no ERC-20 at the address
 * @throws RpcUnavailableError
 */
export async function readTokenDetails(rpc: Rpc, asset: string): Promise<TokenDetails | null> {
  const names = ["name", "version", "decimals", "DOMAIN_SEPARATOR"] as const;
  const answers = await rpc.callBatch(
    names.map((functionName) => {
      const data = encodeFunctionData({ abi: tokenAbi as Abi, functionName });
      return { method: "eth_call", params: [{ to: asset, data }, "latest"] };
    }),
  );
  const [name, version, decimals, separator] = names.map((functionName, i) =>
    decodeTokenResult(functionName, answers[i]),
  );
  if (typeof decimals !== "number") return null;
  return {
    name: toBoundedText(name),
    version: toBoundedText(version),
    decimals,
    domainSeparator: toBoundedText(separator),
  };
}

/** The separator of the EIP-712 domain that EIP-3009 terms imply, hex of 32 bytes. */
export function computeDomainSeparator(
  chainId: number,
  asset: string,
  domain: TokenDomain,
): string {
  const verifyingContract = getAddress(asset);
  return domainSeparator({ domain: { ...domain, chainId, verifyingContract } });
}

/** Ignores texts that no client would sign. */
function toBoundedText(value: unknown): string | null {
  return typeof value === "string" && value.length <= MAX_TEXT_LENGTH ? value : null;
}

function decodeTokenResult(functionName: string, answer: unknown): unknown {
  if (answer instanceof RpcRefusal && answer.isRevert) return null;
  const data = readResult(results.bytes, answer);
  try {
    return decodeFunctionResult({ abi: tokenAbi as Abi, functionName, data });
  } catch {
    // The contract at this address has another interface.
    return null;
  }
}
