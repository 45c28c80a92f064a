import { documentVersion, fieldName, valueName } from "../../http/names/table.ts";
import { type NextAction, nextActionOf } from "../model/intent.ts";
import { nextOf } from "../model/next-of.ts";
import { type EscrowRecord, lockOf, type Settled, type StoredFunds } from "../model/record.ts";
import type { TransactionRecord } from "../model/transaction-record.ts";
import { LAST_TIME } from "../model/windows.ts";
import { type Blockers, fillPlaceholders, renderWaitsFor, withBlockers } from "./blockers.ts";
import type { StoredRecord } from "./escrow-row.ts";

/** Raised whenever the text of `render` changes; rows with another one are rendered when read. */
export const DOC_VERSION = documentVersion(9);

/**
 * Control characters are placeholders for values that are known later. `JSON.stringify` escapes
 * them, so no text of a third party can contain one.
 */
const HEIGHT = "\u0001";
/** Becomes the change stamp, in the statement that assigns it. */
export const STAMP = "\u0002";

/** Which of the record's stamps the batch being written moves. */
export interface MovedStamps {
  chain: boolean;
  action: boolean;
}

/**
 * The record as the interface shows it, without histories: JSON text, but for the placeholders of
 * stamps that move now, of confirmations, and of what is waited for. `withHistories` and
 * `withConfirmations` finish it.
 */
