import type { ProviderUtxo } from "../../chain/provider/provider.ts";
import { outputName, type WalletOutput } from "../../chain/transaction/plan.ts";
import { walletOutputs } from "../../chain/transaction/selection.ts";
import { addAll } from "../../chain/transaction/value.ts";
import type { Balance } from "../balances.ts";
import { headOf } from "../spending/line.ts";
import { ownOutputs } from "../spending/outputs.ts";
import type { ShownOutputs } from "./schemas.ts";
import type { WalletStand } from "./stand.ts";

/**
 * What a wallet can spend now: the provider's outputs, with what its own transactions have changed.
 *
 * @param utxos - at the wallet's address, as the provider shows them
 * @param setAside - names of outputs that are kept for something
 */
export function outputsOf(
  utxos: readonly ProviderUtxo[],
  stand: WalletStand,
  setAside: ReadonlySet<string>,
): ShownOutputs {
  const { lineRoot, collateral, open } = stand;
  const outputs = spendable(utxos, stand, setAside);
  const shown = (name: string | null) => {
    const output = outputs.find((one) => outputName(one) === name);
    return output ? { output: outputName(output), amount: coinOf(output).toString() } : null;
  };
  const largest = outputs.map(coinOf).reduce((most, coin) => (coin > most ? coin : most), 0n);
  return {
    count: outputs.length,
    largest: largest.toString(),
    Line: shown(lineRoot && headOf(lineRoot, open)),
    Collateral: shown(collateral),
  };
}

/** What those outputs hold together, by unit. */
export function spendableOf(
  utxos: readonly ProviderUtxo[],
  stand: WalletStand,
  setAside: ReadonlySet<string>,
): Balance {
  const total: Balance = new Map();
  for (const { value } of spendable(utxos, stand, setAside)) addAll(total, value);
  return total;
}

function spendable(
  utxos: readonly ProviderUtxo[],
  { open, spentElsewhere }: WalletStand,
  setAside: ReadonlySet<string>,
): WalletOutput[] {
  const elsewhere = new Set(spentElsewhere.map(({ output }) => output));
  const own = ownOutputs(walletOutputs(utxos), open, elsewhere);
  return own.filter((one) => !setAside.has(outputName(one)));
}

const coinOf = ({ value }: WalletOutput): bigint => value.get("") ?? 0n;
