/**
 * Compiles the Pebble sources of this folder; run as a program it rewrites `compiled.json`:
 *
 *     npx node devnet/contracts/compile.ts
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { blake2b } from "@noble/hashes/blake2.js";
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js";

/** A compiled script in the form a witness set and the provider's `/scripts/{hash}/cbor` carry. */
export interface CompiledScript {
  /** File name of the Pebble source in this folder. */
  source: string;
  /** The flat program wrapped once as a CBOR byte string, hex. */
  scriptCbor: string;
  /** blake2b-224 of the language byte 3 (Plutus V3) and `scriptCbor`, hex. */
  scriptHash: string;
}

const SOURCES = { Web3ChainV1: "escrow-v1.pebble", Web3ChainV2: "escrow-v2.pebble" };
const COMPILE_TIMEOUT_MS = 60_000;
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/**
 * Compiles every contract from source, each in a child process.
 *
 * @throws when a compilation fails or takes longer than a minute.
 */
export async function compileContracts(): Promise<Record<string, CompiledScript>> {
  const compiled: Record<string, CompiledScript> = {};
  for (const [type, source] of Object.entries(SOURCES)) {
    compiled[type] = { source, ...wrap(await compileToFlat(here(source))) };
  }
  return compiled;
}

async function compileToFlat(path: string): Promise<Uint8Array> {
  const { stdout } = await promisify(execFile)(process.execPath, [here("compile-one.ts"), path], {
    timeout: COMPILE_TIMEOUT_MS,
  });
  return hexToBytes(stdout.trim().split("\n").at(-1) ?? "");
}

function wrap(flat: Uint8Array): { scriptCbor: string; scriptHash: string } {
  const header =
    flat.length < 256 ? [0x58, flat.length] : [0x59, flat.length >> 8, flat.length & 0xff];
  const script = concatBytes(Uint8Array.from(header), flat);
  const hash = blake2b(concatBytes(Uint8Array.of(3), script), { dkLen: 28 });
  return { scriptCbor: bytesToHex(script), scriptHash: bytesToHex(hash) };
}

if (import.meta.main) {
  const compiled = await compileContracts();
  writeFileSync(here("compiled.json"), `${JSON.stringify(compiled, null, 2)}\n`);
}