export function render(
  record: StoredRecord,
  moved: MovedStamps = { chain: false, action: false },
): string {
  const { side, terms, state, wallet, progress } = record;
  // Of a lock's own where there is one, else as agreed.
  const parties = lockOf(record) ?? terms;
  const transaction = progress.pendingTransaction?.transaction ?? state.transaction;
  const payment = side === "payment";
  const stamp = (isMoved: boolean, at: number) => (isMoved ? `"${STAMP}"` : time(at));
  const [own, other] = payment
    ? [state.sellerCooldown, state.buyerCooldown]
    : [state.buyerCooldown, state.sellerCooldown];
  return object({
    id: json(record.id),
    createdAt: time(record.createdAt),
    updatedAt: time(record.updatedAt),
    blockchainIdentifier: json(record.blockchainIdentifier),
    agentIdentifier: json(terms.agentIdentifier),
    agentName: json(terms.agentName ?? null),
    pricingType: json(terms.pricingType),
    lastCheckedAt: record.lastCheckedAt === null ? "null" : time(record.lastCheckedAt),
    payByTime: json(terms.payByTime),
    submitResultTime: json(terms.submitResultTime),
    unlockTime: json(terms.unlockTime),
    externalDisputeUnlockTime: json(terms.externalDisputeUnlockTime),
    [fieldName("totalBuyerChainFees")]: wholeCoins(state.buyerFees),
    [fieldName("totalSellerChainFees")]: wholeCoins(state.sellerFees),
    nextActionOrOnChainStateOrResultLastChangedAt: stamp(
      moved.chain || moved.action,
      record.changedAt,
    ),
    nextActionLastChangedAt: stamp(moved.action, record.actionChangedAt),
    onChainStateOrResultLastChangedAt: stamp(moved.chain, record.chainChangedAt),
    requestedById: json(record.requestedById),
    onChainState: json(state.onChainState),
    [fieldName("collateralReturnMinorUnit")]: json(parties.collateralReturn),
    buyerReturnAddress: json(parties.buyerReturnAddress),
    // A contract of Web3ChainV1 knows none, and pays the one that was agreed.
    sellerReturnAddress: json(parties.sellerReturnAddress ?? terms.sellerReturnAddress),
    cooldownTime: own,
    cooldownTimeOtherParty: other,
    inputHash: json(terms.inputHash),
    resultHash: json(state.resultHash),
    NextAction: nextAction(nextActionOf(record), payment),
    Next: next(record),
    expiredAt: progress.expiredAt === null ? "null" : time(progress.expiredAt),
    CurrentTransaction: transaction ? renderTransaction(transaction) : "null",
    [payment ? "RequestedFunds" : "PaidFunds"]: funds(terms.funds),
    WithdrawnForSeller: funds(state.withdrawnForSeller),
    WithdrawnForBuyer: funds(state.withdrawnForBuyer),
    Settled: settled(state.settled),
    PaymentSource: json({
      id: record.sourceId,
      network: record.network,
      paymentSourceType: valueName(record.sourceType),
      smartContractAddress: record.contractAddress,
      policyId: record.policyId,
    }),
    ...(payment
      ? {
          BuyerWallet: counterparty(record, parties.buyerVkey),
          sellerVKey: json(terms.sellerVkey),
        }
      : { SellerWallet: counterparty(record, terms.sellerVkey) }),
    SmartContractWallet: json(
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
  return `${doc.slice(0, -"null}".length)}${json(metadata)}}`;
}

/** A transaction record as the interface shows it, with the placeholder of its confirmations. */
export function renderTransaction(transaction: TransactionRecord): string {
  return object({
    id: json(transaction.id),
    createdAt: time(transaction.createdAt),
    updatedAt: time(transaction.updatedAt),
    txHash: json(transaction.txHash),
    status: json(transaction.status),
    fees: json(transaction.fees),
    blockHeight: json(transaction.blockHeight),
    blockTime: json(transaction.blockTime),
    previousOnChainState: json(transaction.previousOnChainState),
    newOnChainState: json(transaction.newOnChainState),
    confirmations:
      transaction.status === "Confirmed" ? `${HEIGHT}${transaction.blockHeight}${HEIGHT}` : "null",
  });
}

/** An entry of a purchase's `ActionHistory`. `since` and `until` are epoch milliseconds. */
export function renderPastAction(
  id: string,
  action: NextAction,
  since: number,
  until: number,
): string {
  return object({
    id: json(id),
    createdAt: time(since),
    updatedAt: time(until),
    requestedAction: json(action.requestedAction),
    errorType: json(action.errorType),
    errorNote: json(action.errorNote),
  });
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
  const confirmed = fillPlaceholders(text, HEIGHT, (height) =>
    String(Math.max(tipHeight - Number(height) + 1, 1)),
  );
  return withBlockers(confirmed, holds);
}

function object(fields: Record<string, string>): string {
  return `{${Object.entries(fields)
    .map(([name, text]) => `"${name}":${text}`)
    .join(",")}}`;
}

function json(value: unknown): string {
  return JSON.stringify(value);
}

function time(milliseconds: number): string {
  return `"${new Date(milliseconds).toISOString()}"`;
}

/** Minor units as an exact decimal number of whole coins (10^6 minor units): `168317` → `0.168317`. */
function wholeCoins(minorUnits: string): string {
  const digits = minorUnits.padStart(7, "0");
  const fraction = digits.slice(-6).replace(/0+$/, "");
  return fraction ? `${digits.slice(0, -6)}.${fraction}` : digits.slice(0, -6);
}

function funds(entries: StoredFunds[]): string {
  return json(entries.map(({ amount, unit }) => ({ amount, unit })));
}

function settled(settled: Settled | null): string {
  if (settled === null) return "null";
  return object({ seller: funds(settled.seller), buyer: funds(settled.buyer) });
}

function nextAction(action: NextAction, payment: boolean): string {
  const { requestedAction, errorType, errorNote, resultHash } = action;
  return json({ requestedAction, errorType, errorNote, ...(payment && { resultHash }) });
}

function next(record: EscrowRecord): string {
  const { step, notBefore, deadline, ...waits } = nextOf(record);
  // A lock that nobody agreed on may name a time that no calendar has.
  const at = (milliseconds: number | null) =>
    milliseconds === null || milliseconds > LAST_TIME ? "null" : time(milliseconds);
  return object({
    action: json(step),
    notBefore: at(notBefore),
    deadline: at(deadline),
    // Beside it stands `code`.
    waitsFor: renderWaitsFor(record, { step, notBefore, deadline, ...waits }),
  });
}

/** The other party has no row, so its id is derived from its role and key at this source. */
function counterparty(record: EscrowRecord, vkey: string | null): string {
  if (vkey === null) return "null";
  return json({ id: `${record.sourceId.slice(-10)}${vkey.slice(0, 30)}`, walletVkey: vkey });
}
