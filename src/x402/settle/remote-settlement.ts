/**
 * Settles payments through another facilitator. What the facilitator answers decides nothing: an
 * authorization is used at most once, and only the chain tells whether and by whom.
 */
import { openDb } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { log } from "../../log.ts";
import {
  EXPIRED_REASONS,
  EXPIRY_MARGIN_SECONDS,
  FINALITY_BLOCKS,
  FINALITY_SECONDS,
  FINALITY_TIMEOUT_MS,
} from "../evm/finality.ts";
import { RpcRefusal, RpcUnavailableError } from "../evm/rpc.ts";
import type { SettlementFinding } from "../facilitator-wallet/reconcile-authorization.ts";
import type { JobStatus, RemoteSettlement, SettleOrder } from "../model/messages.ts";
import { RemoteFacilitatorError, settleWithRemote } from "../networks/remote-facilitator.ts";
import { findNetwork, openRemoteFacilitator, openRpc } from "../networks/settlement-network.ts";
import type { SignedPayment } from "../pay/reconcile-payment.ts";
import type { Payment, PaymentAttempt } from "./payment-state.ts";

const POLL_INTERVAL_MS = 500;
const MAX_POLL_INTERVAL_MS = 3_000;
/** A facilitator that has less time than this gets no payment. */
const MIN_SEND_TIME_MS = 1_000;
const MAX_REMEMBERED_CLAIMS = 10_000;

/** The request for which a payment is settled. */
interface RemoteRun {
  /** Null: the alarm, which has no payload to send. */
  order: SettleOrder | null;
  /** Epoch milliseconds. */
  deadline: number;
}

/** What facilitators said of attempts: for pending answers alone, so losing it does no harm. */
const claims = new Map<string, { transaction: string; reason: string | null }>();

function rememberClaim(attemptId: string, transaction: string, reason: string | null): void {
  if (claims.size >= MAX_REMEMBERED_CLAIMS) claims.clear();
  claims.set(attemptId, { transaction, reason });
}

/** A settlement that the chain has not decided, with what the facilitator said of it. */
export function readSentStatus(attemptId: string): JobStatus {
  const { transaction = "", reason = null } = claims.get(attemptId) ?? {};
  const message = reason && `The facilitator has not settled the payment: ${reason}.`;
  return { state: "pending", transaction, reason: null, message, isFinal: false };
}

/**
 * Brings a payment to its facilitator unless the chain has decided it, and then asks the chain until the
 * run's deadline. The alarm, which has no payload to send, asks the chain once.
 */
export async function settleRemotely(
  env: Env,
  payment: Payment,
  remote: RemoteSettlement,
  run: RemoteRun,
): Promise<JobStatus> {
  const { attemptId } = payment.order;
  let status = await readOrWait(env, payment, remote, run.deadline);
  if (!run.order || status.state !== "pending") return status;
  if (status.transaction === "") await sendToFacilitator(env, payment, remote, run);
  for (let pause = POLL_INTERVAL_MS; ; pause = Math.min(pause * 1.5, MAX_POLL_INTERVAL_MS)) {
    status = await readOrWait(env, payment, remote, run.deadline);
    const left = run.deadline - Date.now();
    if (status.state !== "pending" || left <= 0) break;
    await scheduler.wait(Math.min(pause, left));
  }
  if (status.state !== "pending") claims.delete(attemptId);
  return status;
}

/** A network that has another facilitator by now gets none of its payments. */
async function sendToFacilitator(
  env: Env,
  { order: { attemptId, requirements } }: Payment,
  remote: RemoteSettlement,
  { order, deadline }: RemoteRun,
): Promise<void> {
  if (!order || deadline - Date.now() < MIN_SEND_TIME_MS) return;
  try {
    const network = await findNetwork(openDb(env, undefined, { deadline }), requirements.network);
    const facilitator = network && (await openRemoteFacilitator(env, network));
    if (!network?.isEnabled || facilitator?.url !== remote.url) return;
    const claim = await settleWithRemote(env, facilitator, order, deadline);
    rememberClaim(attemptId, claim.transaction, claim.reason);
    if (claim.reason !== null)
      log("warn", "x402.remote_refused", { attempt: attemptId, reason: claim.reason });
  } catch (error) {
    // The facilitator may have got the payment.
    log("warn", "x402.remote_failed", { attempt: attemptId, error: String(error) });
    if (!(error instanceof RemoteFacilitatorError)) return;
    rememberClaim(attemptId, "", error.timedOut ? "it did not answer in time" : "it failed");
  }
}

