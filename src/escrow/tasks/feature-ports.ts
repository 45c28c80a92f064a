import type { ProtocolParameters } from "../../chain/provider/provider.ts";
import type { WalletOutput } from "../../chain/transaction/transaction-plan.ts";
import type { Database } from "../../db/client.ts";
import type { AutomationMode } from "../../sources/automation-mode.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import type { EscrowRecord, WalletReference } from "../model/escrow-record.ts";
import type { AutomaticSteps } from "./due-records.ts";

/** Records as a wallet's features last read them. The features share one, since they write records together. */
export interface ReadRecords {
  readonly byId: Map<string, EscrowRecord>;
  /** Of the chain, as far as it was followed then. */
  tipHeight: number;
}

/** A wallet as it works for the escrows of a payment source. */
export interface EscrowPorts {
  /** With `writes: "idempotent"`. */
  database: Database;
  source: Pick<
    SourceRow,
    | "id"
    | "network"
    | "type"
    | "contractAddress"
    | "cooldownTime"
    | "feeRatePermille"
    | "feeReceiverAddress"
  >;
  wallet: WalletReference;
  drives: AutomationMode;
  read: ReadRecords;
}

export interface StepPorts extends EscrowPorts {
  /** Where the wallet's money goes when the record does not say; null: to the wallet. */
  collectionAddress: string | null;
  /** The steps that run automatically. */
  automaticSteps: AutomaticSteps;
  /**
   * The time on the chain, by which steps begin and are over.
   *
   * @param now - wall clock; both epoch milliseconds
   * @throws ProviderError
   */
  chainTime(now: number): Promise<number>;
}

/** What deals purchases to the purchasing wallets of a source. */
export interface LockPorts extends EscrowPorts {
  /** The purchasing wallets of the source that may lock, this one included. */
  buyers: readonly WalletReference[];
  /** What a wallet can spend, as far as is known. @throws ProviderError */
  loadSpendableOutputs(wallet: WalletReference): Promise<readonly WalletOutput[]>;
  /** @throws ProviderError */
  loadParameters(): Promise<ProtocolParameters>;
  /** Wakes another wallet. */
  wakeWallet(vkey: string): Promise<void>;
}
