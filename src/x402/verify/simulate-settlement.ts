import type { Abi, Hex } from "viem";
import { loadViem } from "../../packages.ts";
import { MULTICALL3, PERMIT2 } from "../evm/addresses.ts";
import type { Authorization } from "../evm/authorization.ts";
import {
  type ContractCall,
  encodeTryAggregate,
  type TokenDomain,
  toProxy,
} from "../evm/calldata.ts";
import { multicallAbi, permit2ProxyAbi, tokenAbi, toRevertReason } from "../evm/contracts.ts";
import { type Rpc, type RpcCall, RpcRefusal, readResult } from "../evm/rpc.ts";
import * as results from "../evm/rpc-results.ts";

const { decodeFunctionResult, encodeFunctionData, getAddress } = await loadViem();

export interface SettlementSimulation {
  asset: string;
  authorization: Authorization;
  /** What the settlement transfers. */
  charge: bigint;
  /** The settlement, preceded by the payer wallet's deployment if it does not exist yet. */
  calls: readonly ContractCall[];
  domain: TokenDomain | null;
  sender: string | null;
  /** What the node answered to `encodeSimulation` of the settlement; undefined when it was not asked. */
  response: unknown | RpcRefusal;
}

export interface SimulationFailure {
  reason: string;
  /** What the chain said. */
  message?: string;
}

/** The call that runs a settlement of a payer that exists, without sending it. */
export function encodeSimulation(call: ContractCall, sender: string | null): RpcCall {
  return { method: "eth_call", params: [{ ...(sender && { from: sender }), ...call }, "latest"] };
}

/**
 * Runs the settlement without sending it.
 *
 * @returns why it fails, null when it does not
 * @throws RpcUnavailableError
 */
export async function simulateSettlement(
  rpc: Rpc,
  simulation: SettlementSimulation,
): Promise<SimulationFailure | null> {
  const { calls, sender } = simulation;
  try {
    if (calls.length > 1) {
      const [deployment, transfer] = await callAggregate(rpc, calls);
      if (!deployment?.success)
        return {
          reason: "smart_wallet_deployment_failed",
          message: toRevertReason(deployment?.returnData ?? null, "The factory's call reverts"),
        };
      return transfer?.success ? null : await diagnoseFailure(rpc, simulation, null);
    }
    const [call] = calls;
    if (!call) throw new Error("a settlement is a call");
    const answer =
      simulation.response ?? (await rpc.callBatch([encodeSimulation(call, sender)]))[0];
    if (answer instanceof RpcRefusal) throw answer;
    readResult(results.bytes, answer);
    return null;
  } catch (error) {
    if (!(error instanceof RpcRefusal && error.isRevert)) throw error;
    return diagnoseFailure(rpc, simulation, toRevertReason(error.data, error.message));
  }
}

/** Looks for a cause that the payer can fix; returns the first found. */
async function diagnoseFailure(
  rpc: Rpc,
  simulation: SettlementSimulation,
  message: string | null,
): Promise<SimulationFailure> {
  const reason = await findFailureReason(rpc, simulation).catch((error: unknown) => {
    // Without Multicall3 on the chain there is nothing more to say.
    if (error instanceof RpcRefusal) return null;
    throw error;
  });
  const unknown =
    simulation.authorization.kind === "eip3009"
      ? "invalid_exact_evm_transaction_simulation_failed"
      : "permit2_simulation_failed";
  return { reason: reason ?? unknown, ...(message !== null && { message }) };
}

async function findFailureReason(
  rpc: Rpc,
  simulation: SettlementSimulation,
): Promise<string | null> {
  const { asset, authorization, charge, domain } = simulation;
  const owner = getAddress(authorization.from);
  const encodeRead = (functionName: string, args: unknown[] = []): ContractCall => ({
    to: asset,
    data: encodeFunctionData({ abi: tokenAbi as Abi, functionName, args }),
  });

  if (authorization.kind === "permit2") {
    const proxy = {
      to: toProxy(authorization),
      data: encodeFunctionData({ abi: permit2ProxyAbi, functionName: "PERMIT2" }),
    };
    const [permit2, balance, allowance] = await callAggregate(rpc, [
      proxy,
      encodeRead("balanceOf", [owner]),
      encodeRead("allowance", [owner, PERMIT2]),
    ]);
    if (decodeResult(permit2, "PERMIT2", permit2ProxyAbi) === null)
      return "permit2_proxy_not_deployed";
    if (isBelow(decodeResult(balance, "balanceOf"), charge)) return "permit2_insufficient_balance";
    if (isBelow(decodeResult(allowance, "allowance"), charge)) return "permit2_allowance_required";
    return null;
  }

  const [balance, name, version, state] = await callAggregate(rpc, [
    encodeRead("balanceOf", [owner]),
    encodeRead("name"),
    encodeRead("version"),
    encodeRead("authorizationState", [owner, authorization.nonce]),
  ]);
  const used = decodeResult(state, "authorizationState");
  if (used === null) return "invalid_exact_evm_eip3009_not_supported";
  if (used === true) return "invalid_exact_evm_nonce_already_used";
  const isMismatch = (value: unknown, expected?: string) => value !== null && value !== expected;
  if (isMismatch(decodeResult(name, "name"), domain?.name))
    return "invalid_exact_evm_token_name_mismatch";
  if (isMismatch(decodeResult(version, "version"), domain?.version))
    return "invalid_exact_evm_token_version_mismatch";
  if (isBelow(decodeResult(balance, "balanceOf"), charge))
    return "invalid_exact_evm_insufficient_balance";
  return null;
}

interface AggregateResult {
  success: boolean;
  returnData: Hex;
}

async function callAggregate(
  rpc: Rpc,
  calls: readonly ContractCall[],
): Promise<readonly AggregateResult[]> {
  const data = encodeTryAggregate(false, calls);
  const answer = await rpc.call(results.bytes, "eth_call", { to: MULTICALL3, data }, "latest");
  try {
    return decodeFunctionResult({ abi: multicallAbi, functionName: "tryAggregate", data: answer });
  } catch {
    // There is no contract at the address, or another one.
    throw new RpcRefusal(3, "there is no Multicall3 on this chain", null);
  }
}

/** What a call returned; null when it reverted or returned something else. */
function decodeResult(
  result: AggregateResult | undefined,
  functionName: string,
  abi: Abi = tokenAbi,
): unknown {
  if (!result?.success) return null;
  try {
    return decodeFunctionResult({ abi, functionName, data: result.returnData });
  } catch {
    return null;
  }
}

function isBelow(value: unknown, needed: bigint): boolean {
  return typeof value === "bigint" && value < needed;
}
