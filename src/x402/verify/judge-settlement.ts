import type { Env } from "../../env.ts";
import { RpcRefusal } from "../evm/rpc.ts";
import type { SettleOrder } from "../model/messages.ts";
import { verifyRemotely } from "../networks/remote-facilitator.ts";
import type { SettlementNetwork } from "../networks/settlement-network.ts";
import type { JobVerdict } from "./prepare-job.ts";

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
 * @throws RpcUnavailable; RemoteFacilitatorError when the other facilitator gives no answer
 */
export async function judgeSettlement(
  env: Env,
  network: SettlementNetwork,
  order: Pick<SettleOrder, "attemptId" | "payload" | "requirements" | "maxAmount">,
  sender: string | null,
  { now, deadline, signBefore }: Times,
): Promise<JobVerdict> {
  const { prepareJob } = await import("./prepare-job.ts");
  const verdict = await prepareJob(network, { ...order, sender }, now, signBefore);
  if (!verdict.isValid || sender !== null || network.settler.kind !== "remote") return verdict;
  const { payer, job } = verdict;
  const { encodeAuthorizationStateCall, isAuthorizationState } = await import(
    "../facilitator-wallet/reconcile-authorization.ts"
  );
  const [state] = await network.rpc.callBatch([encodeAuthorizationStateCall(job)]);
  if (state instanceof RpcRefusal && !state.isRevert) throw state;
  if (!isAuthorizationState(state))
    return { isValid: false, payer, invalidReason: "invalid_exact_evm_eip3009_not_supported" };
  const answer = await verifyRemotely(env, network.settler.facilitator, order, deadline);
  return answer.isValid ? verdict : { ...answer, payer };
}
