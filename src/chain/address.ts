import { base58, bech32 } from "@scure/base";
import { bytesToHex, hexToBytes } from "./hex.ts";
import type { Network } from "./network.ts";

/** A key or script that must authorize the spending of an output or a withdrawal of rewards. */
export interface Credential {
  kind: "key" | "script";
  /** blake2b-224, 56 hex characters. */
  hash: string;
}

export interface AddressParts {
  /** Test networks share one number, so an address of any of them reads as `Preprod`. */
  network: Network;
  payment: Credential;
  /** Null for an enterprise address, and for a pointer address, whose pointer is dropped. */
  stake: Credential | null;
}

/** A payment address (CIP-19): base, enterprise or pointer. */
export interface ParsedAddress extends AddressParts {
  /** As given, in lower case. */
  bech32: string;
}

export class AddressError extends Error {
  override name = "AddressError";
}

const HASH_LENGTH = 28;
const NETWORK_IDS: Record<Network, number> = { Preprod: 0, Mainnet: 1 };
const ADDRESS_PREFIXES: Record<Network, string> = { Preprod: "addr_test", Mainnet: "addr" };
const STAKE_PREFIXES: Record<Network, string> = { Preprod: "stake_test", Mainnet: "stake" };
/** Header types (upper four bits of the first byte) of CIP-19. */
const HEADER_TYPES = { pointer: 4, enterprise: 6, byron: 8, reward: 14 };
const MAX_POINTER_BYTES = 30;
/** CIP-19 lifts bech32's bound of 90 characters; a base address on a test network takes 108. */
const MAX_BECH32_LENGTH = 128;

/**
 * Reads a payment address in bech32. Null for anything else: other text, a wrong checksum, length
 * or prefix, a Byron address (base58) or a stake address.
 */
export function parseAddress(text: string): ParsedAddress | null {
  const decoded = bech32.decodeUnsafe(text, MAX_BECH32_LENGTH);
  const bytes = decoded && bech32.fromWordsUnsafe(decoded.words);
  if (!decoded || !bytes) return null;
  const parts = parseAddressBytes(Uint8Array.from(bytes));
  if (!parts || ADDRESS_PREFIXES[parts.network] !== decoded.prefix) return null;
  return { ...parts, bech32: text.toLowerCase() };
}

function parseAddressBytes(bytes: Uint8Array): AddressParts | null {
  const header = bytes[0];
  if (header === undefined) return null;
  const type = header >> 4;
  const network = networkOfId(header & 0x0f);
  if (network === null || type >= HEADER_TYPES.byron) return null;
  const payment = readCredential(type & 1, bytes.subarray(1));
  const rest = bytes.length - 1 - HASH_LENGTH;
  const fits =
    type < HEADER_TYPES.pointer
      ? rest === HASH_LENGTH
      : type < HEADER_TYPES.enterprise
        ? rest >= 3 && rest <= MAX_POINTER_BYTES
        : rest === 0;
  if (!fits) return null;
  const stake =
    type < HEADER_TYPES.pointer
      ? readCredential((type >> 1) & 1, bytes.subarray(1 + HASH_LENGTH))
      : null;
  return { network, payment, stake };
}

function networkOfId(id: number): Network | null {
  return id === NETWORK_IDS.Preprod ? "Preprod" : id === NETWORK_IDS.Mainnet ? "Mainnet" : null;
}

function readCredential(bit: number, bytes: Uint8Array): Credential {
  return { kind: bit === 0 ? "key" : "script", hash: bytesToHex(bytes.subarray(0, HASH_LENGTH)) };
}

/** bech32 of a base (with stake credential) or enterprise address. */
export function formatAddress({ network, payment, stake }: AddressParts): string {
  const scriptBits = (payment.kind === "script" ? 1 : 0) | (stake?.kind === "script" ? 2 : 0);
  const type = (stake ? 0 : HEADER_TYPES.enterprise) | scriptBits;
  const header = (type << 4) | NETWORK_IDS[network];
  const hashes = hexToBytes(payment.hash + (stake?.hash ?? ""));
  return toBech32(ADDRESS_PREFIXES[network], Uint8Array.of(header, ...hashes));
}

/**
 * The text of an address as explorers show it: bech32, or base58 for a Byron address.
 *
 * @throws AddressError for an unknown kind or network
 */
export function addressFromBytes(bytes: Uint8Array): string {
  const header = bytes[0] ?? 0xff;
  const type = header >> 4;
  if (type === HEADER_TYPES.byron) return base58.encode(bytes);
  const network = networkOfId(header & 0x0f);
  if (network === null || (type > HEADER_TYPES.byron && type < HEADER_TYPES.reward))
    throw new AddressError(`unknown address header ${header}`);
  const prefixes = type >= HEADER_TYPES.reward ? STAKE_PREFIXES : ADDRESS_PREFIXES;
  return toBech32(prefixes[network], bytes);
}

function toBech32(prefix: string, bytes: Uint8Array): string {
  return bech32.encode(prefix, bech32.toWords(bytes), MAX_BECH32_LENGTH);
}

/**
 * The bytes of an address in bech32 (payment or stake) or base58 (Byron).
 *
 * @throws AddressError when the text is neither.
 */
export function addressToBytes(address: string): Uint8Array {
  const decoded = bech32.decodeUnsafe(address, MAX_BECH32_LENGTH);
  const bytes = decoded ? bech32.fromWordsUnsafe(decoded.words) : decodeBase58(address);
  if (!bytes || bytes.length === 0) throw new AddressError("neither bech32 nor base58");
  return Uint8Array.from(bytes);
}

function decodeBase58(text: string): Uint8Array | null {
  try {
    return base58.decode(text);
  } catch {
    return null;
  }
}
