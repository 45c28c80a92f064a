import { type Block, epochAt, slotTime } from "../ledger/blocks.ts";
import type { LedgerView } from "../ledger/view.ts";
import { paged } from "./paging.ts";
import {
  BlockfrostError,
  type BlockfrostRequest,
  type Handler,
  notFound,
  param,
} from "./request.ts";
import { totals } from "./shapes.ts";

export const blockHandlers: Record<string, Handler> = {
  "GET /blocks/latest": ({ view }) => blockBody(view, view.tip),

  "GET /blocks/{hash_or_number}": (request) => blockBody(request.view, blockOf(request)),

  "GET /blocks/{hash_or_number}/txs": (request) =>
    paged(
      request,
      blockOf(request).txs.map((tx) => tx.hash),
    ),

  "GET /epochs/latest": ({ view }) => {
    const { epoch, firstSlot, lastSlot } = epochAt(view.tip.slot);
    const blocks = view.blocks.filter(({ slot }) => slot >= firstSlot);
    const txs = blocks.flatMap((block) => block.txs);
    return {
      epoch,
      start_time: slotTime(firstSlot),
      end_time: slotTime(lastSlot),
      first_block_time: blocks[0]?.time ?? slotTime(firstSlot),
      last_block_time: view.tip.time,
      block_count: blocks.length,
      tx_count: txs.length,
      output: lovelaceOut(txs),
      fees: String(txs.reduce((sum, tx) => sum + tx.fee, 0n)),
      active_stake: null,
    };
  },
};

function blockOf(request: BlockfrostRequest): Block {
  const text = param(request, "hash_or_number");
  if (!/^(\d{1,10}|[0-9a-f]{64})$/.test(text)) {
    throw new BlockfrostError(400, "Missing, out of range or malformed block number.");
  }
  const block = request.view.block(text.length === 64 ? text : Number(text));
  if (!block) throw notFound();
  return block;
}

/** Nobody leads slots here, so what a block tells of its leader is empty. */
function blockBody(view: LedgerView, block: Block) {
  const { epoch, epochSlot } = epochAt(block.slot);
  const hasTxs = block.txs.length > 0;
  return {
    time: block.time,
    height: block.height,
    hash: block.hash,
    slot: block.slot,
    epoch,
    epoch_slot: epochSlot,
    slot_leader: "devnet",
    size: block.txs.reduce((sum, tx) => sum + tx.cbor.length, 0),
    tx_count: block.txs.length,
    output: hasTxs ? lovelaceOut(block.txs) : null,
    fees: hasTxs ? String(block.txs.reduce((sum, tx) => sum + tx.fee, 0n)) : null,
    block_vrf: null,
    op_cert: null,
    op_cert_counter: null,
    previous_block: block.previousHash,
    next_block: view.block(block.height + 1)?.hash ?? null,
    confirmations: view.tip.height - block.height,
  };
}

function lovelaceOut(txs: Block["txs"]): string {
  const [lovelace] = totals(txs.flatMap((tx) => tx.produced.map(({ output }) => output)));
  return String(lovelace?.quantity ?? 0n);
}
