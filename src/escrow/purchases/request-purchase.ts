import { isOutOfCredits } from "../../api-keys/credits.ts";
import { isSpendingLimitExceeded } from "../../api-keys/spending-limits.ts";
import { type Database, openDb, violates } from "../../db/client.ts";
import type { AppContext, Caller } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently, type StoreResponse } from "../../http/idempotency.ts";
import { wakeWallet } from "../../wallets/queue/wake-wallet.ts";
import { type EscrowRecord, mapTimes } from "../model/escrow-record.ts";
import { IDLE_PROGRESS } from "../model/intent.ts";
import { readRecordText } from "../queries/list-page.ts";
import { buildRecord } from "../store/build-record.ts";
import { createIntent } from "../store/create-intent.ts";
import { loadByIdentifier } from "../store/load-by-identifier.ts";
import {
  type CreatedRecord,
  createRecord,
  loadCreatedRecordResponse,
} from "../terms/create-record.ts";
import { type AcceptedQuote, acceptQuote } from "./accept-quote.ts";
import { chargePurchase } from "./charges.ts";
import type { PurchaseBody, PurchaseResponse } from "./schemas.ts";

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
): Promise<PurchaseResponse> {
  const { network } = body;
  const database = openDb(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  const purchase = await runIdempotently(c, database, now, async (remember) => {
    await refuseExistingPurchase(c, database, body);
    try {
      const quote = await acceptQuote(c, database, body, { operation: "purchase", now });
      return await createPurchase(c, database, quote, now, remember);
    } catch (error) {
      if (!isOutOfCredits(error) && !isSpendingLimitExceeded(error)) throw error;
      // Clients of marketplaces wait for funds at exactly this text, and take any other 4xx as final.
      throw new ApiError("insufficient_funds", "Insufficient funds");
    }
  });
  return loadCreatedRecordResponse<PurchaseResponse>(database, purchase);
}

/** What a purchase is written from. */
type PurchaseQuote = Omit<AcceptedQuote, "identifier" | "terms" | "wallets">;

/**
 * Writes the purchase of a checked quote with its charges, and wakes the wallets.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 409; the error of a batch that a limit aborted
 */
export async function createPurchase(
  c: AppContext,
  database: Database,
  quote: PurchaseQuote,
  now: number,
  remember: StoreResponse,
): Promise<CreatedRecord> {
  const { body, source, automatedWallets } = quote;
  const record = buildPurchaseRecord(quote, c.var.caller, now);
  const purchase = await createRecord(
    c,
    database,
    {
      record,
      metadata: body.metadata,
      responseFields: { Warnings: quote.warnings },
      auditDetail: { network: source.network, agentIdentifier: body.agentIdentifier },
      now,
    },
    remember,
    chargePurchase(c.var.caller, record),
  ).catch(async (error: unknown) => {
    if (isDuplicatePurchase(error)) await refuseExistingPurchase(c, database, body);
    throw error;
  });
  const { requestId } = c.var;
  await Promise.all(
    automatedWallets.map(({ network, vkey }) => wakeWallet(c.env, network, vkey, requestId)),
  );
  return purchase;
}

/** Another request, or a lock that a cursor read, has made the purchase meanwhile. */
function isDuplicatePurchase(error: unknown): boolean {
  return (
    violates(error, "escrow_request.purchase_of") ||
    violates(error, "escrow_identity.identifier_hash")
  );
}

function buildPurchaseRecord(
  quote: PurchaseQuote,
  { id: requestedById, scope }: Caller,
  now: number,
): EscrowRecord {
  const isLimited = scope?.walletIds !== undefined && scope.walletIds !== null;
  const { body, source, holder, times, price } = quote;
  const terms: EscrowRecord["terms"] = {
    isRequested: true,
    ...(isLimited && { walletIds: quote.automatedWallets.map(({ id }) => id) }),
    agentIdentifier: body.agentIdentifier,
    agentName: quote.agentName,
    pricingType: price.pricingType,
    inputHash: body.inputHash,
    ...mapTimes(times, String),
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
  const intent = createIntent("FundsLocking", requestedById, now);
  const fields = {
    side: "purchase" as const,
    blockchainIdentifier: body.blockchainIdentifier,
    requestedById,
    terms,
    progress: { ...IDLE_PROGRESS, intent },
    wallet: null,
  };
  return buildRecord(source, fields, now);
}

/**
 * Refuses an identifier that has a purchase already. Clients check whether the purchase is theirs.
 *
 * @throws ApiError 409 with the purchase's `id`. Its owner and Admins also get the purchase as
 *   `object`, if the API key may use its wallets.
 */
export async function refuseExistingPurchase(
  c: AppContext,
  database: Database,
  { network, blockchainIdentifier }: Pick<PurchaseBody, "network" | "blockchainIdentifier">,
): Promise<void> {
  const { caller, deadline } = c.var;
  const named = { network, blockchainIdentifier, side: "purchase" as const };
  const [found] = await loadByIdentifier(c.env, database, named, deadline);
  if (!found) return;
  const { id, requestedById } = found.record;
  const isShown = caller.permission === "Admin" || caller.id === requestedById;
  const object = isShown ? await readRecordText(c, database, found.record) : "";
  throw new ApiError("already_exists", "blockchainIdentifier: already has a purchase", {
    beside: { id, ...(object !== "" && { object: JSON.parse(object) }) },
  });
}
