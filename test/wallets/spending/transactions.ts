import type { WalletTransaction } from "../../../src/wallets/model/wallet-transaction.ts";

/** A wallet's transaction that spends outputs, by their names. */
export function transaction(
  hash: string,
  inputs: string[],
  more: Partial<WalletTransaction> = {},
): WalletTransaction {
  return {
    hash,
    phase: "Sent",
    sequence: 1,
    sourceId: "",
    tasks: [],
    inputs,
    made: [],
    chainedInput: null,
    changeOutput: null,
    isReplaceable: false,
    collateral: null,
    validFrom: 0,
    validTo: 1_000,
    fee: 0n,
    size: 0,
    memory: 0,
    blockHeight: null,
    blockHash: null,
    blockTime: null,
    overHeight: null,
    error: null,
    movedAt: 0,
    ...more,
  };
}
