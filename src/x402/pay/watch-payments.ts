import { eq } from "drizzle-orm";
import pMap from "p-map";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { type Database, openDb, type Statement, violates } from "../../db/client.ts";
import { nextRevisionSql } from "../../db/revision.ts";
import type { Env } from "../../env.ts";
import { log } from "../../log.ts";
import { readNextAttempts } from "../attempts/read-next-attempts.ts";
import { buildSettlementStatements } from "../attempts/record-outcomes.ts";
import { FINALITY_BLOCKS, FINALITY_SECONDS, FINALITY_TIMEOUT_MS } from "../evm/finality.ts";
import type { AttemptOutcome } from "../model/messages.ts";
import { x402Attempt } from "../model/tables.ts";
import { findNetwork, openRpc } from "../networks/settlement-network.ts";
import { returnToBudget } from "./budgets.ts";
import type { SignedPayment } from "./reconcile-payment.ts";
import type { ChargeFinding } from "./reconcile-upto.ts";

/** Payments per network and run. Each needs one or two requests. */
const MAX_PAYMENTS_PER_NETWORK = 40;

/** An outbound payment whose outcome the chain may still change. */
interface WatchedPayment extends SignedPayment {
  apiKeyId: string;
  maxAmount: string | null;
  /** The budget that was debited; null: none. */
  budgetId: string | null;
  status: "Verified" | "Settled" | "Failed";
  revision: number;
  createdAt: number;
  updatedAt: number;
  /** Unix seconds at which its authorization expires. */
  watchedUntil: number;
  /** Hash of the transaction that settled it; null when none has. */
  transaction: string | null;
}

/**
 * Records what became of the payments that `POST /x402/pay` has signed: their sellers settle them,
 * so only the chain knows. A payment is watched until its settlement is final or its authorization
 * has long expired. A failing node leaves its own network's payments as they are.
 *
 * @param now - epoch milliseconds
 * @param deadline - epoch milliseconds, after which no further payment is looked at
 */
export async function watchPayments(
  env: Env,
  requestId: string,
  now: number,
  deadline: number,
): Promise<void> {
  const core = openDb(env, undefined, { writes: "idempotent", deadline });
  const networks = await core.all<{ caip2Id: string }>(
    `SELECT DISTINCT attempt.caip2_id AS caip2Id FROM x402_payment_attempt AS attempt
       JOIN x402_network AS network ON network.caip2_id = attempt.caip2_id
     WHERE watched_until IS NOT NULL AND network.is_enabled = 1`,
  );
  const watch = ({ caip2Id }: { caip2Id: string }) =>
    watchNetwork(env, core, caip2Id, now, deadline).catch((error: unknown) => {
      log("warn", "x402.payments_unwatched", { caip2Id, requestId, error: String(error) });
    });
  await pMap(networks, watch, { concurrency: MAX_CONCURRENT_FETCHES });
}

async function watchNetwork(
  env: Env,
  core: Database,
  caip2Id: string,
  now: number,
  deadline: number,
): Promise<void> {
  const network = await findNetwork(core, caip2Id);
  if (!network) return;
  const payments = await readNextAttempts<WatchedPayment>(
    core,
    WATCHED_COLUMNS,
    { sql: "caip2_id = ? AND watched_until IS NOT NULL", params: [caip2Id] },
    MAX_PAYMENTS_PER_NETWORK,
    now,
  );
  const [oldest] = payments;
  if (!oldest) return;
  const { openPaymentChain, reconcilePayment } = await import("./reconcile-payment.ts");
  const chain = await openPaymentChain(
    await openRpc(env, network, deadline),
    caip2Id,
    oldest.createdAt,
  );
  for (const payment of payments) {
    if (Date.now() > deadline) return;
    const finding = await reconcilePayment(
      chain,
      payment,
      now - payment.createdAt > FINALITY_TIMEOUT_MS,
    );
    const { number, timestamp } = chain.latestBlock;
    await recordFinding(core, payment, finding, { block: number, time: timestamp }, now);
  }
}

