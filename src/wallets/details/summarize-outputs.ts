import type { ProviderUtxo } from "../../chain/provider/provider.ts";
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
 * Sums what a wallet can spend now: the provider's outputs, changed by the wallet's own
 * transactions.
 *
 * @param utxos - the provider's view
 * @param reserved - names of reserved outputs
 */
export function summarizeOutputs(
  utxos: readonly ProviderUtxo[],
  context: WalletSnapshot,
  reserved: ReadonlySet<string>,
): OutputsResponse {
  const { chainRoot, collateral, openTransactions: open } = context;
  const outputs = listSpendableOutputs(utxos, context, reserved);
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

/** What those outputs hold together, by unit. */
export function sumSpendableOutputs(
  utxos: readonly ProviderUtxo[],
  context: WalletSnapshot,
  reserved: ReadonlySet<string>,
): Balance {
  const total: Balance = new Map();
  for (const { value } of listSpendableOutputs(utxos, context, reserved)) addValue(total, value);
  return total;
}

function listSpendableOutputs(
  utxos: readonly ProviderUtxo[],
  { openTransactions: open, spentElsewhere }: WalletSnapshot,
  reserved: ReadonlySet<string>,
): WalletOutput[] {
  const foreignSpends = new Set(spentElsewhere.map(({ output }) => output));
  const own = deriveOwnOutputs(toWalletOutputs(utxos), open, foreignSpends);
  return own.filter((one) => !reserved.has(formatOutputReference(one)));
}

const coinOf = ({ value }: WalletOutput): bigint => value.get("") ?? 0n;
