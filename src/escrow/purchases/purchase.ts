import { isOutOfCredits } from "../../api-keys/credits.ts";
import { isOverSpending } from "../../api-keys/spending.ts";
import { type Database, db, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import type { AppContext, Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { idempotently, type Remember } from "../../http/idempotency.ts";
import { wakeWallet } from "../../wallets/wake.ts";
import type { EscrowRecord } from "../record.ts";
import { storedTimes } from "../requests/times.ts";
import { type MadeRecord, makeRecord, newRecord, shownRecord } from "../requests/write.ts";
import type { Want } from "../wanted.ts";
import { type AcceptedQuote, acceptQuote } from "./accept.ts";
import { holdCharge } from "./charges.ts";
import { refuseExisting } from "./existing.ts";
import type { PurchaseBody, ShownPurchase } from "./schemas.ts";

/**
 * Accepts a quote: a purchase record whose funds a purchasing wallet is to lock.
 *
 * @param now - epoch milliseconds
 * @returns the record, once per Idempotency-Key
 * @throws ApiError 400, 403, 404, 409, 422, 503; ProviderError
 */
export async function requestPurchase(
  c: AppContext,
  body: PurchaseBody,
  now: number,
): Promise<ShownPurchase> {
  const { network } = body;
  const database = db(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  const made = await idempotently(c, database, now, async (remember) => {
    await refuseExisting(c, database, body);
    try {
      const quote = await acceptQuote(c, database, body, { operation: "purchase", now });
      return await makePurchase(c, database, quote, now, remember);
    } catch (error) {
      throw isOutOfCredits(error) || isOverSpending(error) ? insufficientFunds() : error;
    }
  });
  return shownRecord<ShownPurchase>(database, made);
}

/** Clients of marketplaces wait for funds at exactly this text, and take any other 4xx as final. */
function insufficientFunds(): ApiError {
  return new ApiError("insufficient_funds", "Insufficient funds");
}

/** What a purchase is written from. */
type WrittenQuote = Omit<AcceptedQuote, "identifier" | "terms" | "wallets">;

/**
 * Writes the purchase of a quote that passed every check, with its charges, and wakes the wallets.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 409; the error of a batch that a limit of the key has aborted
 */
export async function makePurchase(
  c: AppContext,
  database: Database,
  quote: WrittenQuote,
  now: number,
  remember: Remember,
): Promise<MadeRecord> {
  const { body, source, driven } = quote;
  const record = recordOf(quote, c.var.caller, now);
  const made = await makeRecord(
    c,
    database,
    {
      record,
      metadata: body.metadata,
      more: { Warnings: quote.warnings },
      operation: "purchase",
      detail: { network: source.network, agentIdentifier: body.agentIdentifier },
      now,
    },
    remember,
    holdCharge(c.var.caller, record),
  ).catch(async (error: unknown) => {
    if (isTaken(error)) await refuseExisting(c, database, body);
    throw error;
  });
  const { requestId } = c.var;
  await Promise.all(driven.map(({ network, vkey }) => wakeWallet(c.env, network, vkey, requestId)));
  return made;
}

/** Another request, or a lock that a cursor read, has made the purchase meanwhile. */
function isTaken(error: unknown): boolean {
  return violates(error, "escrow_request.purchase_of") || violates(error, "escrow.identifier_hash");
}

function recordOf(
  quote: WrittenQuote,
  { id: requestedById, scope }: Caller,
  now: number,
): EscrowRecord {
  const isLimited = scope?.walletIds !== undefined && scope.walletIds !== null;
  const { body, source, holder, times, price } = quote;
  const terms: EscrowRecord["terms"] = {
    isRequested: true,
    ...(isLimited && { walletIds: quote.driven.map(({ id }) => id) }),
    agentIdentifier: body.agentIdentifier,
    agentName: quote.agentName,
    pricingType: price.pricingType,
    inputHash: body.inputHash,
    ...storedTimes(times),
    // Known as soon as a wallet locks.
    collateralReturn: null,
    buyer: null,
    buyerVkey: null,
    seller: holder.address,
    sellerVkey: holder.vkey,
    buyerReturnAddress: quote.buyerReturnAddress,
    sellerReturnAddress: quote.sellerReturnAddress,
    funds: price.funds.map(({ unit, amount }) => ({ unit, amount })),
  };
  const want: Want = {
    id: newId(now),
    step: "FundsLocking",
    resultHash: null,
    by: requestedById,
    since: now,
  };
  const asked = {
    side: "purchase" as const,
    blockchainIdentifier: body.blockchainIdentifier,
    requestedById,
    terms,
    wanted: { want, underWay: null, error: null, expiredAt: null },
    wallet: null,
  };
  return newRecord(source, asked, now);
}
