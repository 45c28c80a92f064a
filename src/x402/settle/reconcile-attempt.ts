import { openDb } from "../../db/client.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { findAttempt, type StoredAttempt } from "../attempts/list-attempts.ts";
import { recordOutcome } from "../attempts/record-outcomes.ts";
import { type AttemptOrder, getPaymentStub, type JobStatus } from "../model/messages.ts";
import { toRpcApiError } from "../networks/save-network.ts";
import { readChainStatus } from "./remote-settlement.ts";
import type { ReconcileRequest } from "./schemas.ts";

/**
 * Asks the chain for the outcome of a settlement, and records the outcome. The chain alone decides.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 404; 409 when the attempt has an outcome, or the chain shows none or another one; 502, 504
 */
export async function reconcileAttempt(
  c: AppContext,
  { attemptId, expected, txHash }: ReconcileRequest,
  now: number,
) {
  const { deadline } = c.var;
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline });
  const attempt = await requireOpenAttempt(c, attemptId);
  const look = () =>
    readChainStatus(c.env, attempt, deadline).catch((error: unknown) => {
      throw toRpcApiError(error);
    });
  const first = await look();
  // A second look tells a failure from one wrong answer of a node.
  const status = first.state === "failed" ? await look() : first;
  requireExpected(status, expected, txHash);
  // The object of the payment is the only one to write its outcomes, as long as it remembers the payment.
  const isRemembered = await getPaymentStub(c.env, attempt.claim).reconcile(attemptId);
  const { record } = await findAttempt(c, attemptId);
  if (record.status !== "Verified") return record;
  if (isRemembered)
    throw new ApiError(409, "attemptId: the settlement is still being decided. Try again later.");
  const { state, transaction, reason: errorReason, message: errorMessage } = status;
  const success = state === "settled";
  const outcome = { success, transaction, payer: attempt.payer, errorReason, errorMessage };
  await recordOutcome(core, toOrder(c, attempt), outcome, attempt.revision, now);
  await wakeDispatcher(c.env, c.var.requestId);
  return (await findAttempt(c, attemptId)).record;
}

type OpenAttempt = StoredAttempt & { claim: string; payer: string };

/** @throws ApiError 404, 409 */
async function requireOpenAttempt(c: AppContext, id: string): Promise<OpenAttempt> {
  const {
    stored,
    record: { direction, status },
  } = await findAttempt(c, id);
  if (
    direction !== "InboundSettle" ||
    status !== "Verified" ||
    !stored ||
    stored.claim === null ||
    stored.payer === null
  )
    throw new ApiError(
      409,
      `attemptId: the attempt is ${direction} and ${status}, so nothing is open`,
    );
  return { ...stored, claim: stored.claim, payer: stored.payer };
}

/** @throws ApiError 409 */
function requireExpected(
  { state, transaction }: JobStatus,
  expected: ReconcileRequest["expected"],
  txHash: string | undefined,
): void {
  if (state === "pending")
    throw new ApiError(
      409,
      "attemptId: the chain shows no payment by the authorization, which can still be used. Try again later.",
    );
  const found = state === "settled" ? "Settled" : "Failed";
  if (expected !== undefined && expected !== found)
    throw new ApiError(409, `expected: the chain shows the outcome ${found}`);
  if (txHash !== undefined && txHash.toLowerCase() !== transaction.toLowerCase())
    throw new ApiError(
      409,
      `txHash: the chain shows the payment in ${transaction || "no transaction"}`,
    );
}

/** The order of an attempt that its object has forgotten. */
function toOrder({ var: { requestId, caller } }: AppContext, attempt: OpenAttempt): AttemptOrder {
  const { caip2Id: network, asset, amount, maxAmount, payTo } = attempt;
  return {
    requestId,
    attemptId: attempt.id,
    // The credit that a failure refunds is that of the attempt's key.
    caller: { ...caller, id: attempt.apiKeyId ?? "", isUsageLimited: true },
    paymentSourceId: attempt.supportedPaymentSourceId,
    registryRequestId: attempt.registryRequestId,
    resource: attempt.resource,
    payloadHash: attempt.paymentPayloadHash,
    claim: attempt.claim,
    paymentIdentifier: attempt.paymentIdentifier,
    requirements: { network, asset, amount, payTo },
    ...(maxAmount !== null && { maxAmount }),
  };
}
