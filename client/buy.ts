import type { Client, Schemas } from "./client.ts";
import { isTemporary, unwrap } from "./errors.ts";
import { pause } from "./transport.ts";

/** A time of a quote: Unix milliseconds, as text or as a number. */
type Time = string | number | null;

/** What a seller has quoted: the answer of `POST /payment`, or what the seller's agent passes on of it. */
export interface SellersQuote {
  blockchainIdentifier: string;
  agentIdentifier: string;
  /** Payment key hash of the seller. */
  sellerVKey: string;
  payByTime: Time;
  submitResultTime: Time;
  unlockTime: Time;
  externalDisputeUnlockTime: Time;
  /** The price; it is compared with the agent's where that is fixed. */
  RequestedFunds?: Schemas["Funds"][];
  PaymentSource?: { paymentSourceType: Schemas["PaymentSourceType"] };
  /** On Web3ChainV2, as the seller has signed it. */
  sellerReturnAddress?: string | null;
  /** On Web3ChainV2: position of the payment source in the agent's list. Omitted: the service finds it. */
  supportedPaymentSourceIndex?: number;
}

/** A job to buy. */
export interface Order {
  network: Schemas["Network"];
  quote: SellersQuote;
  /** The buyer's identifier of the job, which the seller knows. */
  identifierFromPurchaser: string;
  /** The buyer's own hash of the input, never the seller's: see `hashInput`. */
  inputHash: string;
  /** The highest price: of each unit at most this amount, and no other units. */
  atMost: readonly Schemas["Funds"][];
  /** The buyer's note. */
  metadata?: string;
}

/** How to wait for a purchase. */
export interface BuyOptions {
  /** Milliseconds between two polls; default 10 s. */
  everyMs?: number;
  /** Receives the purchase at each poll. */
  onLook?: (purchase: Schemas["Purchase"]) => void;
  /** Receives failures of the service or of the connection while it waits. It polls again after them. */
  onError?: (error: unknown) => void;
  /** Stops waiting, not the purchase. */
  signal?: AbortSignal;
}

/** The purchase ended without a result, or waits for a person: `purchase.NextAction` says why. */
export class PurchaseStopped extends Error {
  override name = "PurchaseStopped";
  readonly purchase: Schemas["Purchase"];

  constructor(purchase: Schemas["Purchase"]) {
    const { onChainState, NextAction } = purchase;
    const note = NextAction.errorNote === null ? "" : `, ${NextAction.errorNote}`;
    super(`the purchase has no result: ${onChainState ?? "not locked"}${note}`);
    this.purchase = purchase;
  }
}

const EVERY_MS = 10_000;
const DELIVERED: ReadonlySet<string> = new Set([
  "ResultSubmitted",
  "WithdrawAuthorized",
  "Withdrawn",
]);
const ENDED: ReadonlySet<string> = new Set([
  "FundsOrDatumInvalid",
  "RefundWithdrawn",
  "DisputedWithdrawn",
]);

/**
 * Accepts a quote and waits until its result is on the chain. Compare the `resultHash` with the
 * delivered result (`matchesResult`). A repeated call continues the purchase of the quote. While it
 * waits, failures of the service and of the connection do not end it.
 *
 * @throws RangeError when the quote costs more than `atMost`
 * @throws ServiceError when the quote is refused: with status 402 by the key's limits, with 400 for good
 * @throws PurchaseStopped
 */
export async function buy(
  client: Client,
  order: Order,
  { everyMs = EVERY_MS, onLook, onError, signal }: BuyOptions = {},
): Promise<Schemas["Purchase"]> {
  let purchase = await accept(client, order);
  for (;;) {
    onLook?.(purchase);
    const { onChainState, NextAction } = purchase;
    if (onChainState !== null && DELIVERED.has(onChainState)) return purchase;
    const hasEnded =
      (onChainState !== null && ENDED.has(onChainState)) ||
      ["None", "WaitingForManualAction"].includes(NextAction.requestedAction);
    if (hasEnded) throw new PurchaseStopped(purchase);
    await pause(everyMs, signal);
    try {
      purchase = await resolve(client, order);
    } catch (error) {
      if (signal?.aborted || !isTemporary(error)) throw error;
      onError?.(error);
    }
  }
}

async function accept(client: Client, order: Order): Promise<Schemas["Purchase"]> {
  const body = requestOf(order);
  const checked = await client.POST("/api/v1/purchase/verify", { body });
  if (checked.data) requireWithin(checked.data.data.PaidFunds, order.atMost);
  // The purchase exists: `verify` says so as the purchase itself does.
  else if (checked.response.status !== 409) unwrap(checked);
  const purchased = checked.data && (await client.POST("/api/v1/purchase", { body }));
  if (purchased?.data) return purchased.data.data;
  // Another purchase has used the limit up since: `verify` says so with 402, as before.
  if (purchased?.error?.error.code === "insufficient_funds")
    unwrap(await client.POST("/api/v1/purchase/verify", { body }));
  if (purchased && purchased.response.status !== 409) unwrap(purchased);
  const existing = await resolve(client, order);
  const { agentIdentifier, inputHash } = existing;
  if (agentIdentifier !== body.agentIdentifier || inputHash !== body.inputHash)
    throw new PurchaseStopped(existing);
  return existing;
}

function requestOf(order: Order): Schemas["CreatePurchaseRequest"] {
  const { quote, metadata, network, identifierFromPurchaser, inputHash } = order;
  const { RequestedFunds = [], PaymentSource, supportedPaymentSourceIndex: index } = quote;
  const type = PaymentSource?.paymentSourceType;
  const isV2 = type === undefined ? index !== undefined : type === "Web3ChainV2";
  return {
    network,
    blockchainIdentifier: quote.blockchainIdentifier,
    agentIdentifier: quote.agentIdentifier,
    sellerVkey: quote.sellerVKey,
    inputHash,
    identifierFromPurchaser,
    payByTime: String(quote.payByTime),
    submitResultTime: String(quote.submitResultTime),
    unlockTime: String(quote.unlockTime),
    externalDisputeUnlockTime: String(quote.externalDisputeUnlockTime),
    ...(RequestedFunds.length > 0 && { Amounts: RequestedFunds }),
    ...(isV2 && {
      ...(index !== undefined && { supportedPaymentSourceIndex: index }),
      sellerReturnAddress: quote.sellerReturnAddress ?? null,
    }),
    ...(metadata !== undefined && { metadata }),
  };
}

/** @throws RangeError */
function requireWithin(
  price: readonly Schemas["Funds"][],
  atMost: readonly Schemas["Funds"][],
): void {
  const sum = (funds: readonly Schemas["Funds"][], unit: string) =>
    funds.reduce((total, one) => (one.unit === unit ? total + BigInt(one.amount) : total), 0n);
  for (const { unit } of price) {
    const [asked, limit] = [sum(price, unit), sum(atMost, unit)];
    const name = unit === "" ? 'the native coin (unit "")' : unit;
    if (asked > limit)
      throw new RangeError(
        `The price is ${asked} of ${name}, but atMost allows ${limit}: raise it, or do not buy`,
      );
  }
}

async function resolve(
  client: Client,
  { network, quote: { blockchainIdentifier } }: Order,
): Promise<Schemas["Purchase"]> {
  const body = { network, blockchainIdentifier };
  const answer = await client.POST("/api/v1/purchase/resolve-blockchain-identifier", { body });
  return unwrap(answer) as Schemas["Purchase"];
}
