/** What a rollup of the OP Stack charges for the chain below, apart from gas. */
import type { Hex } from "viem";
import { loadViem } from "../../packages.ts";
import { L1_FEE_ORACLE } from "./addresses.ts";
import type { RpcCall } from "./rpc.ts";
import * as results from "./rpc-results.ts";

const { encodeFunctionData, parseAbi, serializeTransaction } = await loadViem();

const oracleAbi = parseAbi(["function getL1Fee(bytes data) view returns (uint256)"]);

/** As long as what the wallet signs at most: the fee depends on the length. */
const MAX_LENGTH_FIELDS = { nonce: 2 ** 32, gas: 2n ** 32n, maxPriorityFeePerGas: 2n ** 60n };

/** Asks what the transaction of a call would be charged now. */
export function encodeL1FeeCall(
  chainId: number,
  { to, data }: { to: string; data: string },
): RpcCall {
  const transaction = serializeTransaction({
    type: "eip1559",
    chainId,
    to: to as Hex,
    data: data as Hex,
    ...MAX_LENGTH_FIELDS,
    maxFeePerGas: MAX_LENGTH_FIELDS.maxPriorityFeePerGas,
  });
  const call = encodeFunctionData({
    abi: oracleAbi,
    functionName: "getL1Fee",
    args: [transaction],
  });
  return { method: "eth_call", params: [{ to: L1_FEE_ORACLE, data: call }, "latest"] };
}

/** The fee in wei. 0: the chain has no such oracle. Null: the node does not say. */
export function readL1Fee(answer: unknown): bigint | null {
  const { data: word } = results.bytes.safeParse(answer);
  if (word === "0x") return 0n;
  return word?.length === WORD_HEX_LENGTH ? BigInt(word) : null;
}

/** Length of 32 bytes in hex. */
const WORD_HEX_LENGTH = 66;
