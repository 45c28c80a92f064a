/** What a transaction shall do, before inputs, fee, change and signature. */
import type { Funds } from "../../src/chain/network.ts";
import type { Metadata } from "./metadata.ts";
import type { Wallet } from "./wallets.ts";

export interface PlannedOutput {
  address: string;
  /** The native coin has the unit `""`. */
  funds: Funds[];
  /** CBOR of an inline datum. */
  datum?: Uint8Array;
  /** A Plutus V3 script that the output carries: `scriptCbor` of a contract, hex. */
  referenceScript?: string;
}

/** An output of a contract that is spent. */
export interface PlannedSpend {
  txHash: string;
  index: number;
  funds: Funds[];
  /** CBOR of the redeemer. */
  redeemer: Uint8Array;
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

export interface TransactionPlan {
  /** Pays the fee, is the required signer and receives the change. */
  payer: Wallet;
  outputs?: PlannedOutput[];
  spends?: PlannedSpend[];
  /** Those of one policy share the redeemer of the first. */
  mints?: PlannedMint[];
  /** Outputs that are looked at and not spent. */
  references?: { txHash: string; index: number }[];
  /** The collateral is the payer's output that holds this token; one without tokens otherwise. */
  collateralUnit?: string;
  /** `scriptCbor` (hex) of every contract that runs. */
  scripts?: string[];
  metadata?: Metadata;
  /** Unix milliseconds. */
  validity?: { from: number; to: number };
  /** False claims that a script fails: the ledger then takes the collateral only. */
  isValid?: boolean;
}

/** What a mint adds to the inputs, or a burn takes from them. */
export function mintedFunds({ policyId, assetName, quantity }: PlannedMint): Funds {
  return { unit: policyId + assetName, amount: quantity };
}
