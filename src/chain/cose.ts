/** COSE_Sign1 (RFC 9052) as produced by wallets that sign data (CIP-8, CIP-30). */
import { blake2b } from "@noble/hashes/blake2.js";
import { addressToBytes } from "./address.ts";
import {
  type CborNode,
  encodeArray,
  encodeBoolean,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeText,
  tryReadCbor,
} from "./cbor.ts";
import { isSignedBy } from "./ed25519.ts";
import { bytesToHex, hexToBytes, isHex } from "./hex.ts";
import { signExtended, type WalletKeys } from "./wallet-keys.ts";

export interface CoseSignature {
  /** COSE_Sign1, hex. */
  signature: string;
  /** COSE_Key, hex. */
  key: string;
}

/** A parsed COSE_Sign1 with its COSE_Key, not yet verified. */
export interface CoseParts {
  /** Protected headers as they were signed: CBOR of a map. */
  protectedHeader: Uint8Array;
  payload: Uint8Array;
  /** 64 bytes. */
  signature: Uint8Array;
  /** 32 bytes. */
  publicKey: Uint8Array;
  /** From the protected headers: a claim of the signer, proven only by the key's hash. */
  address: Uint8Array | null;
}

/** CBOR tag of COSE_Sign1 (RFC 9052 §2). */
const SIGN1_TAG = 18;
/** Length of blake2b-224, the hash of `hashed` payloads (CIP-8). */
const DIGEST_LENGTH = 28;
const ALGORITHM_LABEL = 1n;
const KEY_ID_LABEL = 4n;
const EDDSA = -8n;
const KEY_TYPE_LABEL = 1n;
const KEY_ALGORITHM_LABEL = 3n;
const OCTET_KEY_PAIR = 1n;
const CURVE_LABEL = -1n;
const ED25519 = 6n;
const PUBLIC_KEY_LABEL = -2n;
const PUBLIC_KEY_LENGTH = 32;
const SIGNATURE_LENGTH = 64;

/** Parses a signature, tagged or not, which is cheap. Null when the bytes are not COSE. */
export function readCoseSign1({ signature, key }: CoseSignature): CoseParts | null {
  const coseKey = tryReadHex(key);
  const outer = tryReadHex(signature);
  const sign1 = outer?.kind === "tag" && outer.tag === SIGN1_TAG ? outer.content : outer;
  if (coseKey === null || sign1?.kind !== "array" || sign1.items.length !== 4) return null;
  // Only the public key is read: older signers numbered the curve's label otherwise.
  const publicKey = bytesAt(coseKey, PUBLIC_KEY_LABEL);
  const [headers, , payload, signed] = sign1.items;
  if (headers?.kind !== "bytes" || payload?.kind !== "bytes" || signed?.kind !== "bytes")
    return null;
  if (publicKey?.length !== PUBLIC_KEY_LENGTH || signed.value.length !== SIGNATURE_LENGTH)
    return null;
  const headerMap = tryReadCbor(headers.value);
  if (headerMap?.kind !== "map") return null;
  return {
    protectedHeader: headers.value,
    payload: payload.value,
    signature: signed.value,
    publicKey,
    address: bytesAt(headerMap, "address"),
  };
}

/** Whether the key signed the payload together with the protected headers. Takes a millisecond. */
export function isCoseSignatureValid({
  protectedHeader: headers,
  payload,
  signature,
  publicKey,
}: CoseParts): boolean {
  return isSignedBy(publicKey, encodeSigStructure(headers, payload), signature);
}

/** What a signature proves about a message. */
export type CoseVerification = "signed" | "other message" | "invalid signature";

/**
 * Decides whether the key signed a message, or its blake2b-224 as hardware wallets do (CIP-8).
 * The flag `hashed` is not read, because its header is not signed. The payload is a claim: only the
 * signature proves which of the two was signed.
 */
export function verifyCoseMessage(parts: CoseParts, message: Uint8Array): CoseVerification {
  if (!isPayloadOf(parts, message)) return "other message";
  const payloads = [message, hashMessage(message)];
  const isSigned = payloads.some((payload) => isCoseSignatureValid({ ...parts, payload }));
  return isSigned ? "signed" : "invalid signature";
}

/** Whether the payload is a message or its blake2b-224. Cheap: the signature is not checked. */
export function isPayloadOf({ payload }: CoseParts, message: Uint8Array): boolean {
  if (areBytesEqual(payload, message)) return true;
  return payload.length === DIGEST_LENGTH && areBytesEqual(payload, hashMessage(message));
}

function hashMessage(message: Uint8Array): Uint8Array {
  return blake2b(message, { dkLen: DIGEST_LENGTH });
}

/** Nothing compared here is secret, so timing may leak. */
function areBytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

/** Signs as a wallet does when asked to sign data with its payment key (CIP-30). */
export function signCoseSign1(payload: Uint8Array, keys: WalletKeys): CoseSignature {
  const { address, paymentPublicKey } = keys;
  const headers = encodeMap([
    [encodeInt(ALGORITHM_LABEL), encodeInt(EDDSA)],
    [encodeInt(KEY_ID_LABEL), encodeBytes(paymentPublicKey)],
    [encodeText("address"), encodeBytes(addressToBytes(address))],
  ]);
  const signature = signExtended(keys, encodeSigStructure(headers, payload));
  const sign1 = encodeArray([
    encodeBytes(headers),
    encodeMap([[encodeText("hashed"), encodeBoolean(false)]]),
    encodeBytes(payload),
    encodeBytes(signature),
  ]);
  const key = encodeMap([
    [encodeInt(KEY_TYPE_LABEL), encodeInt(OCTET_KEY_PAIR)],
    [encodeInt(KEY_ALGORITHM_LABEL), encodeInt(EDDSA)],
    [encodeInt(CURVE_LABEL), encodeInt(ED25519)],
    [encodeInt(PUBLIC_KEY_LABEL), encodeBytes(paymentPublicKey)],
  ]);
  return { signature: bytesToHex(sign1), key: bytesToHex(key) };
}

/** `Sig_structure` of RFC 9052 §4.4, without external data. */
function encodeSigStructure(headers: Uint8Array, payload: Uint8Array): Uint8Array {
  return encodeArray([
    encodeText("Signature1"),
    encodeBytes(headers),
    encodeBytes(new Uint8Array(0)),
    encodeBytes(payload),
  ]);
}

function tryReadHex(hex: string): CborNode | null {
  return isHex(hex) ? tryReadCbor(hexToBytes(hex)) : null;
}

/** The byte string at a label of a map; null when there is none. */
function bytesAt(map: CborNode, label: bigint | string): Uint8Array | null {
  if (map.kind !== "map") return null;
  const entry = map.entries.find(
    ([key]) => (key.kind === "int" || key.kind === "text") && key.value === label,
  );
  return entry?.[1].kind === "bytes" ? entry[1].value : null;
}
