import * as z from "zod";
import type { ChainClock } from "../../chain-time.ts";
import {
  type AssetProvider,
  type Block,
  type NetworkIdentity,
  type Provider,
  ProviderError,
} from "../provider.ts";
import {
  createRequester,
  createSender,
  type Requester,
  type RequesterOptions,
} from "../request.ts";
import { getPage, toPageQuery } from "./get-page.ts";
import { COUNT_SCHEMA, HASH, HEX, QUANTITY_SCHEMA, toProviderUtxo, UTXO } from "./shapes.ts";
import { createTransactionProvider } from "./transactions.ts";

/** How far the tip may be ahead of the wall clock, seconds: nodes take no block of more than a few. */
const MAX_TIP_AHEAD_S = 300;

/**
 * A provider with the Blockfrost HTTP API. Reads are retried on temporary failures. Refusals (402,
 * 418, 429) are reported to the budget and thrown with the time to retry.
 *
 * @param clock - with `wall` a tip of the future is refused, since it would end everything with a deadline.
 *   Default: `tip`, for a chain that lives in another time
 */
export function createBlockfrostProvider(
  options: RequesterOptions,
  { clock = "tip" }: { clock?: ChainClock } = {},
): Provider & NetworkIdentity {
  const get = createRequester(options);
  const { now = Date.now } = options;
  return {
    ...createAssetProvider(get),
    ...createTransactionProvider(get, createSender(options)),

    async networkMagic() {
      const genesis = await get("/genesis", GENESIS);
      if (genesis === null) throw new ProviderError("provider: has no genesis", { status: 404 });
      return genesis.network_magic;
    },

    async latestBlock() {
      const block = await get("/blocks/latest", BLOCK);
      if (block === null) throw new ProviderError("provider: has no block at all", { status: 404 });
      const ahead = block.time - Math.floor(now() / 1000);
      if (clock === "wall" && ahead > MAX_TIP_AHEAD_S)
        throw new ProviderError(`provider: its tip is ${ahead} s ahead of the time`, {
          status: 200,
        });
      return toBlock(block);
    },

    async block(heightOrHash) {
      const block = await get(`/blocks/${heightOrHash}`, BLOCK);
      return block && toBlock(block);
    },

    async addressTransactions(address, { from, page, count, order = "asc" }) {
      const query = toPageQuery({ page, count, order });
      if (from !== undefined) query.set("from", String(from));
      const path = `/addresses/${encodeURIComponent(address)}/transactions?${query}`;
      const rows = await get(path, ADDRESS_TRANSACTIONS);
      if (rows === null) return null;
      return rows.map((row) => ({
        txHash: row.tx_hash,
        blockHeight: row.block_height,
        txIndex: row.tx_index,
        blockTime: row.block_time,
      }));
    },

    async transaction(hash) {
      const tx = await get(`/txs/${hash}`, TRANSACTION);
      return (
        tx && {
          hash: tx.hash,
          blockHash: tx.block,
          blockHeight: tx.block_height,
          txIndex: tx.index,
          blockTime: tx.block_time,
          validContract: tx.valid_contract,
        }
      );
    },

    async transactionCbor(hash) {
      return (await get(`/txs/${hash}/cbor`, TRANSACTION_CBOR))?.cbor ?? null;
    },

    async transactionUtxos(hash) {
      const utxos = await get(`/txs/${hash}/utxos`, TRANSACTION_UTXOS);
      return (
        utxos && {
          hash: utxos.hash,
          inputs: utxos.inputs
            .filter(({ collateral, reference }) => !collateral && !reference)
            .map(toProviderUtxo),
          outputs: utxos.outputs
            .filter(({ collateral }) => !collateral)
            .map((output) => toProviderUtxo({ ...output, tx_hash: utxos.hash })),
        }
      );
    },
  };
}

const BLOCK = z.object({
  ...{ height: COUNT_SCHEMA, hash: HASH, slot: COUNT_SCHEMA, time: COUNT_SCHEMA },
  previous_block: HASH.nullish(),
});

const GENESIS = z.object({ network_magic: COUNT_SCHEMA });

const ADDRESS_TRANSACTIONS = z.array(
  z.object({
    tx_hash: HASH,
    tx_index: COUNT_SCHEMA,
    block_height: COUNT_SCHEMA,
    block_time: COUNT_SCHEMA,
  }),
);

const TRANSACTION = z.object({
  hash: HASH,
  block: HASH,
  block_height: COUNT_SCHEMA,
  index: COUNT_SCHEMA,
  block_time: COUNT_SCHEMA,
  valid_contract: z.boolean(),
});

const TRANSACTION_CBOR = z.object({ cbor: HEX });

const LISTED_UTXO = UTXO.extend({ collateral: z.boolean() });

const TRANSACTION_UTXOS = z.object({
  hash: HASH,
  inputs: z.array(LISTED_UTXO.extend({ reference: z.boolean().optional() })),
  outputs: z.array(LISTED_UTXO.omit({ tx_hash: true })),
});

function toBlock({ previous_block, ...block }: z.infer<typeof BLOCK>): Block {
  return previous_block ? { ...block, previousHash: previous_block } : block;
}

/** The provider's calls about minting policies and tokens, over a client's GET. */
function createAssetProvider(get: Requester): AssetProvider {
  return {
    async scriptRedeemers(scriptHash, { page, count }) {
      const query = toPageQuery({ page, count, order: "asc" });
      const rows = await get(`/scripts/${scriptHash}/redeemers?${query}`, REDEEMERS);
      return rows?.map(({ tx_hash, purpose }) => ({ txHash: tx_hash, purpose })) ?? null;
    },

    async assetHolders(unit) {
      // The provider calls it malformed, while callers ask for what they like.
      if (unit.length > MAX_UNIT_LENGTH) return null;
      return get(`/assets/${unit}/addresses?order=desc`, HOLDERS);
    },

    async assetMint(unit) {
      const asset = await get(`/assets/${unit}`, ASSET);
      if (asset === null) return null;
      const { initial_mint_tx_hash: first, mint_or_burn_count: count } = asset;
      if (count === 1) return first;
      const changes = await get(`/assets/${unit}/history?order=desc`, ASSET_CHANGES);
      // Dolos has no such list. The contracts' own policies never mint a name twice.
      return changes?.find(({ action }) => action === "minted")?.tx_hash ?? first;
    },

    async addressFunds(address) {
      const found = await get(`/addresses/${encodeURIComponent(address)}`, ADDRESS);
      return found?.amount ?? null;
    },

    async addressOutputs(address, { page, count, order }) {
      const path = `/addresses/${encodeURIComponent(address)}/utxos`;
      const rows = await getPage(get, path, OUTPUTS, { page, count, order });
      return (
        rows?.map((row) => ({
          ...toProviderUtxo(row),
          dataHash: row.data_hash,
          block: row.block,
        })) ?? null
      );
    },
  };
}

/** Policy id and a name of 32 bytes, in hex. */
const MAX_UNIT_LENGTH = 120;

const REDEEMERS = z.array(z.object({ tx_hash: HASH, purpose: z.string() }));
const HOLDERS = z.array(z.object({ address: z.string(), quantity: QUANTITY_SCHEMA }));
const ASSET = z.object({ initial_mint_tx_hash: HASH, mint_or_burn_count: COUNT_SCHEMA });
const ASSET_CHANGES = z.array(z.object({ tx_hash: HASH, action: z.string() }));
const OUTPUTS = z.array(UTXO.extend({ data_hash: HASH.nullable(), block: HASH }));
const ADDRESS = UTXO.pick({ amount: true });
