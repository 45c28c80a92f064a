import { blake2b } from "@noble/hashes/blake2.js";
import { hexToBytes } from "@noble/hashes/utils.js";
import { bech32 } from "@scure/base";

/** CIP-14: blake2b-160 of policy id and asset name (`unit`, hex), in bech32. */
export function assetFingerprint(unit: string): string {
  return bech32.encodeFromBytes("asset", blake2b(hexToBytes(unit), { dkLen: 20 }));
}
