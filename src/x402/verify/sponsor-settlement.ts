/** Settles for payers who have not approved Permit2: their permit does it in the same transaction. */
import type { Permit2Authorization } from "../evm/authorization.ts";
import { type ContractCall, encodeSettlement } from "../evm/calldata.ts";
import { findX402Reason, toRevertReason } from "../evm/contracts.ts";
import { readPermit } from "../evm/eip2612.ts";
import { encodeL1FeeCall, readL1Fee } from "../evm/l1-fee.ts";
import { type Rpc, RpcRefusal, RpcUnavailableError, readResult } from "../evm/rpc.ts";
import * as results from "../evm/rpc-results.ts";
import { toFees } from "../evm/transactions.ts";
import type { PaymentPayload } from "../model/schemas.ts";
import type { SimulationFailure } from "./simulate-settlement.ts";

/** A settlement with a permit, and the most that its transactions may cost, in wei. */
export interface SponsoredSettlement {
  call: ContractCall;
  maxCost: bigint;
  /** The part of `maxCost` for what a rollup charges for the chain below. */
  maxL1Fee: bigint;
}

/** Leaves room for fees that rise until a block has the transaction. */
const FEE_MARGIN = 2n;

/**
 * Runs the settlement with the payer's permit, without sending it.
 *
 * @param failure - why the payment cannot settle otherwise
 * @param now - epoch milliseconds
 * @throws RpcUnavailableError, RpcRefusal
 */
export async function simulateSponsoredSettlement(
  rpc: Rpc,
  payment: { payload: PaymentPayload; authorization: Permit2Authorization; charge: bigint },
  { sender, chainId }: { sender: string; chainId: number },
  failure: SimulationFailure,
  now: number,
): Promise<SponsoredSettlement | SimulationFailure> {
  const { payload, authorization, charge } = payment;
  const permit = readPermit(payload, authorization, now);
  if (permit === null) return failure;
  if ("reason" in permit) return permit;
  const call = encodeSettlement(authorization.token, authorization, charge, permit);
  const [estimate, block, gasPrice, tip, l1Answer] = await rpc.callBatch([
    { method: "eth_estimateGas", params: [{ from: sender, ...call }] },
    { method: "eth_getBlockByNumber", params: ["latest", false] },
    { method: "eth_gasPrice", params: [] },
    { method: "eth_maxPriorityFeePerGas", params: [] },
    encodeL1FeeCall(chainId, call),
  ]);
  if (estimate instanceof RpcRefusal) {
    if (!estimate.isRevert) throw estimate;
    const message = toRevertReason(estimate.data, estimate.message);
    return { reason: findX402Reason("permit2", message) ?? failure.reason, message };
  }
  const gas = (readResult(results.quantity, estimate) * 12n) / 10n;
  const { baseFeePerGas } = readResult(results.block, block);
  const { maxFee } = toFees(baseFeePerGas ?? null, tip, gasPrice);
  const l1Fee = readL1Fee(l1Answer);
  if (l1Fee === null) throw new RpcUnavailableError("the RPC node does not say the fee of its L1");
  const maxL1Fee = l1Fee * FEE_MARGIN;
  return { call, maxCost: gas * maxFee * FEE_MARGIN + maxL1Fee, maxL1Fee };
}
