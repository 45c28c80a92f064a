import type { Network, OnChainState, PaymentSourceType } from "../chain/network.ts";
import type { PricingType } from "../registry/pricing.ts";

/** `payment`: we hold the seller's wallet. `purchase`: we hold the buyer's. */
export type Side = "payment" | "purchase";

/** An amount as stored: decimal text of minor units; `unit` is `""` for the native coin. */
export interface StoredFunds {
  unit: string;
  amount: string;
}

export interface NextAction {
  requestedAction: string;
  errorType: string | null;
  errorNote: string | null;
  /** The result a submit action carries; payments only, null on purchases. */
  resultHash: string | null;
  /** When the action was set, epoch milliseconds. */
  since: number;
}

/** A transaction as the interface shows it (`CurrentTransaction`, `TransactionHistory`). */
export interface TransactionRecord {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  updatedAt: number;
  txHash: string;
  status: "Confirmed" | "RolledBack";
  /** Minor units, decimal text. */
  fees: string;
  blockHeight: number;
  /** Unix seconds. */
  blockTime: number;
  previousOnChainState: OnChainState | null;
  newOnChainState: OnChainState;
}

/** What the lock fixed. Times are Unix milliseconds as decimal text. */
export interface Terms {
  agentIdentifier: string;
  pricingType: PricingType;
  inputHash: string;
  payByTime: string;
  submitResultTime: string;
  unlockTime: string;
  externalDisputeUnlockTime: string;
  /** Minor units. */
  collateralReturn: string;
  buyer: string;
  buyerVkey: string;
  seller: string;
  sellerVkey: string;
  buyerReturnAddress: string | null;
  sellerReturnAddress: string | null;
  /** What was locked less the collateral: `RequestedFunds` and `PaidFunds`. */
  funds: StoredFunds[];
  /** Our wallet in this escrow. */
  wallet: { id: string; vkey: string; address: string };
}

/** What transactions change. A rollback restores it as a whole. */
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
  nextAction: NextAction;
  transaction: TransactionRecord | null;
  /** The output that holds the funds, `hash#index`; null when none does, or none that we know. */
  utxo: string | null;
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
  state: ChainState;
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

/** A row of `escrow` as SQL gives it, `doc` left out. */
export interface EscrowRow {
  id: string;
  side: Side;
  network: Network;
  source_id: string;
  source_type: PaymentSourceType;
  contract_address: string;
  policy_id: string;
  blockchain_identifier: string;
  identifier_hash: string;
  requested_by_id: string;
  terms: string;
  state: string;
  created_at: number;
  updated_at: number;
  last_checked_at: number | null;
  chain_changed_at: number;
  action_changed_at: number;
  changed_at: number;
  sequence: number;
  rev: number;
}

/** The columns of `EscrowRow`, for SELECT. */
export const ESCROW_COLUMNS = `id, side, network, source_id, source_type, contract_address, policy_id,
  blockchain_identifier, identifier_hash, requested_by_id, terms, state, created_at, updated_at,
  last_checked_at, chain_changed_at, action_changed_at, changed_at, sequence, rev`;

export function recordOfRow(row: EscrowRow): EscrowRecord {
  return {
    id: row.id,
    side: row.side,
    network: row.network,
    sourceId: row.source_id,
    sourceType: row.source_type,
    contractAddress: row.contract_address,
    policyId: row.policy_id,
    blockchainIdentifier: row.blockchain_identifier,
    identifierHash: row.identifier_hash,
    requestedById: row.requested_by_id,
    terms: JSON.parse(row.terms) as Terms,
    state: JSON.parse(row.state) as ChainState,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastCheckedAt: row.last_checked_at,
    chainChangedAt: row.chain_changed_at,
    actionChangedAt: row.action_changed_at,
    changedAt: row.changed_at,
    sequence: row.sequence,
    rev: row.rev,
  };
}

/**
 * A cooldown as it is kept. The contract sets it no upper bound, and a party that locks itself out
 * for ever may write thousands of digits: what a JSON number cannot hold exactly is cut to that.
 */
export function cooldownText(milliseconds: bigint): string {
  const longest = BigInt(Number.MAX_SAFE_INTEGER);
  return String(milliseconds < longest ? milliseconds : longest);
}

/** The state of a record that no transaction has reached yet, or whose lock was rolled back. */
export function unlockedState(now: number): ChainState {
  return {
    onChainState: null,
    resultHash: "",
    buyerCooldown: "0",
    sellerCooldown: "0",
    buyerFees: "0",
    sellerFees: "0",
    withdrawnForSeller: [],
    withdrawnForBuyer: [],
    nextAction: {
      requestedAction: "WaitingForExternalAction",
      errorType: null,
      errorNote: null,
      resultHash: null,
      since: now,
    },
    transaction: null,
    utxo: null,
  };
}
