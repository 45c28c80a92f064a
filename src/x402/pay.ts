import { and, eq } from "drizzle-orm";
import { type Database, db, type Statement, statement, violates } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { open } from "../db/sealed.ts";
import { commitAudited } from "../http/audit.ts";
import { permitNetwork } from "../http/authenticate.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { idempotently } from "../http/idempotency.ts";
import { log } from "../log.ts";
import { balanceOf } from "./low-balance.ts";
import { findNetwork, findWallet, privateKeyPlace, rpcOf, type WalletRow } from "./networks.ts";
import { payloadHash } from "./payload-hash.ts";
import { evmAddress, type PaymentRequirements, tokenAddress, tokenAmount } from "./schemas.ts";
import type { TokenDomain } from "./settlement-call.ts";
import { x402Attempt, x402Budget } from "./tables.ts";

export interface PayBody {
  evmWalletId: string;
  paymentRequired: {
    x402Version: number;
    resource: { url: string } & Record<string, unknown>;
    accepts: PaymentRequirements[];
    extensions?: Record<string, unknown> | null | undefined;
  };
  preferredNetwork?: string | undefined;
  preferredAsset?: string | undefined;
  paymentIdentifier?: string | undefined;
}

type BudgetRow = typeof x402Budget.$inferSelect;
const IDENTIFIER = "payment-identifier";

/**
 * Signs a payment out of a managed wallet, within the caller's budget. The signature leaves only
 * after budget and attempt are written, in one batch. The resource itself is never fetched.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 403, 404, 409
 */
export async function pay(c: AppContext, body: PayBody, now: number) {
  const { paymentIdentifier = null } = body;
  const isKeyed = c.req.header("idempotency-key") !== undefined;
  if (!isKeyed && paymentIdentifier === null)
    throw new ApiError(400, "Idempotency-Key: is required, or a paymentIdentifier");
  if (paymentIdentifier !== null && !body.paymentRequired.extensions?.[IDENTIFIER])
    throw new ApiError(400, "paymentIdentifier: the resource does not take one");

  const core = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return idempotently(c, core, now, async (remember) => {
    const { wallet, budget, requirements, domain } = await authorise(c, core, body);
    const { signPayment } = await import("./sign-payment.ts");
    const key = await open(c.env, privateKeyPlace(wallet.id), wallet.privateKey);
    const paymentPayload = {
      x402Version: 2,
      resource: body.paymentRequired.resource,
      accepted: requirements,
      payload: await signPayment(key, requirements, domain, now),
      ...extensionsOf(body),
    };
    const hash = await payloadHash(paymentPayload);
    const attemptId = newId(now);
    const answer = {
      attemptId,
      payer: wallet.address,
      caip2Network: wallet.caip2Id,
      asset: requirements.asset.toLowerCase(),
      amount: requirements.amount,
      payTo: requirements.payTo.toLowerCase(),
      xPaymentHeader: Buffer.from(JSON.stringify(paymentPayload)).toString("base64"),
      paymentPayload,
      paymentPayloadHash: hash,
      paymentIdentifier,
    };
    const { caip2Network, asset, amount, payTo, payer } = answer;
    const attempt: typeof x402Attempt.$inferInsert = {
      id: attemptId,
      direction: "OutboundPayment",
      status: "Verified",
      apiKeyId: c.var.caller.id,
      evmWalletId: wallet.id,
      caip2Id: caip2Network,
      asset,
      amount,
      payTo,
      payer,
      resource: body.paymentRequired.resource.url,
      paymentPayloadHash: hash,
      paymentIdentifier,
      charged: false,
      version: 0,
      createdAt: now,
      updatedAt: now,
    };
    const detail = { evmWalletId: wallet.id, caip2Network, asset, amount, payTo };
    try {
      await commitAudited(c, core, { action: "x402.pay", target: attemptId, detail, now }, [
        ...(await remember(answer)),
        core.orm.insert(x402Attempt).values(attempt).toSQL(),
        ...debit(budget, amount, now),
      ]);
    } catch (error) {
      throw conflictOf(error);
    }
    return answer;
  });
}

function conflictOf(error: unknown): unknown {
  if (violates(error, "x402_budget.version"))
    return new ApiError(409, "The budget was changed meanwhile; send the request again");
  if (violates(error, "x402_payment_attempt.payment_identifier"))
    return new ApiError(409, "paymentIdentifier: a payment was signed under it already");
  return error;
}

