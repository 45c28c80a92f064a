import * as z from "zod";
import { type Database, openDb, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { unseal } from "../../db/sealed.ts";
import { commitWithAudit } from "../../http/audit.ts";
import { requireNetwork } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import {
  type IdempotencyField,
  runIdempotently,
  type StoreResponse,
} from "../../http/idempotency.ts";
import { log } from "../../log.ts";
import { hasSignedPayment, toStoredResource } from "../attempts/attempt-row.ts";
import { hashPayload, PAYMENT_IDENTIFIER_EXTENSION } from "../attempts/payment-identity.ts";
import { PERMIT2 } from "../evm/addresses.ts";
import { readAuthorization, toAuthorizationKey } from "../evm/authorization.ts";
import { readTokenFunds } from "../evm/balance.ts";
import type { TokenDomain } from "../evm/calldata.ts";
import {
  caip2,
  evmAddress,
  type PaymentRequirements,
  paymentPayload as payloadSchema,
  timeoutSeconds,
  tokenAddress,
  tokenAmount,
} from "../model/schemas.ts";
import { X402_SCHEMES, x402Attempt } from "../model/tables.ts";
import {
  findEvmWallet,
  findNetwork,
  type NetworkRow,
  openRpc,
  toPrivateKeyEncryptionContext,
  type WalletRow,
} from "../networks/settlement-network.ts";
import { findBudgetedWallet, isBudgetSufficient, readBudgets, spendBudget } from "./budgets.ts";
import type { PayBody } from "./schemas.ts";

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
 * @param isRepeatable - whether the request must be safe to repeat
 * @throws ApiError 400, 402, 403, 404, 409, 422
 */
export async function pay(c: AppContext, body: PayBody, now: number, isRepeatable = true) {
  const name = readIdempotencyField(c, body, isRepeatable);
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return runIdempotently(c, core, now, (remember) => payOnce(c, core, body, now, remember), name);
}

async function payOnce(
  c: AppContext,
  core: Database,
  body: PayBody,
  now: number,
  remember: StoreResponse,
) {
  const { paymentIdentifier } = body;
  const [{ wallet, budget, requirements }, isReused] = await Promise.all([
    authorizePayment(c, core, body),
    paymentIdentifier !== undefined &&
      hasSignedPayment(c.env, core, c.var.caller.id, paymentIdentifier),
  ]);
  if (isReused) throw createReusedError();
  const paymentPayload = await signPaymentPayload(c, wallet, requirements, body, now);
  const header = Buffer.from(JSON.stringify(paymentPayload));
  if (header.length > MAX_PAYMENT_BYTES)
    throw new ApiError(
      400,
      `paymentRequired: makes a payment of more than ${MAX_PAYMENT_BYTES} bytes, which is too long for a header`,
    );
  const isUpto = requirements.scheme === "upto";
  const answer = {
    attemptId: newId(now),
    payer: wallet.address,
    scheme: isUpto ? ("upto" as const) : ("exact" as const),
    caip2Network: wallet.caip2Id,
    asset: requirements.asset.toLowerCase(),
    amount: BigInt(requirements.amount).toString(),
    payTo: requirements.payTo.toLowerCase(),
    xPaymentHeader: header.toString("base64"),
    paymentPayload,
    // Parsed, so that both sides compute the same hash.
    paymentPayloadHash: await hashPayload(payloadSchema.parse(paymentPayload)),
    paymentIdentifier: body.paymentIdentifier ?? null,
  };
  const { attemptId, caip2Network, asset, amount, payTo, payer } = answer;
  const authorization = readAuthorization(paymentPayload.payload, requirements.scheme);
  const attempt: typeof x402Attempt.$inferInsert = {
    id: attemptId,
    direction: "OutboundPayment",
    status: "Verified",
    apiKeyId: c.var.caller.id,
    evmWalletId: wallet.id,
    budgetId: budget?.id ?? null,
    caip2Id: caip2Network,
    asset,
    amount,
    maxAmount: isUpto ? amount : null,
    payTo,
    payer,
    resource: toStoredResource(body.paymentRequired.resource.url),
    paymentPayloadHash: answer.paymentPayloadHash,
    claim: toAuthorizationKey(caip2Network, asset, authorization),
    paymentIdentifier: answer.paymentIdentifier,
    watchedUntil: Number(authorization.validBefore),
    charged: false,
    revision: 0,
    createdAt: now,
    updatedAt: now,
  };
  const detail = { evmWalletId: wallet.id, caip2Network, asset, amount, payTo };
  const entry = { action: "x402.pay", target: attemptId, detail, now } as const;
  try {
    await spendBudget(core, budget, BigInt(amount), now, async (debit) => {
      await commitWithAudit(c, core, entry, [
        ...(await remember(answer)),
        core.orm.insert(x402Attempt).values(attempt).toSQL(),
        ...debit,
      ]);
    });
  } catch (error) {
    if (violates(error, "x402_payment_attempt.payment_identifier")) throw createReusedError();
    throw error;
  }
  return answer;
}

const createReusedError = () =>
  new ApiError(
    "identifier_reused",
    "paymentIdentifier: belongs to another signed payment. Use a new identifier.",
  );

/**
 * The identifier also makes the request idempotent: a repeat must not pay twice.
 *
 * @throws ApiError 400 when the request has neither key nor identifier, or the identifier is not as
 *   the resource requires
 */
function readIdempotencyField(
  c: AppContext,
  { paymentIdentifier, paymentRequired }: PayBody,
  isRepeatable: boolean,
): IdempotencyField | null {
  const advertised = paymentRequired.extensions?.[PAYMENT_IDENTIFIER_EXTENSION];
  if (paymentIdentifier !== undefined) {
    if (!advertised)
      throw new ApiError(400, "paymentIdentifier: the resource does not accept an identifier");
    return { name: "paymentIdentifier", value: paymentIdentifier };
  }
  if (z.object({ info: z.object({ required: z.literal(true) }) }).safeParse(advertised).success)
    throw new ApiError(400, "paymentIdentifier: is required by the resource");
  if (isRepeatable && c.req.header("idempotency-key") === undefined)
    throw new ApiError(
      400,
      "Idempotency-Key: is required unless the request has a paymentIdentifier",
    );
  return null;
}

async function signPaymentPayload(
  c: AppContext,
  wallet: WalletRow,
  requirements: PaymentRequirements,
  body: PayBody,
  now: number,
) {
  const { signPayment } = await import("./sign-payment.ts");
  const key = await unseal(c.env, toPrivateKeyEncryptionContext(wallet.id), wallet.privateKey);
  return {
    x402Version: 2,
    resource: body.paymentRequired.resource,
    accepted: requirements,
    payload: await signPayment(key, requirements, readTokenDomain(requirements), now),
    ...buildExtensions(body),
  };
}

/** Finds the wallet, the terms and whether the caller may pay. */
async function authorizePayment(c: AppContext, core: Database, body: PayBody) {
  const { caller } = c.var;
  const wallet = await findEvmWallet(core, body.evmWalletId ?? (await pickWallet(c, core, body)));
  const notFound = new ApiError(404, "evmWalletId: there is no such wallet");
  if (!wallet) throw notFound;
  const isOwner = caller.permission === "Admin" || wallet.createdById === caller.id;
  const budgets = await readBudgets(core, caller.id, wallet.id);
  if (!isOwner && budgets.size === 0) throw notFound;
  requireNetwork(caller, wallet.caip2Id, "evmWalletId");
  if (wallet.type !== "Purchasing")
    throw new ApiError(400, "evmWalletId: must be a wallet of the type Purchasing");
  const network = await findNetwork(core, wallet.caip2Id);
  if (!network?.isEnabled) throw new ApiError(400, "evmWalletId: its network is not enabled");

  const payable = requirePayableRequirements(body, wallet.caip2Id);
  const budgetFor = ({ asset }: PaymentRequirements) => budgets.get(asset.toLowerCase());
  const isAffordable = (terms: PaymentRequirements) => {
    const budget = budgetFor(terms);
    return budget ? isBudgetSufficient(budget, BigInt(terms.amount)) : isOwner;
  };
  // If no budget covers any, the 402 concerns the first.
  const requirements =
    payable.find(isAffordable) ?? payable.find((terms) => isOwner || budgetFor(terms));
  if (!requirements) throw notFound;
  await requireFunds(c, network, wallet, requirements);
  return { wallet, budget: budgetFor(requirements) ?? null, requirements };
}

/** @throws ApiError 400 when the caller has no budget in a token of terms that it may accept */
async function pickWallet(c: AppContext, core: Database, body: PayBody): Promise<string> {
  const { caller } = c.var;
  const payable = selectPreferredRequirements(body).filter(
    ({ network }) =>
      (body.preferredNetwork ?? network) === network &&
      (caller.networkLimit?.includes(network) ?? true),
  );
  const walletId = await findBudgetedWallet(core, caller.id, payable);
  if (walletId === null)
    throw new ApiError(
      400,
      "evmWalletId: is required, because the API key has no budget in a token that the resource accepts",
    );
  return walletId;
}

/** @throws ApiError 400 when the wallet can sign for none of the accepted terms */
function requirePayableRequirements(body: PayBody, caip2Id: string): PaymentRequirements[] {
  const { preferredNetwork } = body;
  if (preferredNetwork !== undefined && preferredNetwork !== caip2Id)
    throw new ApiError(400, `preferredNetwork: the wallet is on ${caip2Id}`);
  const payable = selectPreferredRequirements(body).filter(({ network }) => network === caip2Id);
  if (payable.length === 0)
    throw new ApiError(
      400,
      `paymentRequired.accepts: has nothing that a wallet on ${caip2Id} can pay: exact or upto by Permit2, or exact by EIP-3009 with extra.name and extra.version`,
    );
  return payable;
}

/** Terms that a wallet can sign for and the caller prefers. Those of `exact` come first: their price is certain. */
function selectPreferredRequirements(body: PayBody): PaymentRequirements[] {
  const { paymentRequired, preferredAsset, preferredScheme } = body;
  const payable = paymentRequired.accepts.filter(
    (terms) =>
      isPayable(terms) &&
      (preferredAsset === undefined || terms.asset.toLowerCase() === preferredAsset),
  );
  const schemes = preferredScheme === undefined ? X402_SCHEMES : [preferredScheme];
  return schemes.flatMap((scheme) => payable.filter((terms) => terms.scheme === scheme));
}

function buildExtensions({ paymentRequired, paymentIdentifier }: PayBody) {
  const { extensions } = paymentRequired;
  if (!extensions) return {};
  const advertised = extensions[PAYMENT_IDENTIFIER_EXTENSION] as { info?: object } | undefined;
  if (paymentIdentifier === undefined || !advertised) return { extensions };
  const info = { ...advertised.info, id: paymentIdentifier };
  return { extensions: { ...extensions, [PAYMENT_IDENTIFIER_EXTENSION]: { ...advertised, info } } };
}

/**
 * Checks the wallet's balance and, for Permit2, its approval of the contract. A failing node does not block
 * the payment, since the seller's facilitator checks both too.
 *
 * @throws ApiError 402
 */
async function requireFunds(
  c: AppContext,
  network: NetworkRow,
  { id, address }: WalletRow,
  requirements: PaymentRequirements,
): Promise<void> {
  const { deadline, requestId } = c.var;
  const asset = requirements.asset.toLowerCase();
  const amount = BigInt(requirements.amount);
  const spender = readTokenDomain(requirements) === null ? PERMIT2 : null;
  let funds: Awaited<ReturnType<typeof readTokenFunds>>;
  try {
    funds = await readTokenFunds(await openRpc(c.env, network, deadline), address, asset, spender);
  } catch (error) {
    log("warn", "x402.balance_unknown", { requestId, wallet: id, error: String(error) });
    return;
  }
  const { balance, allowance } = funds;
  if (balance !== null && balance < amount)
    throw new ApiError(
      "insufficient_balance",
      "The wallet's token balance is below the amount of the payment",
    );
  if (allowance !== null && allowance < amount)
    throw new ApiError(
      "permit2_not_approved",
      `The wallet ${address} has approved the Permit2 contract ${spender} for ${allowance} of the token ${asset}, ` +
        `and the payment needs ${amount}. Call approve(${spender}, amount) of the token from the wallet, ` +
        "then repeat the request.",
    );
}

/**
 * Whether a wallet on the chain can sign for terms: `exact` by EIP-3009, for which they must give the
 * token's EIP-712 domain, or by Permit2; `upto` by Permit2, for which they must name the facilitator.
 */
function isPayable({
  scheme,
  network,
  asset,
  amount,
  payTo,
  maxTimeoutSeconds,
  extra,
}: PaymentRequirements): boolean {
  return (
    caip2.safeParse(network).success &&
    tokenAmount().safeParse(amount).success &&
    tokenAddress.safeParse(asset).success &&
    evmAddress.safeParse(payTo).success &&
    timeoutSeconds.safeParse(maxTimeoutSeconds).success &&
    (scheme === "upto"
      ? evmAddress.safeParse(extra?.facilitatorAddress).success
      : isPermit2(extra) || readEip3009Domain(extra) !== null)
  );
}

/** The EIP-712 domain that payable terms are signed for; null: Permit2. */
function readTokenDomain({ scheme, extra }: PaymentRequirements): TokenDomain | null {
  return scheme === "upto" || isPermit2(extra) ? null : readEip3009Domain(extra);
}

type PaymentRequirementsExtra = PaymentRequirements["extra"];

function isPermit2(extra: PaymentRequirementsExtra): boolean {
  return extra?.assetTransferMethod === "permit2";
}

function readEip3009Domain(extra: PaymentRequirementsExtra): TokenDomain | null {
  const { name, version, assetTransferMethod = "eip3009" } = extra ?? {};
  return assetTransferMethod === "eip3009" &&
    typeof name === "string" &&
    typeof version === "string"
    ? { name, version }
    : null;
}
