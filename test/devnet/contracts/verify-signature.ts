/** Verifies a signature of a wallet (CIP-8). */
import { ed25519 } from "@noble/curves/ed25519.js";
import { encodeArray, encodeBytes, encodeText } from "../../../src/chain/cbor.ts";

export function verifySignature(
  key: Uint8Array,
  headers: Uint8Array,
  payload: Uint8Array,
  signature: Uint8Array,
): boolean {
  const parts = [headers, new Uint8Array(), payload].map(encodeBytes);
  return ed25519.verify(signature, encodeArray([encodeText("Signature1"), ...parts]), key);
}
