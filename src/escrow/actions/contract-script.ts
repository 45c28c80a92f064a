import { parseAddress } from "../../chain/address.ts";
import { bytesToHex } from "../../chain/hex.ts";
import { scriptOfHash } from "../../chain/plutus/script.ts";
import { type Provider, ProviderError } from "../../chain/provider/provider.ts";
import type { ScriptSource } from "../../chain/transaction/plan.ts";

/** A contract's script, as the chain shows it. @throws ProviderError */
export async function scriptOf(
  contractAddress: string,
  provider: Pick<Provider, "scriptCbor">,
): Promise<ScriptSource> {
  const hash = parseAddress(contractAddress)?.payment.hash ?? "";
  const shown = await provider.scriptCbor(hash);
  const script = shown === null ? null : scriptOfHash(hash, shown);
  if (script === null)
    throw new ProviderError(`provider: does not show the script ${hash} of the contract`);
  return { from: "witness", hash, cbor: bytesToHex(script) };
}
