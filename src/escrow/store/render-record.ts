import { COIN_DECIMALS, formatWholeUnits } from "../../chain/unit.ts";
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
import { renderTime } from "./render-time.ts";

/** Raised whenever the text of `renderRecord` changes; rows with another one are rendered when read. */
export const DOC_VERSION = toDocumentVersion(10);

/**
 * Control characters are placeholders for values that are known later. `JSON.stringify` escapes
 * them, so no text of a third party can contain one.
 */
const HEIGHT_MARK = "\u0001";
/** Becomes the change stamp, in the statement that assigns it. */
export const STAMP_MARK = "\u0002";

/** Names of fields as this deployment spells them. */
const FIELDS = {
  buyerFees: toWireFieldName("totalBuyerChainFees"),
  sellerFees: toWireFieldName("totalSellerChainFees"),
  collateralReturn: toWireFieldName("collateralReturnMinorUnit"),
};

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
  // One text, and no list of fields: a page renders a hundred records of fifty.
  return (
    `{"id":"${record.id}","createdAt":${renderTime(record.createdAt)}` +
    `,"updatedAt":${renderTime(record.updatedAt)}` +
    `,"blockchainIdentifier":${toJson(record.blockchainIdentifier)}` +
    `,"agentIdentifier":${toJson(terms.agentIdentifier)}` +
    `,"agentName":${toJson(terms.agentName ?? null)}` +
    `,"pricingType":"${terms.pricingType}","lastCheckedAt":${renderTimeOrNull(record.lastCheckedAt)}` +
    `,"payByTime":"${terms.payByTime}","submitResultTime":"${terms.submitResultTime}"` +
    `,"unlockTime":"${terms.unlockTime}"` +
    `,"externalDisputeUnlockTime":"${terms.externalDisputeUnlockTime}"` +
    `,"${FIELDS.buyerFees}":${formatWholeUnits(state.buyerFees, COIN_DECIMALS)}` +
    `,"${FIELDS.sellerFees}":${formatWholeUnits(state.sellerFees, COIN_DECIMALS)}` +
    `,"nextActionOrOnChainStateOrResultLastChangedAt":${renderStamp(
      moved.hasChainChanged || moved.hasActionChanged,
      record.changedAt,
    )}` +
    `,"nextActionLastChangedAt":${renderStamp(moved.hasActionChanged, record.actionChangedAt)}` +
    `,"onChainStateOrResultLastChangedAt":${renderStamp(moved.hasChainChanged, record.chainChangedAt)}` +
    `,"requestedById":${toJson(record.requestedById)},"onChainState":${quote(state.onChainState)}` +
    `,"${FIELDS.collateralReturn}":${quote(parties.collateralReturn)}` +
    `,"buyerReturnAddress":${toJson(parties.buyerReturnAddress)}` +
    // A contract of Web3ChainV1 knows none, and pays the one that was agreed.
    `,"sellerReturnAddress":${toJson(parties.sellerReturnAddress ?? terms.sellerReturnAddress)}` +
    `,"cooldownTime":${own},"cooldownTimeOtherParty":${other}` +
    `,"inputHash":${toJson(terms.inputHash)},"resultHash":${toJson(state.resultHash)}` +
    `,"NextAction":${renderNextAction(nextActionOf(record), payment)}` +
    `,"Next":${renderNextStep(record)},"expiredAt":${renderTimeOrNull(progress.expiredAt)}` +
    `,"CurrentTransaction":${transaction ? renderTransaction(transaction) : "null"}` +
    `,"${payment ? "RequestedFunds" : "PaidFunds"}":${renderFunds(terms.funds)}` +
    `,"WithdrawnForSeller":${renderFunds(state.withdrawnForSeller)}` +
    `,"WithdrawnForBuyer":${renderFunds(state.withdrawnForBuyer)}` +
    `,"Settled":${renderSettledFunds(state.settled)}` +
    `,"PaymentSource":${renderSource(record)}` +
    (payment
      ? `,"BuyerWallet":${renderCounterparty(record, parties.buyerVkey)},"sellerVKey":"${terms.sellerVkey}"`
      : `,"SellerWallet":${renderCounterparty(record, terms.sellerVkey)}`) +
    `,"SmartContractWallet":${wallet ? `{"id":"${wallet.id}","walletVkey":"${wallet.vkey}","walletAddress":"${wallet.address}"}` : "null"}` +
    // Other services run escrows beside the chain. `metadata` is the last field: see `withMetadata`.
    `,"forceLayer":null,"metadata":null}`
  );
}

