import { bytesToHex } from "../../chain/hex.ts";
import { ScriptError, scriptHash, scriptOfHash } from "../../chain/plutus/script.ts";
import type { Provider } from "../../chain/provider/provider.ts";
import { contractAt } from "../checks.ts";
import type { SourceRow } from "../record.ts";
import { derivedScript } from "./derive.ts";
import type { DevelopmentEnv } from "./local.ts";

/**
 * The script of a source's contract. The chain shows the script once it was used there. Before that,
 * the script is derived from the source's parameters as for a new source.
 *
 * @returns the hash and the script as witnesses carry it, both hex; null when neither gives it
 * @throws ProviderError
 */
export async function contractScript(
  env: DevelopmentEnv,
  provider: Provider,
  source: SourceRow,
): Promise<{ hash: string; cbor: string } | null> {
  const { scriptHash: hash } = contractAt(source.network, source.contractAddress);
  const shown = await provider.scriptCbor(hash);
  const script = shown === null ? null : scriptOfHash(hash, shown);
  const bytes = script ?? (await derivedOrNull(env, provider, source));
  return bytes !== null && scriptHash(bytes) === hash ? { hash, cbor: bytesToHex(bytes) } : null;
}

async function derivedOrNull(
  env: DevelopmentEnv,
  provider: Provider,
  source: SourceRow,
): Promise<Uint8Array | null> {
  try {
    return await derivedScript(env, provider, source);
  } catch (error) {
    if (error instanceof ScriptError) return null;
    throw error;
  }
}
