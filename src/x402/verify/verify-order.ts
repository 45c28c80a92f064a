import { openDb } from "../../db/client.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { countOpenAttempts } from "../attempts/attempt-row.ts";
import { recordVerification } from "../attempts/record-attempts.ts";
import { isGasAvailable } from "../attempts/sponsored-gas.ts";
import { MAX_PENDING_TRANSACTIONS } from "../facilitator-wallet/nonces.ts";
import type { SettleOrder } from "../model/messages.ts";
import { pickSender } from "../networks/pick-sender.ts";
import { toRpcApiError } from "../networks/save-network.ts";
import { findSettlementNetwork } from "../networks/settlement-network.ts";
import { type JobVerdict, judgeSettlement } from "./judge-settlement.ts";

/**
 * Settlements that may be open per wallet when another payment is verified: what a wallet sends in eight blocks.
 * Load is refused here and never later, since a verified payment may have released its resource.
 */
const MAX_OPEN_ATTEMPTS = 8 * MAX_PENDING_TRANSACTIONS;
const RETRY_AFTER_SECONDS = 5;

/** The answer of POST /x402/verify. */
export interface Verification {
  isValid: boolean;
  payer: string | null;
  invalidReason: string | null;
  invalidMessage: string | null;
}

const NO_FAILURE = { invalidReason: null, invalidMessage: null };

/**
 * Verifies a payment without settling it, and records the order's attempt, an `InboundVerify`.
 *
 * @param now - epoch milliseconds
 * @throws NoSettlementNetworkError when the network cannot settle; ApiError 429 when too many settlements
 *   are open, and records nothing; ApiError 502 and 504 when its node fails
 */
export async function verifyOrder(
  c: AppContext,
  order: SettleOrder,
  now: number,
): Promise<Verification> {
  const { deadline } = c.var;
  const verdict = await verifyOnChain(c, order, now).catch((error: unknown) => {
    throw toRpcApiError(error);
  });
  const { isValid, payer } = verdict;
  const { invalidReason, invalidMessage } = verdict.isValid ? NO_FAILURE : verdict;
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline });
  const found = { payer, errorReason: invalidReason, errorMessage: invalidMessage };
  await recordVerification(core, order, found, now);
  return { isValid, payer, invalidReason, invalidMessage };
}

async function verifyOnChain(c: AppContext, order: SettleOrder, now: number): Promise<JobVerdict> {
  const { network } = order.requirements;
  const { deadline } = c.var;
  const core = openDb(c.env, undefined, { deadline });
  const [settlementNetwork, open] = await Promise.all([
    findSettlementNetwork(c.env, network, deadline),
    countOpenAttempts(core, network),
  ]);
  const { settler } = settlementNetwork;
  const wallets = settler.kind === "wallets" ? settler.wallets.length : 1;
  if (open >= wallets * MAX_OPEN_ATTEMPTS)
    throw new ApiError(
      "settlement_backlog",
      `${network} has ${open} settlements open. Verify the payment again later.`,
      { retryAfter: RETRY_AFTER_SECONDS },
    );
  const sender = await pickSender(core, settler, order);
  const verdict = await judgeSettlement(c.env, settlementNetwork, order, sender?.address ?? null, {
    now,
    deadline,
    signBefore: now,
  });
  if (!verdict.isValid) return verdict;
  const { payer, job } = verdict;
  const isAvailable =
    job.maxCost === undefined ||
    (await isGasAvailable(core, order.requirements, payer, job.maxCost, now));
  return isAvailable
    ? verdict
    : {
        isValid: false,
        payer,
        invalidReason: "permit2_allowance_required",
        invalidMessage: null,
      };
}
