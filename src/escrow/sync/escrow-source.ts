import type { EscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import type { AddressTransaction } from "../../chain/provider/provider.ts";
import type { ChainOutput, ChainTransaction } from "../../chain/transaction/decode-transaction.ts";
import type { OutputReference } from "../../chain/transaction/transaction-plan.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import type { WalletRole, WalletRow } from "../../wallets/managed/tables.ts";
import type { Side } from "../model/escrow-record.ts";

/** One of our wallets, in the role it plays for a source. Who added it is `requestedById` of its records. */
export type EscrowSourceWallet = Pick<
  WalletRow,
  "id" | "role" | "vkey" | "address" | "createdById"
>;

/** The role of the wallets that act for a side's records. */
export function roleOf(side: Side): WalletRole {
  return side === "payment" ? "Selling" : "Purchasing";
}

/** What sync needs to know of a payment source. */
export interface EscrowSource
  extends Pick<
    SourceRow,
    | "id"
    | "network"
    | "type"
    | "contractAddress"
    | "policyId"
    | "feeReceiverAddress"
    | "feeRatePermille"
  > {
  wallets: EscrowSourceWallet[];
  /**
   * Whether what is read is read for a wallet, also for one that is not in use any more: another run may
   * read for it. Left out: for any.
   */
  isWalletInScope?(wallet: Pick<EscrowSourceWallet, "role" | "vkey">): boolean;
}

/** What an output held that is spent. */
export type SpentFunds = Pick<ChainOutput, "address" | "funds" | "datum">;

/** A transaction that precedes another. */
export interface EarlierTransaction {
  tx: ChainTransaction;
  /**
   * A spent output, read from the bytes of the transaction that made it. This may take one more
   * provider call. Null: the bytes cannot be read; the bytes of payments to our addresses always
   * can.
   */
  spent(input: OutputReference): Promise<SpentFunds | null>;
  /**
   * The datums of the outputs at the contract that it spends, by outpoint (`hash#index`); null where one
   * does not read as an escrow. Needs `spent` for each input that runs a script.
   */
  loadSpentDatums(): Promise<Map<string, EscrowDatum | null>>;
}

/** An output of the contract whose datum reads as an escrow. */
export interface EscrowOutput {
  index: number;
  datum: EscrowDatum;
  output: ChainTransaction["outputs"][number];
  identifier: string;
  /** SHA-256 of the identifier, hex. */
  identifierHash: string;
}

/** A transaction of the contract, read. */
export interface ContractTransaction extends EarlierTransaction {
  at: AddressTransaction;
  /** Its escrow outputs; none when it failed phase 2. */
  outputs: EscrowOutput[];
  /** A transaction whose outputs it spends, or one before that. */
  loadEarlier(txHash: string): Promise<EarlierTransaction>;
}

/** How far a transaction may look back for steps that were skipped. */
export interface Lookback {
  /** Epoch milliseconds after which no earlier transaction is asked for. */
  until: number;
  /** Epoch milliseconds. */
  now(): number;
  /** Whether the transaction may be left to a run that has more time: else the operator is told. */
  isDeferrable: boolean;
}