/** A node that fails decides nothing. */
async function readOrWait(
  env: Env,
  payment: Payment,
  remote: RemoteSettlement,
  deadline: number,
): Promise<JobStatus> {
  try {
    return await readRemoteStatus(env, payment, remote, deadline);
  } catch (error) {
    const { attemptId } = payment.order;
    log("warn", "x402.job_undecided", { attempt: attemptId, error: String(error) });
    return readSentStatus(attemptId);
  }
}

/**
 * What the chain says of a settlement.
 *
 * @param deadline - epoch milliseconds
 * @throws RpcUnavailableError
 */
export function readRemoteStatus(
  env: Env,
  { order: { attemptId: id, claim, requirements }, payer }: PaymentAttempt,
  { since, validBefore }: RemoteSettlement,
  deadline: number,
): Promise<JobStatus> {
  const { network: caip2Id, asset, payTo, amount } = requirements;
  const payment = { id, claim, caip2Id, asset, payTo, amount, payer: payer ?? "" };
  const times = { createdAt: since, validBefore: Number(validBefore) };
  return readChainStatus(env, { ...payment, ...times }, deadline);
}

/** A payment by an authorization, with what tells whether the authorization is over. */
export interface OpenSettlement extends SignedPayment {
  caip2Id: string;
  /** Epoch milliseconds before which nobody had the authorization. */
  createdAt: number;
  /** Unix seconds; null: unknown, so the authorization is never over. */
  validBefore: number | null;
}

/**
 * What the chain says of a payment, whoever brings it there.
 *
 * @param deadline - epoch milliseconds
 * @throws RpcUnavailableError
 */
export async function readChainStatus(
  env: Env,
  settlement: OpenSettlement,
  deadline: number,
): Promise<JobStatus> {
  const { caip2Id, createdAt: since } = settlement;
  const { openPaymentChain, readAuthorizationUse, reconcilePayment } = await import(
    "../pay/reconcile-payment.ts"
  );
  const network = await findNetwork(openDb(env, undefined, { deadline }), caip2Id);
  if (!network) throw new RpcUnavailableError(`there is no network ${caip2Id}`);
  const rpc = await openRpc(env, network, deadline);
  const { isUsed, latestBlock } = await readAuthorizationUse(rpc, caip2Id, settlement);
  // Most answers are this one, so it must cost few calls.
  if (!isUsed && !isOver(settlement, latestBlock)) return readSentStatus(settlement.id);
  const chain = await openPaymentChain(rpc, caip2Id, since).catch((error: unknown): never => {
    if (error instanceof RpcRefusal) throw new RpcUnavailableError(error.message);
    throw error;
  });
  const isOld = Date.now() - since > FINALITY_TIMEOUT_MS;
  const finding = await reconcilePayment(chain, settlement, isOld);
  return toJobStatus(finding, chain.latestBlock, settlement);
}

function isOver(
  { validBefore }: Pick<OpenSettlement, "validBefore">,
  { timestamp }: { timestamp: number },
): boolean {
  return validBefore !== null && timestamp >= validBefore + EXPIRY_MARGIN_SECONDS;
}

function toJobStatus(
  finding: SettlementFinding,
  latest: { number: number; timestamp: number },
  { id: attemptId, claim, validBefore }: OpenSettlement,
): JobStatus {
  const hasStopped = Date.now() / 1000 - latest.timestamp > FINALITY_SECONDS;
  const isDeep = (block: number) => latest.number - block >= FINALITY_BLOCKS || hasStopped;
  switch (finding.state) {
    case "unclear":
      return readSentStatus(attemptId);
    case "settled": {
      const { transaction, block } = finding;
      const isFinal = isDeep(block);
      return { state: "settled", transaction, reason: null, message: null, isFinal };
    }
    case "failed": {
      const { reason, message, inclusion } = finding;
      const isFinal = isDeep(inclusion.block);
      return { state: "failed", transaction: "", reason, message, isFinal };
    }
    case "open": {
      if (validBefore === null || !isOver({ validBefore }, latest))
        return readSentStatus(attemptId);
      return {
        state: "failed",
        transaction: "",
        reason: EXPIRED_REASONS[claim.startsWith("permit2:") ? "permit2" : "eip3009"],
        message: "The authorization expired before the payment was settled",
        isFinal: latest.timestamp >= validBefore + FINALITY_SECONDS,
      };
    }
  }
}
