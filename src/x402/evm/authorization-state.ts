/** Asking a chain whether an authorization was used. */
import type { Hex } from "viem";
import { loadViem } from "../../packages.ts";
import { PERMIT2, permit2Abi, tokenAbi } from "./contracts.ts";
import * as results from "./results.ts";
import { type RpcCall, RpcRefusal, readResult } from "./rpc.ts";

const { encodeFunctionData } = await loadViem();

/** An authorization as its contract knows it: by payer and nonce. */
export interface AuthorizationId {
  kind: "eip3009" | "permit2";
  asset: string;
  from: string;
  /** Hex of 32 bytes for EIP-3009, decimal text for Permit2. */
  nonce: string;
}

/** The call that reads the state in the latest block. */
export function authorizationStateCall({ kind, asset, from, nonce }: AuthorizationId): RpcCall {
  const owner = from as Hex;
  const [to, data] =
    kind === "eip3009"
      ? [
          asset,
          encodeFunctionData({
            abi: tokenAbi,
            functionName: "authorizationState",
            args: [owner, nonce as Hex],
          }),
        ]
      : [
          PERMIT2,
          encodeFunctionData({
            abi: permit2Abi,
            functionName: "nonceBitmap",
            args: [owner, BigInt(nonce) >> 8n],
          }),
        ];
  return { method: "eth_call", params: [{ to, data }, "latest"] };
}

/**
 * Whether the state that a node returned says that the authorization was used. A contract that does
 * not answer the call has used none.
 *
 * @throws RpcUnavailable when the node does not execute the call
 */
export function isAuthorizationUsed({ kind, nonce }: AuthorizationId, answer: unknown): boolean {
  if (answer instanceof RpcRefusal && answer.isRevert) return false;
  const word = readResult(results.bytes, answer);
  if (word.length !== WORD_LENGTH) return false;
  const value = BigInt(word);
  return kind === "eip3009" ? value === 1n : ((value >> (BigInt(nonce) & 0xffn)) & 1n) === 1n;
}

/** Length of 32 bytes in hex. */
const WORD_LENGTH = 66;
