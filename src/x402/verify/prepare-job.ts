import type { SettlementJob, SettleOrder } from "../model/messages.ts";
import type { SettlementNetwork } from "../networks/settlement-network.ts";
import { isUpto, type PaymentVerdict, verifyPayment } from "./verify-payment.ts";

/** A verdict, with the wallet's job when the payment can be settled. */
export type JobVerdict =
  | { isValid: true; payer: string; job: SettlementJob }
  | Extract<PaymentVerdict, { isValid: false }>;

/**
 * Verifies a payment on the chain it names.
 *
 * @param order - the payment, and the address that would send it; null: another facilitator's
 * @param now - epoch milliseconds
 * @param signBefore - epoch milliseconds; see `Job`
 * @throws RpcUnavailable, also when the node is on another chain
 */
export async function prepareJob(
  { network, rpc }: Pick<SettlementNetwork, "network" | "rpc">,
  order: Pick<SettleOrder, "attemptId" | "payload" | "requirements" | "maxAmount"> & {
    sender: string | null;
  },
  now: number,
  signBefore: number,
): Promise<JobVerdict> {
  const { payload, requirements, maxAmount, sender } = order;
  const factories = JSON.parse(network.eip6492Factories) as string[];
  const verdict = await verifyPayment(
    rpc,
    {
      payload,
      requirements,
      maxAmount,
      allowedFactories: factories,
      sender,
      isSponsoring: network.maxSponsoredGweiPerDay !== null,
    },
    now,
  );
  if (!verdict.isValid) return verdict;

  const { authorization, call, payer, maxCost, maxL1Fee = 0n } = verdict;
  const job: SettlementJob = {
    id: order.attemptId,
    ...call,
    ...(maxCost !== undefined && { maxCost: String(maxCost) }),
    ...(maxL1Fee > 0n && { maxL1Fee: String(maxL1Fee) }),
    kind: authorization.kind,
    ...(isUpto(authorization) && { scheme: "upto" as const }),
    asset: requirements.asset.toLowerCase(),
    from: authorization.from.toLowerCase(),
    payTo: requirements.payTo.toLowerCase(),
    amount: requirements.amount,
    nonce: String(authorization.nonce),
    validBefore: String(authorization.validBefore),
    signBefore,
  };
  return { isValid: true, payer, job };
}
