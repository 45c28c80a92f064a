/** What a transaction shall do, before inputs, fee, change and signature. */
import type { Funds } from "../../../src/chain/network.ts";
import type { Script } from "../../contracts/scripts.ts";
import type { Metadata } from "./metadata.ts";
import type { Wallet } from "./wallets.ts";

export interface PlannedOutput {
  address: string;
  /** The native coin has the unit `""`. */
  funds: Funds[];
  /** CBOR of an inline datum. */
  datum?: Uint8Array;
  /** In place of an inline datum: the hash of one, 32 bytes. */
  datumHash?: Uint8Array;
  /** A script that the output carries. */
  referenceScript?: Script;
}

/** An output of a contract that is spent. */
export interface PlannedSpend {
  txHash: string;
  index: number;
  funds: Funds[];
  /** CBOR of the redeemer. */
  redeemer: Uint8Array;
}

/** A script, and the output on the chain that carries it. */
export interface PublishedScript {
  script: Script;
  output: { txHash: string; index: number };
}

export interface PlannedMint {
  policyId: string;
  /** Hex. */
  assetName: string;
  /** Negative: a burn. */
  quantity: bigint;
  /** CBOR of the redeemer. */
  redeemer: Uint8Array;
}

/** Execution units. */
export interface Units {
  memory: bigint;
  steps: bigint;
}

export interface TransactionPlan {
  /** Pays the fee and receives the change. */
  payer: Wallet;
  /** Who sign besides the payer. */
  coSigners?: readonly Wallet[];
  /** Key hashes, hex, that the transaction lists. Default: those of everybody who signs. */
  requiredSigners?: readonly string[];
  outputs?: PlannedOutput[];
  spends?: PlannedSpend[];
  /** CBOR of the datums of spent outputs that have only the hashes. */
  datums?: readonly Uint8Array[];
  /** Those of one policy share the redeemer of the first. */
  mints?: PlannedMint[];
  /** Outputs that are looked at and not spent. */
  references?: { txHash: string; index: number }[];
  /** The collateral is the payer's output that holds this token; one without tokens otherwise. */
  collateralUnit?: string;
  /** Every script that runs and that the transaction holds. */
  scripts?: readonly Script[];
  /** Those that run and are read from outputs on the chain. */
  reads?: readonly PublishedScript[];
  metadata?: Metadata;
  /** What each script may use. Default: what it uses, as the chain evaluates it. */
  units?: Units;
  /** Unix milliseconds; null is unbounded, which is the default. */
  validity?: { from: number | null; to: number | null };
  /** False claims that a script fails: the ledger then takes the collateral only. */
  isValid?: boolean;
}

/** What a mint adds to the inputs, or a burn takes from them. */
export function mintedFunds({ policyId, assetName, quantity }: PlannedMint): Funds {
  return { unit: policyId + assetName, amount: quantity };
}
