/** Money of a local node: whoever asks gets some. */
import type { Hex } from "viem";
import { encodeFunctionData, parseAbi } from "viem/utils";
import { BANK, type EvmNode, PERMIT2, receiptOf } from "./node.ts";

type Rpc = Pick<EvmNode, "rpc">;
type TokenNode = Pick<EvmNode, "rpc" | "token">;

const tokenAbi = parseAbi([
  "function mint(address to, uint256 value)",
  "function approve(address spender, uint256 value) returns (bool)",
  "function balanceOf(address owner) view returns (uint256)",
]);
/** 0.1 of the native coin, in wei: gas for some thousand transactions. */
const GAS_MONEY = 10n ** 17n;
const WITHOUT_LIMIT = 2n ** 256n - 1n;

/** Gives an account the native coin that it pays gas with. */
export async function giveGas(node: Rpc, to: string): Promise<void> {
  const value = `0x${GAS_MONEY.toString(16)}`;
  await send(node, { from: BANK, to, value });
}

/** Gives an account Test Dollars, counted in the token's minor unit: 1,000,000 are one. */
export async function giveDollars(node: TokenNode, to: string, amount: bigint): Promise<void> {
  const data = encodeFunctionData({
    abi: tokenAbi,
    functionName: "mint",
    args: [to as Hex, amount],
  });
  await send(node, { from: BANK, to: node.token, data });
}

/** How many Test Dollars an account has, counted as `giveDollars` counts them. */
export async function dollarsOf(node: TokenNode, owner: string): Promise<bigint> {
  const call = { abi: tokenAbi, functionName: "balanceOf" } as const;
  const data = encodeFunctionData({ ...call, args: [owner as Hex] });
  return BigInt(await node.rpc<Hex>("eth_call", [{ to: node.token, data }, "latest"]));
}

/** What an owner of Test Dollars does once before it pays by Permit2. It needs gas. */
export async function approvePermit2(node: TokenNode, owner: string): Promise<void> {
  const data = encodeFunctionData({
    abi: tokenAbi,
    functionName: "approve",
    args: [PERMIT2, WITHOUT_LIMIT],
  });
  await node.rpc("anvil_impersonateAccount", [owner]);
  await send(node, { from: owner, to: node.token, data });
}

async function send(node: Rpc, transaction: object): Promise<void> {
  const hash = await node.rpc<string>("eth_sendTransaction", [transaction]);
  const { status } = await receiptOf(node.rpc, hash);
  if (status !== "0x1") throw new Error(`the transaction ${hash} of the local node has failed`);
}
