/**
 * BLAKE2b in WebAssembly. The ledger hashes every body, datum and script, and in JavaScript that
 * took a third of what the local chain costs a test run.
 */
import { createBLAKE2b } from "hash-wasm";

type Hash = (bytes: Uint8Array) => Uint8Array;

/** Of scripts and keys. */
export const blake2b224: Hash = await hashOf(224);

/** Of bodies, datums and blocks. */
export const blake2b256: Hash = await hashOf(256);

async function hashOf(bits: number): Promise<Hash> {
  const hasher = await createBLAKE2b(bits);
  return (bytes) => hasher.init().update(bytes).digest("binary");
}
