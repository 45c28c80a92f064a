import * as z from "zod";
import type { ChainClock } from "../chain-time.ts";
import { createAssetCalls } from "./assets.ts";
import { type Block, type Provider, ProviderError, type ProviderUtxo } from "./provider.ts";
import { createRequester, createSender, type RequesterOptions } from "./request.ts";
import { createTransactionCalls } from "./transactions.ts";

/** How far the tip may be ahead of the wall clock, seconds: nodes take no block of more than a few. */
const MAX_AHEAD_S = 300;

/**
 * A provider with the Blockfrost HTTP API. Reads are retried on temporary failures; refusals (402,
 * 418, 429) are reported to the budget and thrown with the time to retry.
 *
 * @param clock - with `wall` a tip of the future is refused: by a single one everything that has a deadline
 *   would end. Default: `tip`, for a chain that lives in another time
 */
export function createBlockfrost(
  options: RequesterOptions,
  { clock = "tip" }: { clock?: ChainClock } = {},
): Provider {
  const get = createRequester(options);
  const { now = Date.now } = options;
  return {
    ...createAssetCalls(get),
    ...createTransactionCalls(get, createSender(options)),

    async latestBlock() {
      const block = await get("/blocks/latest", BLOCK);
      if (block === null) throw new ProviderError("provider: has no block at all", { status: 404 });
      const ahead = block.time - Math.floor(now() / 1000);
      if (clock === "wall" && ahead > MAX_AHEAD_S)
        throw new ProviderError(`provider: its tip is ${ahead} s ahead of the time`, {
          status: 200,
        });
      return blockOf(block);
    },

    async block(heightOrHash) {
      const block = await get(`/blocks/${heightOrHash}`, BLOCK);
      return block && blockOf(block);
    },

    async addressTransactions(address, { from, page, count, order = "asc" }) {
      const query = new URLSearchParams({ order, count: String(count), page: String(page) });
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
            .map((input) => utxoOf(input, input.tx_hash)),
          outputs: utxos.outputs
            .filter(({ collateral }) => !collateral)
            .map((output) => utxoOf(output, utxos.hash)),
        }
      );
    },
  };
}

const HASH = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hex characters");
const HEX = z.string().regex(/^(?:[0-9a-f]{2})*$/, "must be hex");
const COUNT = z.int().nonnegative();

const BLOCK = z.object({
  ...{ height: COUNT, hash: HASH, slot: COUNT, time: COUNT },
  previous_block: HASH.nullish(),
});

const ADDRESS_TRANSACTIONS = z.array(
  z.object({ tx_hash: HASH, tx_index: COUNT, block_height: COUNT, block_time: COUNT }),
);

const TRANSACTION = z.object({
  hash: HASH,
  block: HASH,
  block_height: COUNT,
  index: COUNT,
  block_time: COUNT,
  valid_contract: z.boolean(),
});

const TRANSACTION_CBOR = z.object({ cbor: HEX });

const UTXO = z.object({
  address: z.string(),
  amount: z.array(z.object({ unit: z.string(), quantity: z.string().regex(/^\d+$/) })),
  output_index: COUNT,
  inline_datum: HEX.nullable(),
  reference_script_hash: z.string().nullable(),
  collateral: z.boolean(),
});

const TRANSACTION_UTXOS = z.object({
  hash: HASH,
  inputs: z.array(UTXO.extend({ tx_hash: HASH, reference: z.boolean().optional() })),
  outputs: z.array(UTXO),
});

function blockOf({ previous_block, ...block }: z.infer<typeof BLOCK>): Block {
  return previous_block ? { ...block, previousHash: previous_block } : block;
}

function utxoOf(utxo: z.infer<typeof UTXO>, txHash: string): ProviderUtxo {
  return {
    address: utxo.address,
    txHash,
    outputIndex: utxo.output_index,
    amount: utxo.amount,
    inlineDatum: utxo.inline_datum,
    referenceScriptHash: utxo.reference_script_hash,
  };
}
