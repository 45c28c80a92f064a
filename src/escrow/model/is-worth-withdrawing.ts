import { MIN_COLLATERAL } from "../../chain/amounts.ts";
import type { PaymentSourceType } from "../../chain/network.ts";
import type { LiveOutput } from "./escrow-record.ts";

/** What is said of a withdrawal that is not worth it. */
export const NOT_WORTH_WITHDRAWING_NOTE =
  "the withdrawal would cost more than it pays, so it is not automatic";

/** The network's fee for a separate withdrawal with an attached script, native minor units. */
const NETWORK_FEE: Record<PaymentSourceType, bigint> = {
  Web3ChainV1: 510_000n,
  Web3ChainV2: 670_000n,
};

/**
 * Whether a withdrawal brings the seller more than it costs. What tokens are worth nobody knows: they
 * always are enough.
 */
export function isWorthWithdrawing(
  { value, collateral }: Pick<LiveOutput, "value"> & { collateral: bigint },
  { type, feeRatePermille }: { type: PaymentSourceType; feeRatePermille: number },
): boolean {
  if (value.some(({ unit, amount }) => unit !== "" && BigInt(amount) > 0n)) return true;
  const coin = BigInt(value.find(({ unit }) => unit === "")?.amount ?? 0);
  const share = type === "Web3ChainV1" ? (coin * BigInt(feeRatePermille)) / 1000n : 0n;
  // An output with a fee in native coins needs less than this to exist.
  const fee = share > 0n && share < MIN_COLLATERAL ? MIN_COLLATERAL : share;
  return coin - collateral - fee > NETWORK_FEE[type];
}
