import type { Network, PaymentSourceType } from "../chain/network.ts";
import { type Shown, shownTo, wantedLeftBy } from "./previous-version.ts";
import type { ChainState, EscrowRecord, LiveOutput, Side, Terms, WalletName } from "./record.ts";
import type { Wanted } from "./wanted.ts";

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
  output: string | null;
  want: string | null;
  under_way: string | null;
  error: string | null;
  expired_at: number | null;
  wallet: string | null;
  wallet_removed: 1 | null;
  warned_of: number | null;
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
  blockchain_identifier, identifier_hash, requested_by_id, terms, state, output, want, under_way,
  error, expired_at, wallet, wallet_removed, warned_of, created_at, updated_at, last_checked_at,
  chain_changed_at, action_changed_at, changed_at, sequence, rev`;

/** `terms` and `state` as rows hold them: with what the previous version reads there. */
type StoredTerms = Terms & { wallet: WalletName | null };
export type StoredState = Omit<ChainState, "lock" | "settled"> &
  Partial<Pick<ChainState, "lock" | "settled">> &
  Shown;

export function recordOfRow(row: EscrowRow): EscrowRecord {
  const { wallet, ...terms } = JSON.parse(row.terms) as StoredTerms;
  const { state, shown } = chainStateOf(JSON.parse(row.state) as StoredState);
  const isWalletRemoved = row.wallet_removed !== null;
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
    terms,
    state,
    output: outputOf(row, state),
    // The previous version knows of no wallet that was removed: what it would show differs from the columns.
    wanted: isWalletRemoved ? wantedOf(row) : wantedLeftBy(shown, state, wantedOf(row)),
    wallet: parsed<WalletName>(row.wallet) ?? wallet,
    isWalletRemoved,
    warnedOf: row.warned_of,
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

/** What `terms`, `state` and the columns of what is wanted hold, JSON text each. */
export function columnsOf(record: EscrowRecord) {
  const { terms, wallet, wanted, output } = record;
  const stored: StoredTerms = { ...terms, wallet };
  return {
    terms: JSON.stringify(stored),
    state: storedState(record),
    output: output && JSON.stringify(output),
    want: wanted.want && JSON.stringify(wanted.want),
    underWay: wanted.underWay && JSON.stringify(wanted.underWay),
    error: wanted.error && JSON.stringify(wanted.error),
    expiredAt: wanted.expiredAt,
    wallet: wallet && JSON.stringify(wallet),
    walletRemoved: record.isWalletRemoved ? 1 : null,
  };
}

/** A chain state as the previous version reads it, JSON text. */
function storedState(record: EscrowRecord): string {
  const stored: StoredState = { ...record.state, ...shownTo(record) };
  return JSON.stringify(stored);
}

/** A stored state, and what the previous version would show of it. */
export function chainStateOf({ nextAction, ...state }: StoredState): {
  state: ChainState;
  shown: Shown["nextAction"];
} {
  const { lock = null, settled = null } = state;
  return { state: { ...state, lock, settled }, shown: nextAction };
}

/** The previous version moves `utxo` and leaves the output as it was. */
function outputOf(row: Pick<EscrowRow, "output">, { utxo }: ChainState): LiveOutput | null {
  const output = parsed<LiveOutput>(row.output);
  return output?.utxo === utxo ? output : null;
}

function wantedOf(row: EscrowRow): Wanted {
  return {
    want: parsed(row.want),
    underWay: parsed(row.under_way),
    error: parsed(row.error),
    expiredAt: row.expired_at,
  };
}

function parsed<Value>(json: string | null): Value | null {
  return json === null ? null : (JSON.parse(json) as Value);
}
