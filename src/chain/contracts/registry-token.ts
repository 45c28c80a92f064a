import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { bytesToHex, hexToBytes } from "../hex.ts";
import type { PaymentSourceType } from "../network.ts";
import { hashScript } from "../plutus/script.ts";
import { encodeRedeemer } from "./redeemers.ts";

/** Constructor numbers of the registry policies' redeemers; generation 2 has an update between. */
const REDEEMERS: Record<PaymentSourceType, { mint: number; burn: number }> = {
  Web3ChainV1: { mint: 0, burn: 1 },
  Web3ChainV2: { mint: 0, burn: 2 },
};

/** Generation 2 numbers the tokens of one transaction from here. */
const FIRST_NONCE = 0x10;
const FIRST_VERSION = [0, 0, 0];

/** CBOR of the redeemer with which a registry policy lets a token be minted or burned. */
export function encodeRegistryRedeemer(type: PaymentSourceType, does: "mint" | "burn"): Uint8Array {
  return encodeRedeemer(REDEEMERS[type][does]);
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

/** Whether bytes (hex, as witnesses carry them) are the Plutus V3 script of a policy. */
export function isPolicyScript(policyId: string, scriptCbor: string): boolean {
  return hashScript(hexToBytes(scriptCbor)) === policyId;
}