/** Finds what to pay with and what for, and whether the caller may. */
async function authorise(c: AppContext, core: Database, body: PayBody) {
  const { caller } = c.var;
  const wallet = await findWallet(core, body.evmWalletId);
  const notFound = new ApiError(404, "evmWalletId: there is no such wallet");
  if (!wallet) throw notFound;
  const isOwner = caller.permission === "Admin" || wallet.createdById === caller.id;
  const budgets = await budgetsOf(core, caller.id, wallet.id);
  if (!isOwner && budgets.length === 0) throw notFound;
  permitNetwork(caller, wallet.caip2Id);
  if (wallet.type !== "Purchasing")
    throw new ApiError(400, "evmWalletId: must be a wallet of the type Purchasing");
  const network = await findNetwork(core, wallet.caip2Id);
  if (!network?.isEnabled) throw new ApiError(400, "evmWalletId: its network is not enabled");

  const requirements = choose(body, wallet.caip2Id);
  const asset = requirements.asset.toLowerCase();
  const budget = budgets.find((one) => one.asset === asset) ?? null;
  if (!budget && !isOwner) throw notFound;
  const amount = BigInt(requirements.amount);
  if (budget && (!budget.isEnabled || BigInt(budget.remainingAmount) < amount))
    throw new ApiError(402, "The budget does not cover the payment");
  await refuseUncovered(c, wallet, asset, amount);
  return { wallet, budget, requirements, domain: domainOf(requirements) };
}

/** The first of the accepted terms that the wallet can meet. */
function choose(body: PayBody, caip2Id: string): PaymentRequirements {
  if (body.preferredNetwork !== undefined && body.preferredNetwork !== caip2Id)
    throw new ApiError(400, `preferredNetwork: the wallet is on ${caip2Id}`);
  const found = body.paymentRequired.accepts.find(
    ({ scheme, network, asset, amount, payTo }) =>
      scheme === "exact" &&
      network === caip2Id &&
      tokenAmount().safeParse(amount).success &&
      tokenAddress.safeParse(asset).success &&
      evmAddress.safeParse(payTo).success &&
      (body.preferredAsset === undefined || asset.toLowerCase() === body.preferredAsset),
  );
  if (!found)
    throw new ApiError(
      400,
      `paymentRequired.accepts: has nothing that a wallet on ${caip2Id} can pay by the scheme exact`,
    );
  return found;
}

function domainOf({ extra }: PaymentRequirements): TokenDomain | null {
  if (extra?.assetTransferMethod === "permit2") return null;
  const { name, version } = extra ?? {};
  if (typeof name !== "string" || typeof version !== "string")
    throw new ApiError(400, "paymentRequired.accepts: extra.name and extra.version are missing");
  return { name, version };
}

function extensionsOf({ paymentRequired, paymentIdentifier }: PayBody) {
  const { extensions } = paymentRequired;
  if (!extensions) return {};
  const advertised = extensions[IDENTIFIER] as { info?: object } | undefined;
  if (paymentIdentifier === undefined || !advertised) return { extensions };
  const info = { ...advertised.info, id: paymentIdentifier };
  return { extensions: { ...extensions, [IDENTIFIER]: { ...advertised, info } } };
}

async function budgetsOf(core: Database, apiKeyId: string, walletId: string): Promise<BudgetRow[]> {
  return core.orm
    .select()
    .from(x402Budget)
    .where(and(eq(x402Budget.apiKeyId, apiKeyId), eq(x402Budget.evmWalletId, walletId)));
}

/** A node that gives no answer holds no payment up: the seller's facilitator looks again. */
async function refuseUncovered(
  c: AppContext,
  wallet: WalletRow,
  asset: string,
  amount: bigint,
): Promise<void> {
  const { deadline, requestId } = c.var;
  const network = await findNetwork(db(c.env, undefined, { deadline }), wallet.caip2Id);
  if (!network) return;
  let balance: bigint;
  try {
    balance = await balanceOf(await rpcOf(c.env, network, deadline), wallet.address, asset);
  } catch (error) {
    log("warn", "x402.balance_unknown", { requestId, wallet: wallet.id, error: String(error) });
    return;
  }
  if (balance < amount) throw new ApiError(402, "The wallet holds too little of the token");
}

function debit(budget: BudgetRow | null, amount: string, now: number): Statement[] {
  if (!budget) return [];
  const remaining = BigInt(budget.remainingAmount) - BigInt(amount);
  const spent = BigInt(budget.spentAmount) + BigInt(amount);
  return [
    statement(
      `UPDATE x402_budget SET remaining_amount = ?, spent_amount = ?, updated_at = ?,
         version = iif(version = ?, version + 1, NULL)
       WHERE id = ?`,
      remaining.toString(),
      spent.toString(),
      now,
      budget.version,
      budget.id,
    ),
  ];
}
