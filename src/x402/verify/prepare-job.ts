import type { SettlementNetwork } from "../networks/settlement-network.ts";
import type { Job, SettleOrder } from "../rpc-types.ts";
import { type Verdict, verifyPayment } from "./verify.ts";

/** A verdict, with the wallet's job when the payment can be settled. */
export type PreparedJob =
  | { isValid: true; payer: string; job: Job }
  | Extract<Verdict, { isValid: false }>;

/**
 * Verifies a payment on the chain it names.
 *
 * @param now - epoch milliseconds
 * @param signBefore - epoch milliseconds; see `Job`
 * @throws RpcUnavailable, also when the node is on another chain
 */
export async function prepareJob(
  settlementNetwork: SettlementNetwork,
  order: Pick<SettleOrder, "attemptId" | "payload" | "requirements">,
  now: number,
  signBefore: number,
): Promise<PreparedJob> {
  const { network, facilitator, rpc } = settlementNetwork;
  const { payload, requirements } = order;
  const factories = JSON.parse(network.eip6492Factories) as string[];
  const sender = facilitator.address;
  const verdict = await verifyPayment(rpc, { payload, requirements, factories, sender }, now);
  if (!verdict.isValid) return verdict;

  const { authorization, call, payer } = verdict;
  const job: Job = {
    id: order.attemptId,
    ...call,
    kind: authorization.kind,
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
