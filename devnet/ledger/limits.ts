/**
 * What a transaction, a block and a mempool may hold. The provider's API states these numbers and
 * the ledger enforces them: there is no second place for them. The other protocol parameters are
 * the emulator's own (`../blockfrost/parameters.ts` states them).
 */
import { LedgerRejection, mismatch } from "./rejection.ts";
import type { LedgerTransaction } from "./transaction.ts";

export interface Limits {
  /** Bytes of a transaction. */
  transactionSize: number;
  /** Memory units of all scripts of a transaction. */
  transactionMemory: number;
  /** CPU steps of all scripts of a transaction. */
  transactionSteps: number;
  /** Bytes of all transactions of a block. */
  blockSize: number;
  blockMemory: number;
  blockSteps: number;
}

export const NETWORK_LIMITS: Limits = {
  transactionSize: 16_384,
  transactionMemory: 14_000_000,
  transactionSteps: 10_000_000_000,
  blockSize: 90_112,
  blockMemory: 62_000_000,
  blockSteps: 20_000_000_000,
};

/** A mempool holds what fits in so many blocks. */
const MEMPOOL_BLOCKS = 2;

/**
 * The limits of a chain that allows less than the network.
 *
 * @throws RangeError when one is higher than the network's, where transactions would then fail
 */
export function lowerLimits(changes: Partial<Limits>): Limits {
  const limits = { ...NETWORK_LIMITS, ...changes };
  for (const name of Object.keys(NETWORK_LIMITS) as (keyof Limits)[])
    if (limits[name] > NETWORK_LIMITS[name])
      throw new RangeError(`${name} is at most the network's ${NETWORK_LIMITS[name]}`);
  return limits;
}

/** What transactions take of a block or a mempool. */
export interface Load {
  size: number;
  memory: bigint;
  steps: bigint;
}

export const NO_LOAD: Load = { size: 0, memory: 0n, steps: 0n };

/** A load with a transaction more. */
export function loaded(load: Load, { cbor, redeemers }: LedgerTransaction): Load {
  return {
    size: load.size + cbor.length,
    memory: redeemers.reduce((sum, { memory }) => sum + memory, load.memory),
    steps: redeemers.reduce((sum, { steps }) => sum + steps, load.steps),
  };
}

export function fitsBlock(load: Load, limits: Limits): boolean {
  return fitsBlocks(load, limits, 1);
}

export function fitsMempool(load: Load, limits: Limits): boolean {
  return fitsBlocks(load, limits, MEMPOOL_BLOCKS);
}

function fitsBlocks(
  { size, memory, steps }: Load,
  { blockSize, blockMemory, blockSteps }: Limits,
  blocks: number,
): boolean {
  return (
    size <= blocks * blockSize &&
    memory <= BigInt(blocks * blockMemory) &&
    steps <= BigInt(blocks * blockSteps)
  );
}

/** @throws LedgerRejection when a transaction alone is too much */
export function requireWithinLimits(tx: LedgerTransaction, limits: Limits): void {
  const { size, memory, steps } = loaded(NO_LOAD, tx);
  if (size > limits.transactionSize)
    throw new LedgerRejection(
      "MaxTxSizeUTxO",
      `${size} bytes are more than ${limits.transactionSize}`,
      mismatch(String(size), String(limits.transactionSize)),
    );
  const { transactionMemory, transactionSteps } = limits;
  if (memory > BigInt(transactionMemory) || steps > BigInt(transactionSteps))
    throw new LedgerRejection(
      "ExUnitsTooBigUTxO",
      `(${memory}, ${steps}) units are more than (${transactionMemory}, ${transactionSteps})`,
      mismatch(executionUnits(memory, steps), executionUnits(transactionMemory, transactionSteps)),
    );
}

function executionUnits(memory: bigint | number, steps: bigint | number): string {
  return `WrapExUnits {unWrapExUnits = ExUnits' {exUnitsMem' = ${memory}, exUnitsSteps' = ${steps}}}`;
}
