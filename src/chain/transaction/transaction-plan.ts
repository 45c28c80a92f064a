import type { Metadatum } from "../metadata.ts";
import type { ExecutionUnits, ProtocolParameters } from "../provider/provider.ts";
import type { Value } from "./value.ts";

/** An output of a transaction on the chain, or of one that is not there yet. */
export interface OutputReference {
  /** Hex. */
  txHash: string;
  index: number;
}

/** An output that a wallet may spend. */
export interface WalletOutput extends OutputReference {
  value: Value;
}

/** Where the nodes find a Plutus V3 script that runs. */
export type ScriptSource =
  /** In the transaction itself. @see `cbor`: the script as witnesses carry it, hex. */
  | { from: "witness"; hash: string; cbor: string }
  /** In an output on the chain, which the transaction reads; it costs a fee by its size in bytes. */
  | { from: "reference"; hash: string; output: OutputReference; size: number };

/** What runs a script: the redeemer as CBOR, and what the script may use. */
interface ScriptExecution {
  script: ScriptSource;
  redeemer: Uint8Array;
  units: ExecutionUnits;
}

/** A script's output that is spent. Its datum is inline. */
export interface ScriptInput extends OutputReference, ScriptExecution {
  value: Value;
  /**
   * All of its datum, and of what is done with it, on which it depends what its script uses; left out: that
   * is not known.
   */
  shape?: string;
}

/** Tokens of one policy that are minted, or burned where the quantity is negative. */
export interface Mint extends ScriptExecution {
  /** Quantity by asset name, hex. */
  tokens: ReadonlyMap<string, bigint>;
}

/** An output to be made. */
export interface PlannedOutput {
  address: string;
  value: Value;
  /** Inline, CBOR. */
  datum?: Uint8Array;
  /** A Plutus V3 script that others can refer to, as witnesses carry it, hex. */
  script?: string;
}

/** A transaction's content. Who pays for it, the fee and the change are found when it is built. */
export interface TransactionPlan {
  scriptInputs: readonly ScriptInput[];
  mints: readonly Mint[];
  outputs: readonly PlannedOutput[];
  /** Key hashes that have to sign, hex. */
  requiredSigners: readonly string[];
  /** By label. */
  metadata: ReadonlyMap<bigint, Metadatum>;
  /** Slots; `to` is the first in which the transaction is no longer valid. */
  validity: { from: number; to: number };
  parameters: ProtocolParameters;
  /** Of scripts in outputs of the wallet that it spends: they cost a fee like those that it reads. Default 0. */
  spentScriptBytes?: number;
}

/** What a wallet adds, so that a transaction with a certain fee is paid. */
export interface InputSelection {
  inputs: readonly WalletOutput[];
  /** What it gets back, behind the outputs of the plan. */
  change: readonly PlannedOutput[];
  /** Taken if a script fails, except for what returns to the wallet; null where no script runs. */
  collateral: Collateral | null;
}

export interface Collateral {
  /** At least one, and at most as many as the ledger takes. */
  inputs: readonly WalletOutput[];
  /** Native minor units at stake. */
  totalCollateral: bigint;
  /** Where the rest returns. */
  address: string;
}

/** Names an output: `<transaction>#<index>`. */
export function formatOutputReference({ txHash, index }: OutputReference): string {
  return `${txHash}#${index}`;
}

/** Parses the name that `formatOutputReference` gave an output. */
export function parseOutputReference(name: string): OutputReference {
  const [txHash = "", index = ""] = name.split("#");
  return { txHash, index: Number(index) };
}

/** The ledger's order of inputs, which redeemers index. */
export function compareOutputReferences(a: OutputReference, b: OutputReference): number {
  if (a.txHash !== b.txHash) return a.txHash < b.txHash ? -1 : 1;
  return a.index - b.index;
}

/** The tokens of mints as a value; burned ones are negative. */
export function sumMints(mints: readonly Mint[]): Value {
  return new Map(
    mints.flatMap(({ script, tokens }) =>
      [...tokens].map(([assetName, quantity]) => [script.hash + assetName, quantity] as const),
    ),
  );
}
