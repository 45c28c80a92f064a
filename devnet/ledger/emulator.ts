import { createRequire } from "node:module";
import { hexToBytes } from "@noble/hashes/utils.js";
import { encodeArray, encodeBytes, encodeInt, encodeMap, readCbor } from "../../src/chain/cbor.ts";
import { cut, expectNode, hexOf, intOf, itemsOf } from "./cbor-fields.ts";
import COST_MODELS from "./cost-models.json" with { type: "json" };
import { ledgerRejection } from "./rejection.ts";
import { type OutputReference, outputKey, type RedeemerPurpose } from "./transaction.ts";

/** scalus is one CommonJS bundle whose exports Node cannot name, hence `require`. */
const scalus = createRequire(import.meta.url)("scalus") as typeof import("scalus");

const PREPROD_SLOTS = scalus.SlotConfig.preprod;

/** An output as the ledger's CBOR has it, and the reference that spends it. */
export interface RawUtxo extends OutputReference {
  cbor: Uint8Array;
}

/** The unspent outputs and the rules by which transactions change them. */
export interface Ledger {
  /**
   * Applies a transaction (CBOR) if the rules allow it at a slot.
   *
   * @throws LedgerRejection
   */
  submit(cbor: Uint8Array, slot: number): void;
  /** A ledger that stays as this one is now. */
  snapshot(): Ledger;
  /** A ledger like this one but for some outputs, whatever the rules say. */
  exchanged(gone: readonly OutputReference[], added: readonly RawUtxo[]): Ledger;
}

/** A ledger that holds these outputs. */
export function openLedger(utxos: readonly RawUtxo[]): Ledger {
  return ledgerOf(new scalus.Emulator(encodeUtxoSet(utxos), PREPROD_SLOTS));
}

function ledgerOf(emulator: import("scalus").Emulator): Ledger {
  return {
    submit(cbor, slot) {
      emulator.setSlot(slot);
      const refusal = submitTo(emulator, cbor);
      if (refusal !== null) throw ledgerRejection(refusal, "ApplyTxError");
    },
    snapshot: () => ledgerOf(emulator.snapshot()),
    exchanged(gone, added) {
      const without = new Set(gone.map(outputKey));
      const remaining = decodeUtxoSet(emulator.getUtxosCbor()).filter(
        (utxo) => !without.has(outputKey(utxo)),
      );
      return openLedger([...remaining, ...added]);
    },
  };
}

/** @returns the emulator's reason when it refuses the transaction. */
function submitTo(emulator: import("scalus").Emulator, cbor: Uint8Array): string | null {
  try {
    const { isSuccess, error, logs = [] } = emulator.submitTx(cbor);
    if (isSuccess) return null;
    return withLogs(error ?? "The emulator gave no reason", logs);
  } catch (thrown) {
    return scalusText(thrown);
  }
}

/** What running one script costs. */
export interface Evaluation {
  tag: RedeemerPurpose;
  index: number;
  memory: number;
  steps: number;
}

/**
 * Runs the scripts of a transaction (CBOR), given every output that it names.
 *
 * @throws LedgerRejection when one fails.
 */
export function evaluateScripts(cbor: Uint8Array, utxos: readonly RawUtxo[]): Evaluation[] {
  return runScripts(cbor, encodeUtxoSet(utxos)).map(({ tag, index, budget }) => ({
    tag: evaluationTag(tag),
    index,
    memory: Number(budget.memory),
    steps: Number(budget.steps),
  }));
}

function runScripts(cbor: Uint8Array, utxoSet: Uint8Array) {
  try {
    return scalus.Scalus.evalPlutusScripts(cbor, utxoSet, PREPROD_SLOTS, COST_MODELS);
  } catch (thrown) {
    throw ledgerRejection(scalusText(thrown), "PlutusFailure");
  }
}

function evaluationTag(tag: string): RedeemerPurpose {
  const lower = tag.toLowerCase();
  if (lower === "spend" || lower === "mint") return lower;
  throw new Error(`No script of purpose ${tag} is evaluated here`);
}

/** The text of what scalus threw: some of its exceptions are no `Error`, some have no message. */
function scalusText(thrown: unknown): string {
  const hasMessage = typeof thrown === "object" && thrown !== null && "message" in thrown;
  return (hasMessage && String(thrown.message)) || String(thrown);
}

/** A script may note why it fails. */
function withLogs(reason: string, logs: readonly string[]): string {
  return logs.length > 0 ? `${reason} (the script says: ${logs.join(", ")})` : reason;
}

/** Reads what `encodeUtxoSet` writes. */
function decodeUtxoSet(cbor: Uint8Array): RawUtxo[] {
  const { entries } = expectNode(readCbor(cbor), "map");
  return entries.map(([input, output]) => {
    const [txHash, index] = itemsOf(input);
    return { txHash: hexOf(txHash), index: Number(intOf(index)), cbor: cut(cbor, output) };
  });
}

/** The CBOR map from input to output in which scalus takes UTxO sets. */
function encodeUtxoSet(utxos: readonly RawUtxo[]): Uint8Array {
  return encodeMap(
    utxos.map(({ txHash, index, cbor }) => [
      encodeArray([encodeBytes(hexToBytes(txHash)), encodeInt(BigInt(index))]),
      cbor,
    ]),
  );
}
