import { findLargestOutput, isCollateralOutput } from "../../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type WalletOutput,
} from "../../chain/transaction/transaction-plan.ts";
import type { WalletTransaction } from "../model/wallet-transaction.ts";
import { deriveOwnOutputs } from "./context/output-view.ts";
import { ancestryOf, compareByCoin } from "./model/choose-parallel-output.ts";
import { findChainHead } from "./model/outward-chain.ts";
import type { WalletState } from "./store/wallet.ts";

/**
 * Lists outputs that a wallet can spare for a day, smallest first. They are in a block, hold only the native
 * coin, and are neither the head of the outward chain nor collateral.
 *
 * @param shown - the provider's view.
 * @param open - all transactions of the wallet that are not final.
 * @param reserved - names of outputs that are already reserved.
 */
export function listUnreservedOutputs(
  shown: readonly WalletOutput[],
  { chainRoot, collateral, spentElsewhere }: WalletState,
  open: readonly WalletTransaction[],
  reserved: ReadonlySet<string>,
): WalletOutput[] {
  const own = deriveOwnOutputs(shown, open, spentElsewhere, reserved);
  const free = own.filter((one) => formatOutputReference(one) !== collateral);
  const headName = chainRoot === null ? null : findChainHead(chainRoot, open);
  const head =
    free.find((one) => formatOutputReference(one) === headName) ?? findLargestOutput(free);
  const names = new Set(shown.map(formatOutputReference));
  const ancestry = ancestryOf(open);
  return free
    .filter((one) => {
      const name = formatOutputReference(one);
      const isFirm = names.has(name) && ancestry(name).depth === 0;
      return one !== head && one.value.size === 1 && isFirm && !isCollateralOutput(one);
    })
    .sort(compareByCoin);
}
