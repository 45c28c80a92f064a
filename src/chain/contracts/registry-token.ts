import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { bytesToHex, hexToBytes } from "../hex.ts";
import type { PaymentSourceType } from "../network.ts";
import { hashScript } from "../plutus/script.ts";
import { encodeRedeemer } from "./redeemers.ts";

/** What a registry policy allows; an update burns a token and mints its next version. */
type RegistryAction = "mint" | "update" | "burn";

/** Constructor numbers of the registry policies' redeemers. */
const REDEEMERS: Record<PaymentSourceType, Partial<Record<RegistryAction, number>>> = {
  Web3ChainV1: { mint: 0, burn: 1 },
  Web3ChainV2: { mint: 0, update: 1, burn: 2 },
};

/** Generation 2 numbers the tokens of one transaction from here. */
const FIRST_NONCE = 0x10;
const FIRST_VERSION = [0, 0, 0];
const VERSION_DIGITS = 2 * FIRST_VERSION.length;

/** CBOR of the redeemer with which a registry policy allows an action. */
export function encodeRegistryRedeemer(
  type: PaymentSourceType,
  action: RegistryAction,
): Uint8Array {
  const index = REDEEMERS[type][action];
  if (index === undefined) throw new Error(`a policy of ${type} allows no ${action}`);
  return encodeRedeemer(index);
}

/**
 * The asset name (hex, 32 bytes) that a registry policy requires of a new token. The name is derived
 * from an output that the minting transaction spends, so no name is ever used twice.
 *
 * Generation 1: blake2b-256 of transaction id and output index (4 bytes, big-endian). Generation 2: a
 * nonce, blake2b-224 of the same, and the version 0 in three bytes.
 */
export function computeRegistryAssetName(
  type: PaymentSourceType,
  seed: { txHash: string; index: number },
): string {
  const index = new Uint8Array(4);
  new DataView(index.buffer).setUint32(0, seed.index);
  const source = concatBytes(hexToBytes(seed.txHash), index);
  if (type === "Web3ChainV1") return bytesToHex(blake2b(source, { dkLen: 32 }));
  const root = blake2b(source, { dkLen: 28 });
  return bytesToHex(Uint8Array.of(FIRST_NONCE, ...root, ...FIRST_VERSION));
}

/**
 * The asset name (hex) of a token's next version, which an update of generation 2 mints: the version
 * counts up, the rest stays.
 */
export function computeNextAssetName(assetName: string): string {
  const version = Number.parseInt(assetName.slice(-VERSION_DIGITS), 16) + 1;
  return assetName.slice(0, -VERSION_DIGITS) + version.toString(16).padStart(VERSION_DIGITS, "0");
}

/** Whether two identifiers (hex) are of the same token, or of versions of one token of generation 2. */
export function isSameToken(type: PaymentSourceType, one: string, other: string): boolean {
  if (type === "Web3ChainV1") return one === other;
  return one.slice(0, -VERSION_DIGITS) === other.slice(0, -VERSION_DIGITS);
}

/** Whether bytes (hex, as witnesses carry them) are the Plutus V3 script of a policy. */
export function isPolicyScript(policyId: string, scriptCbor: string): boolean {
  return hashScript(hexToBytes(scriptCbor)) === policyId;
}
