/** Plutus scripts in the ledger's form. */
import { bytesToHex } from "../../src/chain/hex.ts";
import { blake2b224 } from "../blake2b.ts";

export const LANGUAGES = ["PlutusV1", "PlutusV2", "PlutusV3"] as const;
export type Language = (typeof LANGUAGES)[number];

export interface Script {
  language: Language;
  /** The flat program wrapped once as a CBOR byte string, hex. */
  cbor: string;
  /** 28 bytes, hex. */
  hash: string;
}

/** The number of a language in a script's hash or reference; native scripts have 0. */
export const numberOf = (language: Language): number => LANGUAGES.indexOf(language) + 1;

/** @param script - the flat program as a CBOR byte string */
export function scriptOf(script: Uint8Array, language: Language = "PlutusV3"): Script {
  const hash = blake2b224(Uint8Array.of(numberOf(language), ...script));
  return { language, cbor: bytesToHex(script), hash: bytesToHex(hash) };
}
