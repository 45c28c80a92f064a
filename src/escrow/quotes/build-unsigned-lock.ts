import type * as z from "zod";
import { parseAddress } from "../../chain/address.ts";
import { computeChainTime } from "../../chain/chain-time.ts";
import { bytesToHex } from "../../chain/hex.ts";
import type { Network } from "../../chain/network.ts";
import { firstSlotAtOrAfter, slotAt } from "../../chain/slots.ts";
import {
  buildUnsignedTransaction,
  TransactionTooLargeError,
} from "../../chain/transaction/build-transaction.ts";
import {
  createInputSelector,
  InsufficientFundsError,
  toWalletOutputs,
} from "../../chain/transaction/select-inputs.ts";
import type { TransactionPlan } from "../../chain/transaction/transaction-plan.ts";
import { type Database, openDb } from "../../db/client.ts";
import { mayUseWallet } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { resolveChainClock } from "../../sources/chain-clock.ts";
import { findActiveSource } from "../../sources/find-source.ts";
import { openSourceProvider } from "../../sources/open-source-provider.ts";
import { findWallet } from "../../wallets/managed/find-wallet.ts";
import { type EscrowRecord, payeeOf } from "../model/escrow-record.ts";
import { nextActionOf } from "../model/intent.ts";
import { loadByIdentifier } from "../store/load-by-identifier.ts";
import { type Buyer, buildLockPart, computeLockedFunds } from "../terms/build-lock-part.ts";
import { readLatestLiveTime } from "../terms/escrow-times.ts";
import { requirePayableFunds } from "../terms/offer.ts";
import { requireAutomatedWallet } from "./request-quote.ts";
import type { unsignedLock, unsignedLockBody } from "./schemas.ts";

/** What is needed before pay-by to sign, send and reach a block. */
const MIN_LEAD_TIME_MS = 2 * 60_000;
/** Slots (seconds) before and after now in which the lock is valid: somebody has to sign it. */
const CLOCK_SKEW_SLOTS = 300;
const VALIDITY_SLOTS = 30 * 60;

/**
 * Builds the lock of a quote for a wallet that is not ours, out of what lies at its address. Whoever
 * holds its key signs and sends it; the payment moves when it is in a block, as with any other lock.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 402, 403, 404, 409, 503; ProviderError
 */
export async function buildUnsignedLock(
  c: AppContext,
  body: z.output<typeof unsignedLockBody>,
  now: number,
): Promise<z.input<typeof unsignedLock>> {
  const { network } = body;
  const buyer = parseBuyer(network, body.buyerAddress);
  const database = openDb(c.env, network, { deadline: c.var.deadline });
  const record = await findPayment(c, database, network, body.blockchainIdentifier);
  requireUnlockedPayment(record);
  refuseSellerAddress(record, buyer);
  requirePayableFunds(record.terms.funds, "blockchainIdentifier");
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const source = await findActiveSource(core, record.sourceId);
  const seller = await findWallet(core, network, record.terms.sellerVkey, "Selling");
  if (!source || !seller)
    throw new ApiError(409, "blockchainIdentifier: the payment source or the wallet was removed");
  requireAutomatedWallet(source, seller);

  const provider = await openSourceProvider(c.env, source, { caller: c.var.caller.id });
  requireTimeToLock(record, await readLatestLiveTime(c, provider, source.id, now));
  const [parameters, utxos, tip, clock] = await Promise.all([
    provider.protocolParameters(),
    provider.addressUtxos(buyer.address),
    provider.latestBlock(),
    resolveChainClock(c.env, c.var.deadline),
  ]);
  const time = computeChainTime(clock, tip.time, now);
  const { outputs, metadata } = buildLockPart(record, buyer, parameters);
  const plan: TransactionPlan = {
    ...{ scriptInputs: [], mints: [], requiredSigners: [], outputs, metadata, parameters },
    validity: {
      from: slotAt(network, time.earliestTime) - CLOCK_SKEW_SLOTS,
      to: Math.min(
        slotAt(network, time.latestTime) + VALIDITY_SLOTS,
        firstSlotAtOrAfter(network, Number(record.terms.payByTime)) - 1,
      ),
    },
  };
  const wallet = {
    address: buyer.address,
    outputs: toWalletOutputs(utxos),
    mustSpend: [],
    collateral: null,
  };
  try {
    const { cbor } = buildUnsignedTransaction(plan, createInputSelector(wallet, plan), 1);
    return {
      unsignedTxCbor: bytesToHex(cbor),
      collateralReturnMinorUnit: String(
        computeLockedFunds(record, buyer, parameters).collateralReturn,
      ),
    };
  } catch (error) {
    if (error instanceof InsufficientFundsError)
      throw new ApiError("insufficient_balance", `buyerAddress: ${error.message}`);
    if (error instanceof TransactionTooLargeError)
      throw new ApiError(
        400,
        "buyerAddress: has too many outputs for one transaction. Combine them first.",
      );
    throw error;
  }
}

/** @throws ApiError 400: the contract pays back to a key, and one signature is paid for */
function parseBuyer(network: Network, text: string): Buyer {
  const parsed = parseAddress(text);
  if (parsed?.network !== network)
    throw new ApiError(400, `buyerAddress: must be an address on ${network}`);
  if (parsed.payment.kind !== "key")
    throw new ApiError(400, "buyerAddress: must have a payment key");
  return { address: parsed.bech32, vkey: parsed.payment.hash };
}

/**
 * The payment of an identifier, if its wallet is one that the API key may use.
 *
 * @throws ApiError 404
 */
async function findPayment(
  { env, var: { caller, deadline } }: AppContext,
  database: Database,
  network: Network,
  blockchainIdentifier: string,
): Promise<EscrowRecord> {
  const named = { network, blockchainIdentifier, side: "payment" as const };
  const [{ record } = { record: null }] = await loadByIdentifier(env, database, named, deadline);
  if (!record?.wallet || !mayUseWallet(caller.scope, record.wallet.id))
    throw new ApiError(
      404,
      "blockchainIdentifier: there is no such payment of a wallet that the API key may use",
    );
  return record;
}

/** @throws ApiError 409 */
function requireUnlockedPayment(record: EscrowRecord): void {
  const { terms, state } = record;
  const { requestedAction } = nextActionOf(record);
  const isWaiting = state.onChainState === null && requestedAction === "WaitingForExternalAction";
  if (terms.isRequested && isWaiting) return;
  throw new ApiError(
    "wrong_state",
    `blockchainIdentifier: the payment does not wait for a lock: it is ${state.onChainState ?? "not locked"}, and its next action is ${requestedAction}`,
  );
}

/**
 * Checks that the parties are paid at different addresses. A contract of Web3ChainV2 checks each party's part
 * separately, so one output would count for both.
 *
 * @throws ApiError 400
 */
function refuseSellerAddress(record: EscrowRecord, { address }: Buyer): void {
  if (record.sourceType === "Web3ChainV1" || address !== payeeOf(record, "seller")) return;
  throw new ApiError(400, "buyerAddress: must differ from the seller's payout address");
}

/** @throws ApiError 409 */
function requireTimeToLock({ terms }: EscrowRecord, now: number): void {
  const last = Number(terms.payByTime) - MIN_LEAD_TIME_MS;
  if (now > last)
    throw new ApiError(
      409,
      `blockchainIdentifier: the time to request the lock ended at ${new Date(last).toISOString()}, 2 minutes before payByTime`,
    );
}
