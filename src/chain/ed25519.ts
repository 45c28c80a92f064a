/**
 * Ed25519 (RFC 8032) with keys of 32 bytes and signatures of 64. Accepts what the ledger's verifier
 * accepts, except for keys and commitments with a small-order part, which an honest key never
 * produces: there the equation is checked times the cofactor, as RFC 8032 §5.1.7 has it.
 */
import { hashes, Point, verify } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";

// The library has no synchronous hash of its own.
hashes.sha512 = sha512;

/** The order of the group that `Point.BASE` generates. */
export const GROUP_ORDER = Point.CURVE().n;

export { Point };

/**
 * Whether a key signed a message. Non-canonical encodings, keys of small order and scalars not
 * below the group order are refused.
 *
 * @throws RangeError when the signature does not have 64 bytes or the key 32
 */
export function isSignedBy(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  return verify(signature, message, publicKey, { zip215: false });
}
