import type { ProviderUtxo } from "../../chain/provider/provider.ts";
import { coinOf } from "../../chain/transaction/order-outputs.ts";
import { toWalletOutputs } from "../../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type WalletOutput,
} from "../../chain/transaction/transaction-plan.ts";
import { addValue } from "../../chain/transaction/value.ts";
import type { Balance } from "../managed/read-balances.ts";
import { deriveOwnOutputs } from "../spending/context/output-view.ts";
import { findChainHead } from "../spending/model/outward-chain.ts";
import type { OutputsResponse } from "./response-schemas.ts";
import type { WalletSnapshot } from "./wallet-snapshot.ts";

/**
 * Lists what a wallet can spend now: the provider's outputs, changed by the wallet's own
 * transactions.
 *
 * @param utxos - the provider's view
 * @param reserved - names of reserved outputs
 */
export function listSpendableOutputs(
  utxos: readonly ProviderUtxo[],
  { openTransactions, spentElsewhere }: WalletSnapshot,
  reserved: ReadonlySet<string>,
): WalletOutput[] {
  return deriveOwnOutputs(toWalletOutputs(utxos), openTransactions, spentElsewhere, reserved);
}

/** Shows what a wallet can spend now. */
export function summarizeOutputs(
  outputs: readonly WalletOutput[],
  { chainRoot, collateral, openTransactions: open }: WalletSnapshot,
): OutputsResponse {
  const renderOutput = (name: string | null) => {
    const output = outputs.find((one) => formatOutputReference(one) === name);
    return output
      ? { output: formatOutputReference(output), amount: coinOf(output).toString() }
      : null;
  };
  const largest = outputs.map(coinOf).reduce((most, coin) => (coin > most ? coin : most), 0n);
  return {
    count: outputs.length,
    largest: largest.toString(),
    Line: renderOutput(chainRoot && findChainHead(chainRoot, open)),
    Collateral: renderOutput(collateral),
  };
}

/** What outputs hold together, by unit. */
export function sumOutputs(outputs: readonly WalletOutput[]): Balance {
  const total: Balance = new Map();
  for (const { value } of outputs) addValue(total, value);
  return total;
}
