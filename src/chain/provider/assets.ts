import * as z from "zod";
import { getPage } from "./pages.ts";
import type { AssetProvider } from "./provider.ts";
import type { Requester } from "./request.ts";
import { UTXO, utxoOf } from "./transactions.ts";

/** The provider's calls about minting policies and tokens, over a client's GET. */
export function createAssetCalls(get: Requester): AssetProvider {
  return {
    async scriptRedeemers(scriptHash, { page, count }) {
      const query = new URLSearchParams({
        order: "asc",
        count: String(count),
        page: String(page),
      });
      const rows = await get(`/scripts/${scriptHash}/redeemers?${query}`, REDEEMERS);
      return rows?.map(({ tx_hash, purpose }) => ({ txHash: tx_hash, purpose })) ?? null;
    },

    async assetHolders(unit) {
      // The provider calls it malformed, while callers ask for what they like.
      if (unit.length > MAX_UNIT_LENGTH) return null;
      return get(`/assets/${unit}/addresses?order=desc`, HOLDERS);
    },

    async assetMetadata(unit) {
      const asset = await get(`/assets/${unit}`, ASSET);
      return (
        asset && { onchainMetadata: asset.onchain_metadata, mintTxHash: asset.initial_mint_tx_hash }
      );
    },

    async addressFunds(address) {
      const found = await get(`/addresses/${encodeURIComponent(address)}`, ADDRESS);
      return found?.amount ?? null;
    },

    async addressOutputs(address, { page, count, order }) {
      const path = `/addresses/${encodeURIComponent(address)}/utxos`;
      const rows = await getPage(get, path, OUTPUTS, { page, count, order });
      return (
        rows?.map((row) => ({ ...utxoOf(row), dataHash: row.data_hash, block: row.block })) ?? null
      );
    },
  };
}

/** Policy id and a name of 32 bytes, in hex. */
const MAX_UNIT_LENGTH = 120;

const HASH = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hex characters");
const QUANTITY = z.string().regex(/^\d+$/);

const REDEEMERS = z.array(z.object({ tx_hash: HASH, purpose: z.string() }));
const HOLDERS = z.array(z.object({ address: z.string(), quantity: QUANTITY }));
const ASSET = z.object({ onchain_metadata: z.unknown(), initial_mint_tx_hash: HASH });
const OUTPUTS = z.array(UTXO.extend({ data_hash: HASH.nullable(), block: HASH }));
const ADDRESS = z.object({
  amount: z.array(z.object({ unit: z.string(), quantity: QUANTITY })),
});
