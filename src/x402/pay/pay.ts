import * as z from "zod";
import { type Database, db, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { open } from "../../db/sealed.ts";
import { commitAudited } from "../../http/audit.ts";
import { permitNetwork } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { idempotently, type NamingField, type Remember } from "../../http/idempotency.ts";
import { log } from "../../log.ts";
import { payloadHash } from "../attempts/payload-hash.ts";
import { authorizationKey, readAuthorization } from "../evm/authorization.ts";
import { balanceOf } from "../evm/balance.ts";
import {
  findNetwork,
  findWallet,
  type NetworkRow,
  privateKeyPlace,
  rpcOf,
  type WalletRow,
} from "../networks/settlement-network.ts";
import { type PaymentRequirements, paymentPayload as payloadSchema } from "../schemas.ts";
import { x402Attempt } from "../tables.ts";
import { budgetsOf, covers, spend } from "./budgets.ts";
import { domainOf, payableTerms } from "./payable-terms.ts";

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

const IDENTIFIER = "payment-identifier";

/**
 * Bytes of a payment's JSON. As a header it is a third longer, which is more than servers take
 * unless told otherwise: Node 16 KiB of headers in all, nginx and Apache 8 KiB in one.
 */
const MAX_PAYMENT_BYTES = 16 * 1024;

/**
 * Signs a payment from a managed wallet, within the caller's budget. The signature is returned only
 * after budget and attempt are written, in one batch. The resource itself is never fetched.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 403, 404, 409, 422
 */
export async function pay(c: AppContext, body: PayBody, now: number) {
  const name = nameOf(c, body);
  const core = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return idempotently(c, core, now, (remember) => payOnce(c, core, body, now, remember), name);
}

async function payOnce(
  c: AppContext,
  core: Database,
  body: PayBody,
  now: number,
  remember: Remember,
) {
  const { wallet, budget, requirements } = await authorise(c, core, body);
  const paymentPayload = await sign(c, wallet, requirements, body, now);
  const header = Buffer.from(JSON.stringify(paymentPayload));
  if (header.length > MAX_PAYMENT_BYTES)
    throw new ApiError(
      400,
      `paymentRequired: makes a payment of more than ${MAX_PAYMENT_BYTES} bytes, too long for a header`,
    );
  const answer = {
    attemptId: newId(now),
    payer: wallet.address,
    caip2Network: wallet.caip2Id,
    asset: requirements.asset.toLowerCase(),
    amount: BigInt(requirements.amount).toString(),
    payTo: requirements.payTo.toLowerCase(),
    xPaymentHeader: header.toString("base64"),
    paymentPayload,
    // Without what a settlement drops: both sides must compute the same hash.
    paymentPayloadHash: await payloadHash(payloadSchema.parse(paymentPayload)),
    paymentIdentifier: body.paymentIdentifier ?? null,
  };
  const { attemptId, caip2Network, asset, amount, payTo, payer } = answer;
  const authorization = readAuthorization(paymentPayload.payload);
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
    paymentPayloadHash: answer.paymentPayloadHash,
    claim: authorizationKey(caip2Network, asset, authorization),
    paymentIdentifier: answer.paymentIdentifier,
    watchedUntil: Number(authorization.validBefore),
    charged: false,
    version: 0,
    createdAt: now,
    updatedAt: now,
  };
  const detail = { evmWalletId: wallet.id, caip2Network, asset, amount, payTo };
  const entry = { action: "x402.pay", target: attemptId, detail, now } as const;
  try {
    await spend(core, budget, BigInt(amount), now, async (debit) =>
      commitAudited(c, core, entry, [
        ...(await remember(answer)),
        core.orm.insert(x402Attempt).values(attempt).toSQL(),
        ...debit,
      ]),
    );
  } catch (error) {
    if (violates(error, "x402_payment_attempt.payment_identifier"))
      throw new ApiError(
        "identifier_reused",
        "paymentIdentifier: a payment was signed under it already",
      );
    throw error;
  }
  return answer;
}

/**
 * The identifier also makes the request idempotent: a repeat must not pay twice.
 *
 * @throws ApiError 400 when the request has neither key nor identifier, or the identifier is not as
 *   the resource requires
 */
function nameOf(
  c: AppContext,
  { paymentIdentifier, paymentRequired }: PayBody,
): NamingField | null {
  const advertised = paymentRequired.extensions?.[IDENTIFIER];
  if (paymentIdentifier !== undefined) {
    if (!advertised) throw new ApiError(400, "paymentIdentifier: the resource does not take one");
    return { name: "paymentIdentifier", value: paymentIdentifier };
  }
  if (z.object({ info: z.object({ required: z.literal(true) }) }).safeParse(advertised).success)
    throw new ApiError(400, "paymentIdentifier: the resource requires one");
  if (c.req.header("idempotency-key") === undefined)
    throw new ApiError(400, "Idempotency-Key: is required, or a paymentIdentifier");
  return null;
}

