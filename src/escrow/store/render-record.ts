import {
  toDocumentVersion,
  toWireFieldName,
  toWireValueName,
} from "../../http/names/wire-names.ts";
import {
  type EscrowRecord,
  findLock,
  type SettledFunds,
  type StoredFunds,
} from "../model/escrow-record.ts";
import { findNextStep } from "../model/find-next-step.ts";
import { type NextAction, nextActionOf } from "../model/intent.ts";
import type { TransactionRecord } from "../model/transaction-record.ts";
import { MAX_TIMESTAMP_MS } from "../model/windows.ts";
import { type Blockers, fillBlockers, fillPlaceholders, renderWaitsFor } from "./blockers.ts";

/** Raised whenever the text of `renderRecord` changes; rows with another one are rendered when read. */
export const DOC_VERSION = toDocumentVersion(9);

/**
 * Control characters are placeholders for values that are known later. `JSON.stringify` escapes
 * them, so no text of a third party can contain one.
 */
const HEIGHT_MARK = "\u0001";
/** Becomes the change stamp, in the statement that assigns it. */
export const STAMP_MARK = "\u0002";

/** Which of the record's stamps the batch being written moves. */
export interface ChangedStamps {
  hasChainChanged: boolean;
  hasActionChanged: boolean;
}

/**
 * The record as the interface shows it, without histories: JSON text, but for the placeholders of
 * stamps that move now, of confirmations, and of what is waited for. `withHistories` and
 * `withConfirmations` finish it.
 */
export function renderRecord(
  record: EscrowRecord,
  moved: ChangedStamps = { hasChainChanged: false, hasActionChanged: false },
): string {
  const { side, terms, state, wallet, progress } = record;
  // Of a lock's own where there is one, else as agreed.
  const parties = findLock(record) ?? terms;
  const transaction = progress.pendingTransaction?.transaction ?? state.transaction;
  const payment = side === "payment";
  const renderStamp = (isMoved: boolean, at: number) =>
    isMoved ? `"${STAMP_MARK}"` : renderTime(at);
  const [own, other] = payment
    ? [state.sellerCooldown, state.buyerCooldown]
    : [state.buyerCooldown, state.sellerCooldown];
  return renderObject({
    id: toJson(record.id),
    createdAt: renderTime(record.createdAt),
    updatedAt: renderTime(record.updatedAt),
    blockchainIdentifier: toJson(record.blockchainIdentifier),
    agentIdentifier: toJson(terms.agentIdentifier),
    agentName: toJson(terms.agentName ?? null),
    pricingType: toJson(terms.pricingType),
    lastCheckedAt: record.lastCheckedAt === null ? "null" : renderTime(record.lastCheckedAt),
    payByTime: toJson(terms.payByTime),
    submitResultTime: toJson(terms.submitResultTime),
    unlockTime: toJson(terms.unlockTime),
    externalDisputeUnlockTime: toJson(terms.externalDisputeUnlockTime),
    [toWireFieldName("totalBuyerChainFees")]: renderWholeCoins(state.buyerFees),
    [toWireFieldName("totalSellerChainFees")]: renderWholeCoins(state.sellerFees),
    nextActionOrOnChainStateOrResultLastChangedAt: renderStamp(
      moved.hasChainChanged || moved.hasActionChanged,
      record.changedAt,
    ),
    nextActionLastChangedAt: renderStamp(moved.hasActionChanged, record.actionChangedAt),
    onChainStateOrResultLastChangedAt: renderStamp(moved.hasChainChanged, record.chainChangedAt),
    requestedById: toJson(record.requestedById),
    onChainState: toJson(state.onChainState),
    [toWireFieldName("collateralReturnMinorUnit")]: toJson(parties.collateralReturn),
    buyerReturnAddress: toJson(parties.buyerReturnAddress),
    // A contract of Web3ChainV1 knows none, and pays the one that was agreed.
    sellerReturnAddress: toJson(parties.sellerReturnAddress ?? terms.sellerReturnAddress),
    cooldownTime: own,
    cooldownTimeOtherParty: other,
    inputHash: toJson(terms.inputHash),
    resultHash: toJson(state.resultHash),
    NextAction: renderNextAction(nextActionOf(record), payment),
    Next: renderNextStep(record),
    expiredAt: progress.expiredAt === null ? "null" : renderTime(progress.expiredAt),
    CurrentTransaction: transaction ? renderTransaction(transaction) : "null",
    [payment ? "RequestedFunds" : "PaidFunds"]: renderFunds(terms.funds),
    WithdrawnForSeller: renderFunds(state.withdrawnForSeller),
    WithdrawnForBuyer: renderFunds(state.withdrawnForBuyer),
    Settled: renderSettledFunds(state.settled),
    PaymentSource: toJson({
      id: record.sourceId,
      network: record.network,
      paymentSourceType: toWireValueName(record.sourceType),
      smartContractAddress: record.contractAddress,
      policyId: record.policyId,
    }),
    ...(payment
      ? {
          BuyerWallet: renderCounterparty(record, parties.buyerVkey),
          sellerVKey: toJson(terms.sellerVkey),
        }
      : { SellerWallet: renderCounterparty(record, terms.sellerVkey) }),
    SmartContractWallet: toJson(
      wallet && { id: wallet.id, walletVkey: wallet.vkey, walletAddress: wallet.address },
    ),
    // Other services run escrows beside the chain.
    forceLayer: "null",
    // The last field: see `withMetadata`.
    metadata: "null",
  });
}

