/** COSE_Sign1 in each form that wallets answer `signData` (CIP-30) with, and in forms that prove nothing. */
import { blake2b } from "@noble/hashes/blake2.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { CoseSignature } from "../../src/chain/cose.ts";
import { bytesToHex } from "../../src/chain/hex.ts";

/** Signs a payload, untagged and with `hashed: false`. */
type Sign = (payload: Uint8Array) => CoseSignature;
/** A form of a signature of a message. */
type Form = [name: string, make: (message: Uint8Array, sign: Sign) => CoseSignature];

const digestOf = (message: Uint8Array) => blake2b(message, { dkLen: 28 });
const withTag = (tag: string, { signature, key }: CoseSignature) => ({
  signature: tag + signature,
  key,
});

/** CBOR of the unprotected headers `{"hashed": false}`, and the same with `true`. */
const NOT_HASHED = "a166686173686564f4";
const HASHED = "a166686173686564f5";
const saysHashed = ({ signature, key }: CoseSignature): CoseSignature => {
  if (!signature.includes(NOT_HASHED)) throw new Error("the signature has no `hashed`");
  return { signature: signature.replace(NOT_HASHED, HASHED), key };
};

/** A payload in place of the one that was signed. */
const withPayload = (
  { signature, key }: CoseSignature,
  signed: Uint8Array,
  shown: Uint8Array,
): CoseSignature => {
  if (signed.length !== shown.length) throw new Error("the payloads differ in length");
  return { signature: signature.replace(bytesToHex(signed), bytesToHex(shown)), key };
};

const changed = (message: Uint8Array) => message.with(0, (message[0] ?? 0) ^ 1);

/** Each proves that the key signed the message. */
export const WALLET_FORMS: readonly Form[] = [
  ["the message", (message, sign) => sign(message)],
  ["the message, under tag 18", (message, sign) => withTag("d2", sign(message))],
  ["the message's hash", (message, sign) => saysHashed(sign(digestOf(message)))],
  [
    "the message's hash, under tag 18",
    (message, sign) => withTag("d2", saysHashed(sign(digestOf(message)))),
  ],
  ["the message's hash, whose header does not say so", (message, sign) => sign(digestOf(message))],
];

/** None proves that the key signed the message. */
export const FORGED_FORMS: readonly Form[] = [
  ["another message", (message, sign) => sign(changed(message))],
  ["another message, under tag 18", (message, sign) => withTag("d2", sign(changed(message)))],
  ["the hash of another message", (message, sign) => saysHashed(sign(digestOf(changed(message))))],
  [
    "the hash of another message, shown as the message's",
    (message, sign) => {
      const other = digestOf(changed(message));
      return saysHashed(withPayload(sign(other), other, digestOf(message)));
    },
  ],
  [
    "another message, shown as the message",
    (message, sign) => withPayload(sign(changed(message)), changed(message), message),
  ],
  [
    "the hash of the message's hash",
    (message, sign) => saysHashed(sign(digestOf(digestOf(message)))),
  ],
  [
    "a hash of another length",
    (message, sign) => saysHashed(sign(blake2b(message, { dkLen: 32 }))),
  ],
  ["a hash of another kind", (message, sign) => saysHashed(sign(sha256(message).slice(0, 28)))],
  ["the message, under another tag", (message, sign) => withTag("d1", sign(message))],
  ["the message, under tag 18 twice", (message, sign) => withTag("d2d2", sign(message))],
];
