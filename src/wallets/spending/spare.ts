import { outputName, type WalletOutput } from "../../chain/transaction/plan.ts";
import { isForCollateral, largestOf } from "../../chain/transaction/selection.ts";
import { byCoin, groundOf } from "./lanes.ts";
import { headOf } from "./line.ts";
import { ownOutputs } from "./outputs.ts";
import type { WalletState } from "./stored/wallet.ts";
import type { WalletTransaction } from "./transaction.ts";

/**
 * Outputs that a wallet can do without for a day: in a block, of the native coin alone, and neither the
 * end of its line nor its collateral. The smallest come first.
 *
 * @param shown - as the provider shows them
 * @param open - all transactions of the wallet that are not final
 * @param setAside - names of those that are set aside already
 */
export function spareOutputs(
  shown: readonly WalletOutput[],
  { lineRoot, collateral, spentElsewhere }: WalletState,
  open: readonly WalletTransaction[],
  setAside: ReadonlySet<string>,
): WalletOutput[] {
  const elsewhere = new Set(spentElsewhere.map(({ output }) => output));
  const own = ownOutputs(shown, open, elsewhere).filter((one) => !setAside.has(outputName(one)));
  const free = own.filter((one) => outputName(one) !== collateral);
  const end = lineRoot === null ? null : headOf(lineRoot, open);
  const line = free.find((one) => outputName(one) === end) ?? largestOf(free);
  const names = new Set(shown.map(outputName));
  const ground = groundOf(open);
  return free
    .filter((one) => {
      const name = outputName(one);
      const isFirm = names.has(name) && ground(name).depth === 0;
      return one !== line && one.value.size === 1 && isFirm && !isForCollateral(one);
    })
    .sort(byCoin);
}
