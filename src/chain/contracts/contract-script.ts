import { parseAddress } from "../address.ts";
import { bytesToHex } from "../hex.ts";
import { parseScript } from "../plutus/script.ts";
import { type Provider, ProviderError } from "../provider/provider.ts";
import type { ScriptSource } from "../transaction/transaction-plan.ts";

/** Contracts whose scripts an isolate keeps: more than a deployment has sources. */
const MAX_CACHED_SCRIPTS = 20;
/** By hash, which a script is checked against: it never changes. */
const cachedScripts = new Map<string, ScriptSource>();

/** A contract's script, as the chain shows it; it is asked for once. @throws ProviderError */
export async function readContractScript(
  contractAddress: string,
  provider: Pick<Provider, "scriptCbor">,
): Promise<ScriptSource> {
  const hash = parseAddress(contractAddress)?.payment.hash ?? "";
  const known = cachedScripts.get(hash) ?? (await fetchScript(hash, provider));
  if (cachedScripts.size < MAX_CACHED_SCRIPTS) cachedScripts.set(hash, known);
  return known;
}

async function fetchScript(
  hash: string,
  provider: Pick<Provider, "scriptCbor">,
): Promise<ScriptSource> {
  const shown = await provider.scriptCbor(hash);
  const script = shown === null ? null : parseScript(hash, shown);
  if (script === null)
    throw new ProviderError(`provider: does not show the script ${hash} of the contract`);
  return { from: "witness", hash, cbor: bytesToHex(script) };
}
