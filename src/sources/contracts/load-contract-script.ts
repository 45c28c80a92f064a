import { bytesToHex } from "../../chain/hex.ts";
import { hashScript, parseScript, ScriptError } from "../../chain/plutus/script.ts";
import type { Provider } from "../../chain/provider/provider.ts";
import type { SourceRow } from "../source-row.ts";
import { requireContractAddress } from "../validate-request.ts";
import { deriveScript } from "./derive-contract.ts";
import type { DevelopmentEnv } from "./local-contracts.ts";

/**
 * The script of a source's contract. The chain shows the script once it was used there. Before that,
 * the script is derived from the source's parameters as for a new source.
 *
 * @returns the hash and the script as witnesses carry it, both hex; null when neither gives it
 * @throws ProviderError
 */
export async function loadContractScript(
  env: DevelopmentEnv,
  provider: Provider,
  source: SourceRow,
): Promise<{ hash: string; cbor: string } | null> {
  const { scriptHash: hash } = requireContractAddress(source.network, source.contractAddress);
  const shown = await provider.scriptCbor(hash);
  const script = shown === null ? null : parseScript(hash, shown);
  const bytes = script ?? (await tryDeriveScript(env, provider, source));
  return bytes !== null && hashScript(bytes) === hash ? { hash, cbor: bytesToHex(bytes) } : null;
}

async function tryDeriveScript(
  env: DevelopmentEnv,
  provider: Provider,
  source: SourceRow,
): Promise<Uint8Array | null> {
  try {
    return await deriveScript(env, provider, source);
  } catch (error) {
    if (error instanceof ScriptError) return null;
    throw error;
  }
}
