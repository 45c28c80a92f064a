/**
 * Wallet keys from a mnemonic: BIP-39, Icarus root key (CIP-3), BIP32-Ed25519 derivation, and the
 * paths of CIP-1852. Such keys are extended: two scalars instead of a seed, so the usual signers,
 * which hash a seed first, cannot use them. Their signatures verify as ordinary Ed25519.
 */
import { blake2b } from "@noble/hashes/blake2.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import * as bip39 from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { formatAddress } from "./address.ts";
import { GROUP_ORDER, Point } from "./ed25519.ts";
import { bytesToHex } from "./hex.ts";
import type { Network } from "./network.ts";

export interface WalletKeys {
  /** Extended private key: left and right scalar, 64 bytes. Secret. */
  paymentKey: Uint8Array;
  /** 32 bytes. */
  paymentPublicKey: Uint8Array;
  /** Payment key hash, hex. */
  vkey: string;
  /** Stake key hash, hex. */
  stakeVkey: string;
  /** Base address of both keys, bech32. */
  address: string;
}

/** A node of the derivation tree. */
interface DerivationNode {
  key: Uint8Array;
  chainCode: Uint8Array;
}

const HARDENED_OFFSET = 2 ** 31;
const ACCOUNT_PATH = [1852 + HARDENED_OFFSET, 1815 + HARDENED_OFFSET, 0 + HARDENED_OFFSET];
const PAYMENT_ROLE = 0;
const STAKE_ROLE = 2;

/**
 * The keys and the base address of a wallet's first account and first address.
 *
 * @throws Error when the words are not a mnemonic; the message never holds a word.
 */
export async function deriveWalletKeys(mnemonic: string, network: Network): Promise<WalletKeys> {
  const checked = validateMnemonic(mnemonic);
  if (!checked.ok) throw new Error(checked.problem);
  const entropy = bip39.mnemonicToEntropy(splitWords(mnemonic).join(" "), wordlist);
  const account = ACCOUNT_PATH.reduce(deriveChild, await deriveRootNode(entropy));
  const payment = deriveChild(deriveChild(account, PAYMENT_ROLE), 0);
  const stake = deriveChild(deriveChild(account, STAKE_ROLE), 0);
  const paymentPublicKey = derivePublicKey(payment.key);
  const vkey = hashKey(paymentPublicKey);
  const stakeVkey = hashKey(derivePublicKey(stake.key));
  return {
    paymentKey: payment.key,
    paymentPublicKey,
    vkey,
    stakeVkey,
    address: formatAddress({
      network,
      payment: { kind: "key", hash: vkey },
      stake: { kind: "key", hash: stakeVkey },
    }),
  };
}

const MNEMONIC_LENGTHS: readonly number[] = [12, 15, 18, 21, 24];

/** Whether words are a mnemonic. The problem names a word by its position only: it is a secret. */
export function validateMnemonic(mnemonic: string): { ok: true } | { ok: false; problem: string } {
  const words = splitWords(mnemonic);
  if (!MNEMONIC_LENGTHS.includes(words.length))
    return {
      ok: false,
      problem: `has ${words.length} words, must have ${MNEMONIC_LENGTHS.join(", ")}`,
    };
  const wrong = words.findIndex((word) => !wordlist.includes(word));
  if (wrong >= 0)
    return { ok: false, problem: `word ${wrong + 1} is not in the English BIP-39 list` };
  if (!bip39.validateMnemonic(words.join(" "), wordlist))
    return { ok: false, problem: "checksum does not fit: a word is wrong or out of order" };
  return { ok: true };
}

/** 24 new words (256 bits). */
export function generateMnemonic(): string {
  return bip39.generateMnemonic(wordlist, 256);
}

function splitWords(mnemonic: string): string[] {
  return mnemonic.normalize("NFKD").toLowerCase().split(/\s+/).filter(Boolean);
}

/** Ed25519 signature (64 bytes) with a wallet's payment key. */
export function signExtended(
  { paymentKey, paymentPublicKey }: Pick<WalletKeys, "paymentKey" | "paymentPublicKey">,
  message: Uint8Array,
): Uint8Array {
  const nonce = toScalar(sha512(concatBytes(paymentKey.subarray(32, 64), message)));
  const commitment = Point.BASE.multiply(nonce).toBytes();
  const challenge = toScalar(sha512(concatBytes(commitment, paymentPublicKey, message)));
  const proof = (nonce + challenge * toScalar(paymentKey.subarray(0, 32))) % GROUP_ORDER;
  return concatBytes(commitment, toBytes32(proof));
}

/** blake2b-224 of a public key, hex. */
export function hashKey(publicKey: Uint8Array): string {
  return bytesToHex(blake2b(publicKey, { dkLen: 28 }));
}

function derivePublicKey(key: Uint8Array): Uint8Array {
  return Point.BASE.multiply(toScalar(key.subarray(0, 32))).toBytes();
}

async function deriveRootNode(entropy: Uint8Array): Promise<DerivationNode> {
  const password = await crypto.subtle.importKey("raw", new Uint8Array(0), "PBKDF2", false, [
    "deriveBits",
  ]);
  // The platform's implementation: in plain JavaScript the 4,096 rounds take half a second.
  const stretched = new Uint8Array(
    await crypto.subtle.deriveBits(
      { name: "PBKDF2", hash: "SHA-512", salt: Uint8Array.from(entropy), iterations: 4096 },
      password,
      96 * 8,
    ),
  );
  const [first, last] = [stretched[0] ?? 0, stretched[31] ?? 0];
  // A multiple of the cofactor, with the top bits set so that derivation never overflows.
  stretched[0] = first & 0b1111_1000;
  stretched[31] = (last & 0b0001_1111) | 0b0100_0000;
  return { key: stretched.slice(0, 64), chainCode: stretched.slice(64) };
}

/** Child `index` of a node (BIP32-Ed25519, V2 scheme). */
function deriveChild({ key, chainCode }: DerivationNode, index: number): DerivationNode {
  const hardened = index >= HARDENED_OFFSET;
  const source = concatBytes(hardened ? key : derivePublicKey(key), toUint32Bytes(index));
  const purpose = hardened ? 0 : 2;
  const z = hmac(sha512, chainCode, concatBytes(Uint8Array.of(purpose), source));
  const c = hmac(sha512, chainCode, concatBytes(Uint8Array.of(purpose + 1), source));
  const left = fromLittleEndian(key.subarray(0, 32)) + 8n * fromLittleEndian(z.subarray(0, 28));
  const right = fromLittleEndian(key.subarray(32, 64)) + fromLittleEndian(z.subarray(32, 64));
  return { key: concatBytes(toBytes32(left), toBytes32(right)), chainCode: c.slice(32) };
}

/** Little-endian bytes as a scalar, reduced by the group's order. */
function toScalar(bytes: Uint8Array): bigint {
  return fromLittleEndian(bytes) % GROUP_ORDER;
}

function fromLittleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${bytesToHex(bytes.toReversed())}`);
}

/** The lowest 256 bits, little-endian. */
function toBytes32(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
}

function toUint32Bytes(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}
