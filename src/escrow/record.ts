import type { Network, OnChainState, PaymentSourceType } from "../chain/network.ts";
import type { PricingType } from "../registry/pricing.ts";
import type { Side } from "./side.ts";
import type { TransactionRecord } from "./transaction-record.ts";
import type { Wanted } from "./wanted.ts";

export type { Side };

/** An amount as stored: decimal text of minor units; `unit` is `""` for the native coin. */
export interface StoredFunds {
  unit: string;
  amount: string;
}

/** One of our wallets, as records name it. */
export interface WalletName {
  id: string;
  /** Payment key hash, hex. */
  vkey: string;
  address: string;
}

/** What a lock has of its own. */
export interface Lock {
  buyer: string;
  buyerVkey: string;
  buyerReturnAddress: string | null;
  sellerReturnAddress: string | null;
  /** Minor units, decimal text. */
  collateralReturn: string;
}

/**
 * What was agreed, written when the record is made and by nobody after: by the request, or else by
 * the lock. Times are Unix milliseconds as decimal text.
 */
export interface Terms {
  /** Whether a request made the record: then a lock is compared with this. Left out: a lock made it. */
  isRequested?: true;
  agentIdentifier: string;
  /** As its token said when the record was requested; left out: nobody asked. */
  agentName?: string;
  pricingType: PricingType;
  inputHash: string;
  payByTime: string;
  submitResultTime: string;
  unlockTime: string;
  externalDisputeUnlockTime: string;
  /** Minor units; null as long as nobody knows it, like the buyer. */
  collateralReturn: string | null;
  buyer: string | null;
  buyerVkey: string | null;
  seller: string;
  sellerVkey: string;
  buyerReturnAddress: string | null;
  sellerReturnAddress: string | null;
  /** The price: `RequestedFunds` and `PaidFunds`. Of a lock, what it holds less the collateral. */
  funds: StoredFunds[];
  /** Ids of the wallets that may lock a purchase; left out: any purchasing wallet of its source. */
  walletIds?: string[];
}

/** Who received what when an escrow ended, return addresses included. */
export interface Settled {
  seller: StoredFunds[];
  buyer: StoredFunds[];
  /** What the contract's operator took of a withdrawal. */
  protocolFee: StoredFunds[];
}

/** What transactions on the chain made of a record. The fold alone writes it, and undo restores it. */
export interface ChainState {
  onChainState: OnChainState | null;
  /** Hex, `""` when there is none. */
  resultHash: string;
  /** Unix milliseconds, decimal text; see `cooldownText`. */
  buyerCooldown: string;
  sellerCooldown: string;
  /** Minor units, decimal text. */
  buyerFees: string;
  sellerFees: string;
  withdrawnForSeller: StoredFunds[];
  withdrawnForBuyer: StoredFunds[];
  /** Null until the escrow has ended, and of rows that a version without it wrote. */
  settled: Settled | null;
  /** Null while nothing is locked. */
  lock: Lock | null;
  /** The newest that was applied. */
  transaction: TransactionRecord | null;
  /** The output that holds the funds, `hash#index`; null when none does, or it is not known. */
  utxo: string | null;
  /** Whether something else than was asked for was locked under its identifier; left out: no. */
  wasDeviatedFrom?: true;
}

/** The output that holds an escrow's funds, as the chain has it. */
export interface LiveOutput {
  /** `hash#index`. */
  utxo: string;
  /** All that it holds, the collateral included. */
  value: StoredFunds[];
  /** CBOR in hex. */
  datum: string;
}

/** A payment or purchase, parsed from its row. */
export interface EscrowRecord {
  id: string;
  side: Side;
  network: Network;
  sourceId: string;
  sourceType: PaymentSourceType;
  contractAddress: string;
  policyId: string;
  blockchainIdentifier: string;
  identifierHash: string;
  requestedById: string;
  terms: Terms;
  /** What was found on the chain. */
  state: ChainState;
  /** With `state.utxo`; null also after an undo, until a transaction is applied again. */
  output: LiveOutput | null;
  wanted: Wanted;
  /** The wallet of ours that acts for it; null: none was chosen yet. */
  wallet: WalletName | null;
  /**
   * Whether that wallet, or the payment source, was removed: told by who removes it or adds it again, and
   * touched by nobody else. Left out: no.
   */
  isWalletRemoved?: boolean;
  /** The deadline that was told to be near last, epoch milliseconds; null: none was. */
  warnedOf: number | null;
  /** Epoch milliseconds. */
  createdAt: number;
  updatedAt: number;
  lastCheckedAt: number | null;
  chainChangedAt: number;
  actionChangedAt: number;
  changedAt: number;
  sequence: number;
  rev: number;
}

/**
 * A cooldown as it is stored. The contract sets no upper bound, and a party may write thousands of
 * digits: a value that a JSON number cannot hold exactly is limited to the largest that it can.
 */
export function cooldownText(milliseconds: bigint): string {
  const longest = BigInt(Number.MAX_SAFE_INTEGER);
  return String(milliseconds < longest ? milliseconds : longest);
}

/** Ids of the wallets of ours that a record is of: the one that acts for it, or else those alone that may. */
export function walletIdsOf({ wallet, terms }: Pick<EscrowRecord, "wallet" | "terms">): string[] {
  return wallet ? [wallet.id] : (terms.walletIds ?? []);
}

const MAX_NOTE_LENGTH = 1_000;
/** Length of the beginning that is kept of a note that is cut. */
const NOTE_BEGINNING = 500;

/**
 * A note with another sentence appended. A party may cause thousands: then the first, which say how
 * it began, and the last are kept.
 */
export function addNote(note: string | null, sentence: string): string {
  if (note === null) return sentence;
  const both = `${note}; then: ${sentence}`;
  if (both.length <= MAX_NOTE_LENGTH) return both;
  return `${note.slice(0, NOTE_BEGINNING)} …; then: ${sentence}`;
}

/**
 * Whether nothing is locked: also of one that ended with nothing but deviating locks, whose state says so.
 * Until its time is over, the first lock that fits is taken up.
 */
export function isUnlocked({ state, wanted }: Pick<EscrowRecord, "state" | "wanted">): boolean {
  return state.onChainState === null || wanted.expiredAt !== null;
}

/** What a record's lock has of its own; of a record that a lock made also while that is rolled back. */
export function lockOf({ state, terms }: Pick<EscrowRecord, "state" | "terms">): Lock | null {
  if (state.lock !== null) return state.lock;
  const { buyer, buyerVkey, buyerReturnAddress, sellerReturnAddress, collateralReturn } = terms;
  if (buyer === null || buyerVkey === null || collateralReturn === null) return null;
  return { buyer, buyerVkey, buyerReturnAddress, sellerReturnAddress, collateralReturn };
}

/** What the chain has of a record before its lock. */
export const UNLOCKED: ChainState = {
  onChainState: null,
  resultHash: "",
  buyerCooldown: "0",
  sellerCooldown: "0",
  buyerFees: "0",
  sellerFees: "0",
  withdrawnForSeller: [],
  withdrawnForBuyer: [],
  settled: null,
  lock: null,
  transaction: null,
  utxo: null,
};
