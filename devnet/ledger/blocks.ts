import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { slotAt as preprodSlotAt, timeOfSlot } from "../../src/chain/slots.ts";
import { blake2b256 } from "../blake2b.ts";
import type { LedgerTransaction } from "./transaction.ts";

export interface Block {
  height: number;
  /** 64 hex characters, different for every block ever made, on whatever fork. */
  hash: string;
  previousHash: string | null;
  slot: number;
  /** Unix seconds. */
  time: number;
  txs: readonly LedgerTransaction[];
}

/** The slot of a moment in epoch milliseconds. */
export function slotAt(milliseconds: number): number {
  return preprodSlotAt("Preprod", milliseconds);
}

/** When a slot begins, Unix seconds. */
export function slotTime(slot: number): number {
  return timeOfSlot("Preprod", slot) / 1000;
}

/** Preprod: slot 86,400 opens epoch 4, and an epoch lasts five days of one-second slots. */
const SHELLEY_FIRST_SLOT = 86_400;
const SHELLEY_FIRST_EPOCH = 4;
const SLOTS_PER_EPOCH = 432_000;

export interface EpochPosition {
  epoch: number;
  /** Slots since the epoch began. */
  epochSlot: number;
  firstSlot: number;
  /** Exclusive. */
  lastSlot: number;
}

export function epochAt(slot: number): EpochPosition {
  const since = slot - SHELLEY_FIRST_SLOT;
  const epochs = Math.floor(since / SLOTS_PER_EPOCH);
  const firstSlot = SHELLEY_FIRST_SLOT + epochs * SLOTS_PER_EPOCH;
  return {
    epoch: SHELLEY_FIRST_EPOCH + epochs,
    epochSlot: slot - firstSlot,
    firstSlot,
    lastSlot: firstSlot + SLOTS_PER_EPOCH,
  };
}

/** The block at height 0. Its hash, and so that of every later block, depends on `seed`. */
export function genesisBlock(seed: string, slot: number): Block {
  const hash = bytesToHex(blake2b256(utf8ToBytes(`genesis/${seed}`)));
  return { height: 0, hash, previousHash: null, slot, time: slotTime(slot), txs: [] };
}

/**
 * The block after `parent`. Two chains that share a parent make different blocks from the same
 * transactions when their `fork` differs, as two block producers would.
 */
export function nextBlock(
  parent: Block,
  txs: readonly LedgerTransaction[],
  slot: number,
  fork: number,
): Block {
  const height = parent.height + 1;
  const header = [parent.hash, height, slot, fork, ...txs.map((tx) => tx.hash)].join("/");
  const hash = bytesToHex(blake2b256(utf8ToBytes(header)));
  return { height, hash, previousHash: parent.hash, slot, time: slotTime(slot), txs };
}
