import { MIN_COLLATERAL } from "../../chain/amounts.ts";
import type { EscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import type { Funds } from "../../chain/network.ts";
import { computeMinimumDeposit } from "../model/minimum-deposit.ts";

/** What an escrow costs, as far as a quote can tell. Network fees come on top. */
export interface CostEstimate {
  /** Native minor units that have to be locked: the price, or what the output needs to exist. */
  minimumNativeLock: bigint;
  /** What the contract takes from the seller. */
  protocolFee: Funds[];
  /** What the seller is left with, below zero where the fee is more than the price. */
  expectedNet: Funds[];
}

/**
 * Estimates an escrow's deposit and costs.
 *
 * @param price - by unit, each once
 * @param quote - the locked datum, with any buyer
 * @param feePermille - of the payment source; Web3ChainV2 has none
 */
export function estimateCosts(
  price: readonly Funds[],
  quote: EscrowDatum,
  feePermille: number,
): CostEstimate {
  const native = price.find(({ unit }) => unit === "")?.amount ?? 0n;
  const tokens = price.filter(({ unit }) => unit !== "");
  const needed = computeMinimumDeposit(quote, tokens.length);
  const minimumNativeLock = native + computeCollateral(native, needed);
  const rate = quote.version === "Web3ChainV1" ? BigInt(feePermille) : 0n;
  const share = (amount: bigint) => (amount * rate) / 1000n;
  const nativeShare = share(minimumNativeLock);
  // The output with the fee needs 1,211,110 to exist; with tokens, it may need more than this minimum.
  const nativeFee = rate > 0n && nativeShare < MIN_COLLATERAL ? MIN_COLLATERAL : nativeShare;
  const fees = [
    { unit: "", amount: nativeFee },
    ...tokens.map(({ unit, amount }) => ({ unit, amount: share(amount) })),
  ];
  const paid = [{ unit: "", amount: native }, ...tokens];
  return {
    minimumNativeLock,
    protocolFee: fees.filter(({ amount }) => amount > 0n),
    expectedNet: paid
      .map(({ unit, amount }, i) => ({ unit, amount: amount - (fees[i]?.amount ?? 0n) }))
      .filter(({ amount }) => amount !== 0n),
  };
}

/** What is locked on top of a price so that the output may exist, and goes back to the buyer. */
export function computeCollateral(native: bigint, needed: bigint): bigint {
  if (native >= needed) return 0n;
  const missing = needed - native;
  return missing < MIN_COLLATERAL ? MIN_COLLATERAL : missing;
}
