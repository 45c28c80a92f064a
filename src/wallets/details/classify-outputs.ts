import type { ProviderUtxo } from "../../chain/provider/provider.ts";
import { walletOutputs } from "../../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type WalletOutput,
} from "../../chain/transaction/transaction-plan.ts";
import { addAll } from "../../chain/transaction/value.ts";
import type { Balance } from "../managed/read-balances.ts";
import { ownOutputs } from "../spending/context/output-view.ts";
import { findHead } from "../spending/model/outward-line.ts";
import type { OutputsResponse } from "./response-schemas.ts";
import type { WalletSnapshot } from "./wallet-snapshot.ts";

/**
 * Sums what a wallet can spend now: the provider's outputs, changed by the wallet's own
 * transactions.
 *
 * @param utxos - the provider's view
 * @param setAside - names of reserved outputs
 */
export function classifyOutputs(
  utxos: readonly ProviderUtxo[],
  context: WalletSnapshot,
  reserved: ReadonlySet<string>,
): OutputsResponse {
  const { lineRoot, collateral, open } = context;
  const outputs = spendable(utxos, context, reserved);
  const shown = (name: string | null) => {
    const output = outputs.find((one) => formatOutputReference(one) === name);
    return output
      ? { output: formatOutputReference(output), amount: coinOf(output).toString() }
      : null;
  };
  const largest = outputs.map(coinOf).reduce((most, coin) => (coin > most ? coin : most), 0n);
  return {
    count: outputs.length,
    largest: largest.toString(),
    Line: shown(lineRoot && findHead(lineRoot, open)),
    Collateral: shown(collateral),
  };
}

/** What those outputs hold together, by unit. */
export function sumSpendable(
  utxos: readonly ProviderUtxo[],
  context: WalletSnapshot,
  reserved: ReadonlySet<string>,
): Balance {
  const total: Balance = new Map();
  for (const { value } of spendable(utxos, context, reserved)) addAll(total, value);
  return total;
}

function spendable(
  utxos: readonly ProviderUtxo[],
  { open, spentElsewhere }: WalletSnapshot,
  reserved: ReadonlySet<string>,
): WalletOutput[] {
  const foreignSpends = new Set(spentElsewhere.map(({ output }) => output));
  const own = ownOutputs(walletOutputs(utxos), open, foreignSpends);
  return own.filter((one) => !reserved.has(formatOutputReference(one)));
}

const coinOf = ({ value }: WalletOutput): bigint => value.get("") ?? 0n;
