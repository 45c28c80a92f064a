/**
 * Ed25519 (RFC 8032) with keys of 32 bytes and signatures of 64. It accepts what the ledger's verifier
 * accepts, except for keys and commitments with a small-order part, which an honest key never produces.
 * For these the equation is checked times the cofactor, as RFC 8032 §5.1.7 requires.
 */
import { createPublicKey, verify as verifyNatively } from "node:crypto";
import { hashes, Point, verify } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";

// The library includes no synchronous hash.
hashes.sha512 = sha512;

/** The order of the group that `Point.BASE` generates. */
export const GROUP_ORDER = Point.CURVE().n;

export { Point };

/** `SubjectPublicKeyInfo` of RFC 8410, up to the key's 32 bytes. */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
const KEY_LENGTH = 32;

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
  // The runtime's verifier takes a tenth of the time. It recomputes the commitment without the cofactor.
  // A signature that it accepts is therefore valid here too, if the key is sound. A signature that it
  // refuses may still be valid.
  return (
    (isSignedNatively(publicKey, message, signature) && isCanonicalKey(publicKey)) ||
    verify(signature, message, publicKey, { zip215: false })
  );
}

function isSignedNatively(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (publicKey.length !== KEY_LENGTH) return false;
  const der = Buffer.concat([SPKI_PREFIX, publicKey]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  return verifyNatively(null, message, key, signature);
}

/** Whether a key is encoded canonically and its order is not small. */
function isCanonicalKey(publicKey: Uint8Array): boolean {
  try {
    return !Point.fromBytes(publicKey).isSmallOrder();
  } catch {
    return false;
  }
}