async function sign(
  c: AppContext,
  wallet: WalletRow,
  requirements: PaymentRequirements,
  body: PayBody,
  now: number,
) {
  const { signPayment } = await import("./sign-payment.ts");
  const key = await open(c.env, privateKeyPlace(wallet.id), wallet.privateKey);
  return {
    x402Version: 2,
    resource: body.paymentRequired.resource,
    accepted: requirements,
    payload: await signPayment(key, requirements, domainOf(requirements), now),
    ...extensionsOf(body),
  };
}

/** Finds the wallet, the terms and whether the caller may pay. */
async function authorise(c: AppContext, core: Database, body: PayBody) {
  const { caller } = c.var;
  const wallet = await findWallet(core, body.evmWalletId);
  const notFound = new ApiError(404, "evmWalletId: there is no such wallet");
  if (!wallet) throw notFound;
  const isOwner = caller.permission === "Admin" || wallet.createdById === caller.id;
  const budgets = await budgetsOf(core, caller.id, wallet.id);
  if (!isOwner && budgets.size === 0) throw notFound;
  permitNetwork(caller, wallet.caip2Id, "evmWalletId");
  if (wallet.type !== "Purchasing")
    throw new ApiError(400, "evmWalletId: must be a wallet of the type Purchasing");
  const network = await findNetwork(core, wallet.caip2Id);
  if (!network?.isEnabled) throw new ApiError(400, "evmWalletId: its network is not enabled");

  const payable = termsFor(body, wallet.caip2Id);
  const budgetFor = ({ asset }: PaymentRequirements) => budgets.get(asset.toLowerCase());
  const isAffordable = (terms: PaymentRequirements) => {
    const budget = budgetFor(terms);
    return budget ? covers(budget, BigInt(terms.amount)) : isOwner;
  };
  // If no budget covers any, the 402 concerns the first.
  const requirements =
    payable.find(isAffordable) ?? payable.find((terms) => isOwner || budgetFor(terms));
  if (!requirements) throw notFound;
  const asset = requirements.asset.toLowerCase();
  await refuseUncovered(c, network, wallet, asset, BigInt(requirements.amount));
  return { wallet, budget: budgets.get(asset) ?? null, requirements };
}

/** @throws ApiError 400 when the wallet can sign for none of the accepted terms */
function termsFor(body: PayBody, caip2Id: string): PaymentRequirements[] {
  const { paymentRequired, preferredNetwork, preferredAsset } = body;
  if (preferredNetwork !== undefined && preferredNetwork !== caip2Id)
    throw new ApiError(400, `preferredNetwork: the wallet is on ${caip2Id}`);
  const payable = payableTerms(paymentRequired.accepts, caip2Id).filter(
    ({ asset }) => preferredAsset === undefined || asset.toLowerCase() === preferredAsset,
  );
  if (payable.length === 0)
    throw new ApiError(
      400,
      `paymentRequired.accepts: has nothing that a wallet on ${caip2Id} can pay: exact by Permit2, or by EIP-3009 with extra.name and extra.version`,
    );
  return payable;
}

function extensionsOf({ paymentRequired, paymentIdentifier }: PayBody) {
  const { extensions } = paymentRequired;
  if (!extensions) return {};
  const advertised = extensions[IDENTIFIER] as { info?: object } | undefined;
  if (paymentIdentifier === undefined || !advertised) return { extensions };
  const info = { ...advertised.info, id: paymentIdentifier };
  return { extensions: { ...extensions, [IDENTIFIER]: { ...advertised, info } } };
}

/** A silent node does not block the payment: the seller's facilitator checks again. */
async function refuseUncovered(
  c: AppContext,
  network: NetworkRow,
  wallet: WalletRow,
  asset: string,
  amount: bigint,
): Promise<void> {
  const { deadline, requestId } = c.var;
  let balance: bigint | null;
  try {
    balance = await balanceOf(await rpcOf(c.env, network, deadline), wallet.address, asset);
  } catch (error) {
    log("warn", "x402.balance_unknown", { requestId, wallet: wallet.id, error: String(error) });
    return;
  }
  if (balance !== null && balance < amount)
    throw new ApiError("insufficient_balance", "The wallet holds too little of the token");
}