/** A rendered record with what its owner noted, which is kept apart and not shown to everybody. */
export function withMetadata(doc: string, metadata: string | null): string {
  if (metadata === null) return doc;
  return `${doc.slice(0, -"null}".length)}${toJson(metadata)}}`;
}

/** A transaction record as the interface shows it, with the placeholder of its confirmations. */
function renderTransaction(transaction: TransactionRecord): string {
  return renderObject({
    id: toJson(transaction.id),
    createdAt: renderTime(transaction.createdAt),
    updatedAt: renderTime(transaction.updatedAt),
    txHash: toJson(transaction.txHash),
    status: toJson(transaction.status),
    fees: toJson(transaction.fees),
    blockHeight: toJson(transaction.blockHeight),
    blockTime: toJson(transaction.blockTime),
    previousOnChainState: toJson(transaction.previousOnChainState),
    newOnChainState: toJson(transaction.newOnChainState),
    confirmations:
      transaction.status === "Confirmed"
        ? `${HEIGHT_MARK}${transaction.blockHeight}${HEIGHT_MARK}`
        : "null",
  });
}

/** An action that a purchase had, and when it began and ended, epoch milliseconds. */
export interface PastAction extends Omit<NextAction, "resultHash"> {
  id: string;
  createdAt: number;
  updatedAt: number;
}

/** The shown part of a record's histories: the text between the brackets of each. */
interface Histories {
  transactions: string;
  actions: string;
  /** Whether older entries of either are left out. */
  isTruncated: boolean;
}

const NO_HISTORIES: Histories = { transactions: "", actions: "", isTruncated: false };

/** Completes a record with its histories. */
export function withHistories(
  doc: string,
  side: EscrowRecord["side"],
  { transactions, actions, isTruncated }: Histories = NO_HISTORIES,
): string {
  const mark = isTruncated ? ',"historyTruncated":true' : "";
  const history = `${doc.slice(0, -1)}${mark},"TransactionHistory":[${transactions}]`;
  return side === "purchase" ? `${history},"ActionHistory":[${actions}]}` : `${history}}`;
}

/**
 * Fills in what is known when a record is shown. Every `confirmations`: the blocks from the
 * transaction's to the tip, both counted; a tip that lags behind the transaction counts as its block.
 * And what is waited for.
 *
 * @param holds - what holds up wallets and sources; left out: nobody looked
 */
export function withConfirmations(text: string, tipHeight: number, holds: Blockers = {}): string {
  const confirmed = fillPlaceholders(text, HEIGHT_MARK, (height) =>
    String(Math.max(tipHeight - Number(height) + 1, 1)),
  );
  return fillBlockers(confirmed, holds);
}

/** @param fields - JSON text of each; a page renders hundreds of objects, so this builds no lists */
function renderObject(fields: Record<string, string>): string {
  let text = "";
  for (const name in fields) text += `${text && ","}"${name}":${fields[name]}`;
  return `{${text}}`;
}

function toJson(value: unknown): string {
  return JSON.stringify(value);
}

/** The last time that was rendered: most stamps of a record are the same. */
let lastTime = { milliseconds: Number.NaN, text: "" };

/** @param milliseconds - since the epoch */
export function renderTime(milliseconds: number): string {
  if (milliseconds !== lastTime.milliseconds)
    lastTime = { milliseconds, text: `"${new Date(milliseconds).toISOString()}"` };
  return lastTime.text;
}

/** Minor units as an exact decimal number of whole coins (10^6 minor units): `168317` → `0.168317`. */
function renderWholeCoins(minorUnits: string): string {
  const digits = minorUnits.padStart(7, "0");
  const fraction = digits.slice(-6).replace(/0+$/, "");
  return fraction ? `${digits.slice(0, -6)}.${fraction}` : digits.slice(0, -6);
}

function renderFunds(entries: StoredFunds[]): string {
  return toJson(entries.map(({ amount, unit }) => ({ amount, unit })));
}

function renderSettledFunds(settled: SettledFunds | null): string {
  if (settled === null) return "null";
  return renderObject({ seller: renderFunds(settled.seller), buyer: renderFunds(settled.buyer) });
}

function renderNextAction(action: NextAction, payment: boolean): string {
  const { requestedAction, errorType, errorNote, resultHash } = action;
  return toJson({ requestedAction, errorType, errorNote, ...(payment && { resultHash }) });
}

function renderNextStep(record: EscrowRecord): string {
  const { step, notBefore, deadline, ...waits } = findNextStep(record);
  // A lock that nobody agreed on may name a time that no calendar has.
  const renderTimeOrNull = (milliseconds: number | null) =>
    milliseconds === null || milliseconds > MAX_TIMESTAMP_MS ? "null" : renderTime(milliseconds);
  return renderObject({
    action: toJson(step),
    notBefore: renderTimeOrNull(notBefore),
    deadline: renderTimeOrNull(deadline),
    // Beside it stands `code`.
    waitsFor: renderWaitsFor(record, { step, notBefore, deadline, ...waits }),
  });
}

/** The other party has no row, so its id is derived from its role and key at this source. */
function renderCounterparty(record: EscrowRecord, vkey: string | null): string {
  if (vkey === null) return "null";
  return toJson({ id: `${record.sourceId.slice(-10)}${vkey.slice(0, 30)}`, walletVkey: vkey });
}
