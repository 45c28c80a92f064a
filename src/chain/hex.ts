import { bytesToHex } from "@noble/hashes/utils.js";

/** Bytes as lower-case hex, and back. `hexToBytes` throws unless the number of digits is even. */
export { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";

const HEX_PATTERN = /^(?:[0-9a-fA-F]{2})*$/;

/** Whether a text is hex of whole bytes, in either case. The empty text is. */
export function isHex(text: string): boolean {
  return HEX_PATTERN.test(text);
}

/** Random bytes as lower-case hex. */
export function generateHex(bytes: number): string {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(bytes)));
}
