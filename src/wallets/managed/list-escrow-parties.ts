import { decodeEscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import { MAX_UTXOS } from "../../chain/provider/blockfrost/transactions.ts";
import type { Provider } from "../../chain/provider/provider.ts";
import type { SourceRow } from "../../sources/source-row.ts";

/** A payment source's contract, as far as its datums depend on it. */
export type EscrowContract = Pick<SourceRow, "type" | "network" | "contractAddress">;

/**
 * Lists the buyers and sellers of a contract's open escrows.
 *
 * @returns payment key hashes, hex. Null: the contract has too many outputs to list.
 * @throws ProviderError.
 */
export async function listEscrowParties(
  provider: Pick<Provider, "addressUtxos">,
  { type: version, network, contractAddress }: EscrowContract,
): Promise<ReadonlySet<string> | null> {
  const utxos = await provider.addressUtxos(contractAddress);
  if (utxos.length >= MAX_UTXOS) return null;
  const parties = new Set<string>();
  for (const { inlineDatum } of utxos) {
    if (inlineDatum === null) continue;
    const decoded = decodeEscrowDatum(inlineDatum, { version, network, contractAddress });
    if (decoded.ok) parties.add(decoded.datum.buyerVkey).add(decoded.datum.sellerVkey);
  }
  return parties;
}