/** A rendered record with what its owner noted, which is kept apart and not shown to everybody. */
export function withMetadata(doc: string, metadata: string | null): string {
  if (metadata === null) return doc;
  return `${doc.slice(0, -"null}".length)}${JSON.stringify(metadata)}}`;
}

/** A transaction record as the interface shows it, with the placeholder of its confirmations. */
function renderTransaction(transaction: TransactionRecord): string {
  const { id, createdAt, updatedAt, txHash, status, fees, blockHeight, blockTime } = transaction;
  const confirmations =
    status === "Confirmed" ? `${HEIGHT_MARK}${blockHeight}${HEIGHT_MARK}` : "null";
  return (
    `{"id":"${id}","createdAt":${renderTime(createdAt)},"updatedAt":${renderTime(updatedAt)}` +
    `,"txHash":"${txHash}","status":"${status}","fees":${quote(fees)}` +
    `,"blockHeight":${blockHeight},"blockTime":${blockTime}` +
    `,"previousOnChainState":${quote(transaction.previousOnChainState)}` +
    `,"newOnChainState":${quote(transaction.newOnChainState)},"confirmations":${confirmations}}`
  );
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

/** Completes a record that has no histories yet. */
export function withHistories(doc: string, side: EscrowRecord["side"]): string {
  return doc.slice(0, -1) + renderHistories(side, NO_HISTORIES);
}

/** The histories of a record, and its end: what takes the place of the last brace. */
export function renderHistories(
  side: EscrowRecord["side"],
  { transactions, actions, isTruncated }: Histories,
): string {
  const mark = isTruncated ? ',"historyTruncated":true' : "";
  const ofActions = side === "purchase" ? `,"ActionHistory":[${actions}]` : "";
  return `${mark},"TransactionHistory":[${transactions}]${ofActions}}`;
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

/** JSON of any text, and of null. */
function toJson(text: string | null): string {
  return text === null ? "null" : JSON.stringify(text);
}

/** JSON of a text that needs no escapes: an id, a number or a word of our own. There is none: null. */
export function quote(text: string | null | undefined): string {
  return text ? `"${text}"` : "null";
}

function renderTimeOrNull(milliseconds: number | null): string {
  return milliseconds === null ? "null" : renderTime(milliseconds);
}

function renderFunds(entries: StoredFunds[]): string {
  if (entries.length === 0) return "[]";
  return JSON.stringify(entries.map(({ amount, unit }) => ({ amount, unit })));
}

function renderSettledFunds(settled: SettledFunds | null): string {
  if (settled === null) return "null";
  const { seller, buyer, protocolFee } = settled;
  return `{"seller":${renderFunds(seller)},"buyer":${renderFunds(buyer)},"protocolFee":${renderFunds(protocolFee)}}`;
}

function renderNextAction(action: NextAction, payment: boolean): string {
  const { requestedAction, errorType, errorNote, resultHash } = action;
  const result = payment ? `,"resultHash":${toJson(resultHash)}` : "";
  return `{"requestedAction":"${requestedAction}","errorType":${quote(errorType)},"errorNote":${toJson(errorNote)}${result}}`;
}

function renderNextStep(record: EscrowRecord): string {
  const next = findNextStep(record);
  // A lock that nobody agreed on may name a time that no calendar has.
  const [notBefore, deadline] = [next.notBefore, next.deadline].map((time) =>
    renderTimeOrNull(time !== null && time > MAX_TIMESTAMP_MS ? null : time),
  );
  // Beside `waitsFor` stands `code`.
  return `{"action":${quote(next.step)},"notBefore":${notBefore},"deadline":${deadline},"waitsFor":${renderWaitsFor(record, next)}}`;
}

function renderSource(record: EscrowRecord): string {
  const { sourceId, network, sourceType, contractAddress, policyId } = record;
  return `{"id":"${sourceId}","network":"${network}","paymentSourceType":"${toWireValueName(sourceType)}","smartContractAddress":${toJson(contractAddress)},"policyId":${toJson(policyId)}}`;
}

/** The other party has no row, so its id is derived from its role and key at this source. */
function renderCounterparty(record: EscrowRecord, vkey: string | null): string {
  if (vkey === null) return "null";
  return `{"id":"${record.sourceId.slice(-10)}${vkey.slice(0, 30)}","walletVkey":"${vkey}"}`;
}
