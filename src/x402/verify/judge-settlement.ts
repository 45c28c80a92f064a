import type { Env } from "../../env.ts";
import { RpcRefusal } from "../evm/rpc.ts";
import type { SettlementJob, SettleOrder } from "../model/messages.ts";
import { verifyRemotely } from "../networks/remote-facilitator.ts";
import type { SettlementNetwork } from "../networks/settlement-network.ts";
import type { InvalidVerdict } from "./verify-payment.ts";

/** A verdict, with the wallet's job when the payment can be settled. */
export type JobVerdict = { isValid: true; payer: string; job: SettlementJob } | InvalidVerdict;

type JudgedOrder = Pick<SettleOrder, "attemptId" | "payload" | "requirements" | "maxAmount">;

/** Times in epoch milliseconds. */
interface Times {
  now: number;
  deadline: number;
  /** See `SettlementJob`. */
  signBefore: number;
}

/**
 * Verifies a payment on the chain. Where another facilitator settles, it verifies the payment as well. The
 * token must then show used authorizations.
 *
 * @param sender - the address that would send the settlement; null: the other facilitator's
 * @throws RpcUnavailableError; RemoteFacilitatorError when the other facilitator gives no answer
 */
export async function judgeSettlement(
  env: Env,
  network: SettlementNetwork,
  order: JudgedOrder,
  sender: string | null,
  { now, deadline, signBefore }: Times,
): Promise<JobVerdict> {
  const verdict = await prepareJob(network, order, sender, now, signBefore);
  if (!verdict.isValid || sender !== null || network.settler.kind !== "remote") return verdict;
  const { payer, job } = verdict;
  const { encodeAuthorizationStateCall, isAuthorizationState } = await import(
    "../facilitator-wallet/reconcile-authorization.ts"
  );
  const [state] = await network.rpc.callBatch([encodeAuthorizationStateCall(job)]);
  if (state instanceof RpcRefusal && !state.isRevert) throw state;
  if (!isAuthorizationState(state))
    return {
      isValid: false,
      payer,
      invalidReason: "invalid_exact_evm_eip3009_not_supported",
      invalidMessage: null,
    };
  const answer = await verifyRemotely(env, network.settler.facilitator, order, deadline);
  return answer.isValid ? verdict : { ...answer, payer };
}

/** @throws RpcUnavailableError, also when the node is on another chain */
async function prepareJob(
  { network, rpc }: SettlementNetwork,
  { attemptId, payload, requirements, maxAmount }: JudgedOrder,
  sender: string | null,
  now: number,
  signBefore: number,
): Promise<JobVerdict> {
  const { isUpto, verifyPayment } = await import("./verify-payment.ts");
  const verdict = await verifyPayment(
    rpc,
    {
      payload,
      requirements,
      maxAmount,
      allowedFactories: JSON.parse(network.eip6492Factories) as string[],
      sender,
      isSponsoring: network.maxSponsoredGweiPerDay !== null,
    },
    now,
  );
  if (!verdict.isValid) return verdict;

  const { authorization, call, payer, maxCost, maxL1Fee = 0n } = verdict;
  const job: SettlementJob = {
    id: attemptId,
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
