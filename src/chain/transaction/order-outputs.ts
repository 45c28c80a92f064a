/** The order in which a wallet spends its outputs. */
import { compareOutputReferences, type WalletOutput } from "./transaction-plan.ts";

/** An output with less than this, or with more units than that, costs more than it brings. */
const DUST_COIN = 2_000_000n;
const MAX_DUST_UNITS = 10;

export const coinOf = ({ value }: WalletOutput) => value.get("") ?? 0n;
export const hasTokens = ({ value }: WalletOutput) => value.size > 1;

const isDust = (output: WalletOutput) =>
  coinOf(output) < DUST_COIN || output.value.size > MAX_DUST_UNITS + 1;

/** Those with the most of a unit first. */
export function compareAmounts(unit: string, a: WalletOutput, b: WalletOutput): number {
  const [ofA = 0n, ofB = 0n] = [a.value.get(unit), b.value.get(unit)];
  return ofA > ofB ? -1 : ofA < ofB ? 1 : 0;
}

/** Those that pay best first: with only the native coin, and the most of it. Dust comes last. */
export function compareForSpending(a: WalletOutput, b: WalletOutput): number {
  if (isDust(a) !== isDust(b)) return isDust(a) ? 1 : -1;
  if (hasTokens(a) !== hasTokens(b)) return hasTokens(a) ? 1 : -1;
  return coinOf(a) > coinOf(b) ? -1 : coinOf(a) < coinOf(b) ? 1 : compareOutputReferences(a, b);
}

/** Outputs that one transaction merges. */
const MAX_MERGED_OUTPUTS = 60;

/** Outputs of the native coin alone that can be merged for collateral, the largest first. */
export function selectMergeableOutputs(outputs: readonly WalletOutput[]): WalletOutput[] {
  return outputs
    .filter((one) => !hasTokens(one))
    .toSorted(compareForSpending)
    .slice(0, MAX_MERGED_OUTPUTS);
}
