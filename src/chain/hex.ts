/** Hex text of bytes, lower-case; and back. `hexToBytes` throws on anything but an even number of digits. */
export { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";

const HEX = /^(?:[0-9a-fA-F]{2})*$/;

/** Whether a text is hex of whole bytes, in either case. The empty text is. */
export function isHex(text: string): boolean {
  return HEX.test(text);
}
