import { createRequire } from "node:module";
import { hexToBytes } from "@noble/hashes/utils.js";
import { encodeArray, encodeBytes, encodeInt, encodeMap } from "../src/chain/cbor.ts";
import type { OutputReference } from "./transaction.ts";

/** scalus is one CommonJS bundle whose exports Node cannot name, hence `require`. */
const scalus = createRequire(import.meta.url)("scalus") as typeof import("scalus");

export const { Emulator, Scalus } = scalus;
export const PREPROD_SLOTS = scalus.SlotConfig.preprod;
export type Emulator = import("scalus").Emulator;

/** The text of what scalus threw: some of its exceptions are no `Error`, some have no message. */
export function scalusText(thrown: unknown): string {
  const hasMessage = typeof thrown === "object" && thrown !== null && "message" in thrown;
  return (hasMessage && String(thrown.message)) || String(thrown);
}

/** An output as the ledger's CBOR has it, and the reference that spends it. */
export interface RawUtxo extends OutputReference {
  cbor: Uint8Array;
}

/** The CBOR map from input to output in which scalus takes UTxO sets. */
export function encodeUtxoSet(utxos: readonly RawUtxo[]): Uint8Array {
  return encodeMap(
    utxos.map(({ txHash, index, cbor }) => [
      encodeArray([encodeBytes(hexToBytes(txHash)), encodeInt(BigInt(index))]),
      cbor,
    ]),
  );
}