const WATCHED_COLUMNS = `attempt.id, api_key_id AS apiKeyId, claim, asset, amount,
  max_amount AS maxAmount, budget_id AS budgetId, pay_to AS payTo, payer, status, revision,
  created_at AS createdAt, updated_at AS updatedAt, watched_until AS watchedUntil,
  (SELECT tx_hash FROM x402_settlement WHERE attempt_id = attempt.id AND success = 1) AS "transaction"`;

/** Writes a finding that is news, and whether the payment is still watched. */
async function recordFinding(
  core: Database,
  payment: WatchedPayment,
  finding: ChargeFinding,
  latest: { block: number; time: number },
  now: number,
): Promise<void> {
  if (finding.state === "unclear") return;
  const isLongExpired = latest.time >= payment.watchedUntil + FINALITY_SECONDS;
  const outcome = toPaymentOutcome(payment, finding, isLongExpired);
  const isNews =
    outcome.status !== payment.status || outcome.transaction !== (payment.transaction ?? "");
  const isFinal =
    finding.state === "settled"
      ? latest.block - finding.block >= FINALITY_BLOCKS ||
        (!isNews && now - payment.updatedAt >= FINALITY_TIMEOUT_MS)
      : // Money returns: a second look tells a failure from one wrong answer of a node.
        isLongExpired && !isNews;
  if (!isNews && !isFinal) return;
  const statements = buildOutcomeStatements(core, payment, outcome, isNews, isFinal, now);
  const rest = isFinal ? computeRest(payment, finding) : 0n;
  try {
    if (payment.budgetId === null || rest === 0n) await core.batch(statements);
    else
      await returnToBudget(core, payment.budgetId, rest, now, async (credit) => {
        await core.batch([...statements, ...credit]);
      });
  } catch (error) {
    // Another run wrote first.
    if (!violates(error, "x402_payment_attempt.revision")) throw error;
  }
}

/**
 * What returns to the budget of an `upto` payment whose outcome no re-org changes any more. Nothing returns
 * of an authorization that was used without a charge that the chain proves.
 */
function computeRest({ maxAmount }: WatchedPayment, finding: ChargeFinding): bigint {
  if (maxAmount === null) return 0n;
  if (finding.state === "settled") return BigInt(maxAmount) - BigInt(finding.amount);
  return finding.state === "open" ? BigInt(maxAmount) : 0n;
}

interface PaymentOutcome extends Omit<AttemptOutcome, "success" | "payer"> {
  status: WatchedPayment["status"];
  amount: string;
}

const NO_ERROR = { errorReason: null, errorMessage: null };

function toPaymentOutcome(
  payment: WatchedPayment,
  finding: ChargeFinding,
  isLongExpired: boolean,
): PaymentOutcome {
  if (finding.state === "settled") {
    const { transaction, amount } = finding;
    return { status: "Settled", transaction, amount, ...NO_ERROR };
  }
  const unsettled = { transaction: "", amount: payment.maxAmount ?? payment.amount };
  if (finding.state === "failed") {
    const { reason, message } = finding;
    return { status: "Failed", ...unsettled, errorReason: reason, errorMessage: message };
  }
  if (!isLongExpired) return { status: "Verified", ...unsettled, ...NO_ERROR };
  return {
    status: "Failed",
    ...unsettled,
    errorReason: "payment_not_settled",
    errorMessage: "The seller did not settle the payment before its authorization expired",
  };
}

function buildOutcomeStatements(
  core: Database,
  { id, apiKeyId, payer, revision }: WatchedPayment,
  outcome: PaymentOutcome,
  isNews: boolean,
  isFinal: boolean,
  now: number,
): Statement[] {
  const { transaction, ...changes } = outcome;
  const update = core.orm
    .update(x402Attempt)
    .set({
      ...changes,
      ...(isNews && { updatedAt: now }),
      ...(isFinal && { watchedUntil: null }),
      revision: nextRevisionSql(x402Attempt.revision, revision),
    })
    .where(eq(x402Attempt.id, id))
    .toSQL();
  if (!isNews) return [update];
  const success = outcome.status === "Settled";
  const attempt = { attemptId: id, apiKeyId, amount: outcome.amount };
  return [update, ...buildSettlementStatements(attempt, { success, transaction, payer }, now)];
}
