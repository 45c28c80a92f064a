import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Funds, Network, OnChainState, PaymentSourceType } from "../../chain/network.ts";
import { sumToValue, toFunds } from "../../chain/transaction/value.ts";
import type { Progress } from "./intent.ts";
import type { TransactionRecord } from "./transaction-record.ts";

/** `payment`: we hold the seller's wallet. `purchase`: we hold the buyer's. */
export type Side = "payment" | "purchase";

/** An amount as stored: decimal text of minor units; `unit` is `""` for the native coin. */
export interface StoredFunds {
  unit: string;
  amount: string;
}

/** One of our wallets, as records name it. */
export interface WalletReference {
  id: string;
  /** Payment key hash, hex. */
  vkey: string;
  address: string;
}

export function toWalletReference({ id, vkey, address }: WalletReference): WalletReference {
  return { id, vkey, address };
}

export const ESCROW_TIME_NAMES = [
  "payByTime",
  "submitResultTime",
  "unlockTime",
  "externalDisputeUnlockTime",
] as const;
export type EscrowTimeName = (typeof ESCROW_TIME_NAMES)[number];

/** The four times of an escrow, Unix milliseconds. */
export type EscrowTimes<Time> = Record<EscrowTimeName, Time>;

/** Converts the four times of an escrow. */
export function mapTimes<From, To>(
  times: EscrowTimes<From>,
  convert: (time: From) => To,
): EscrowTimes<To> {
  return {
    payByTime: convert(times.payByTime),
    submitResultTime: convert(times.submitResultTime),
    unlockTime: convert(times.unlockTime),
    externalDisputeUnlockTime: convert(times.externalDisputeUnlockTime),
  };
}

/** The fields that only a lock has. */
export interface EscrowLock {
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
export interface EscrowTerms extends EscrowTimes<string> {
  /** Whether a request made the record: then a lock is compared with this. Left out: a lock made it. */
  isRequested?: true;
  agentIdentifier: string;
  /** As its token said when the record was requested; left out: nobody asked. */
  agentName?: string;
  pricingType: "Fixed" | "Free" | "Dynamic";
  inputHash: string;
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
export interface SettledFunds {
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
  /** Unix milliseconds, decimal text; see `formatCooldown`. */
  buyerCooldown: string;
  sellerCooldown: string;
  /** Minor units, decimal text. */
  buyerFees: string;
  sellerFees: string;
  withdrawnForSeller: StoredFunds[];
  withdrawnForBuyer: StoredFunds[];
  /** Null until the escrow has ended. */
  settled: SettledFunds | null;
  /** Null while nothing is locked. */
  lock: EscrowLock | null;
  /** The newest that was applied. */
  transaction: TransactionRecord | null;
  /** The output that holds the funds, `hash#index`; null when none does, or it is not known. */
  utxo: string | null;
  /** Whether something else than was asked for was locked under its identifier; left out: no. */
  hadMismatch?: true;
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
  terms: EscrowTerms;
  /** What was found on the chain. */
  state: ChainState;
  /** With `state.utxo`; null also after an undo, until a transaction is applied again. */
  output: LiveOutput | null;
  progress: Progress;
  /** The managed wallet that acts for the record. Null: not assigned yet. */
  wallet: WalletReference | null;
  /**
   * Whether that wallet, or the payment source, was removed: told by who removes it or adds it again, and
   * touched by nobody else. Left out: no.
   */
  isWalletRemoved?: boolean;
  /** The deadline that was told to be near last, epoch milliseconds; null: none was. */
  lastDeadlineWarning: number | null;
  /** Epoch milliseconds. */
  createdAt: number;
  updatedAt: number;
  lastCheckedAt: number | null;
  chainChangedAt: number;
  actionChangedAt: number;
  changedAt: number;
  sequence: number;
  revision: number;
}

/**
 * A cooldown as it is stored. The contract sets no upper bound, and a party may write thousands of
 * digits. A value that a JSON number cannot hold exactly becomes the largest safe integer.
 */
export function formatCooldown(milliseconds: bigint): string {
  const longest = BigInt(Number.MAX_SAFE_INTEGER);
  return String(milliseconds < longest ? milliseconds : longest);
}

/** Ids of a record's wallets: the acting wallet, or else the wallets that may act. */
export function walletIdsOf({ wallet, terms }: Pick<EscrowRecord, "wallet" | "terms">): string[] {
  return wallet ? [wallet.id] : (terms.walletIds ?? []);
}

const MAX_NOTE_LENGTH = 1_000;
/** Length of the beginning that is kept of a note that is cut. */
const NOTE_HEAD_LENGTH = 500;

/**
 * A note with another sentence appended. A party may cause thousands: then the first, which say how
 * it began, and the last are kept.
 */
export function addNote(note: string | null, sentence: string): string {
  if (note === null) return sentence;
  const both = `${note}; then: ${sentence}`;
  if (both.length <= MAX_NOTE_LENGTH) return both;
  return `${note.slice(0, NOTE_HEAD_LENGTH)} …; then: ${sentence}`;
}

/**
 * Whether nothing is locked: also of one that ended with nothing but deviating locks, whose state says so.
 * Until its time is over, the first lock that fits is taken up.
 */
export function isWithoutLock({
  state,
  progress,
}: Pick<EscrowRecord, "state" | "progress">): boolean {
  return state.onChainState === null || progress.expiredAt !== null;
}

/** Returns a record's lock. A record that a lock created keeps it while the lock is rolled back. */
export function findLock({
  state,
  terms,
}: Pick<EscrowRecord, "state" | "terms">): EscrowLock | null {
  if (state.lock !== null) return state.lock;
  const { buyer, buyerVkey, buyerReturnAddress, sellerReturnAddress, collateralReturn } = terms;
  if (buyer === null || buyerVkey === null || collateralReturn === null) return null;
  return { buyer, buyerVkey, buyerReturnAddress, sellerReturnAddress, collateralReturn };
}

/** What the chain has of a record before its lock. */
export const NO_LOCK_STATE: ChainState = {
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

/** SHA-256 of a blockchain identifier, hex. */
export function hashIdentifier(identifier: string): string {
  return bytesToHex(sha256(new TextEncoder().encode(identifier)));
}

export type Party = "buyer" | "seller";

type Parties = Pick<EscrowRecord, "state" | "terms">;

/**
 * The address that a contract of Web3ChainV2 pays a party's part to: its return address, else its own;
 * null: nobody knows it yet. On Web3ChainV1, which knows no return addresses, it is the party's own.
 */
export function payeeOf(record: Parties, party: Party): string | null {
  const parties = { ...record.terms, ...findLock(record) };
  return parties[`${party}ReturnAddress`] ?? parties[party];
}

/**
 * Whether both parties are paid at one address. The contract checks each party's part separately, so one
 * output would count for both.
 */
export function hasSharedPayee(record: Parties): boolean {
  return payeeOf(record, "buyer") === payeeOf(record, "seller");
}

export function toStoredFunds({ unit, amount }: Funds): StoredFunds {
  return { unit, amount: String(amount) };
}

/** The reverse of `toStoredFunds`. */
export function fundsOf({ unit, amount }: StoredFunds): Funds {
  return { unit, amount: BigInt(amount) };
}

/** A registry may list a unit twice. */
export function sumFunds(funds: readonly StoredFunds[]): Funds[] {
  return toFunds(sumToValue(funds.map(fundsOf)));
}
