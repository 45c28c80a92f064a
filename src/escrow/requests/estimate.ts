import { MIN_COLLATERAL } from "../../chain/amounts.ts";
import { type EscrowDatum, encodeEscrowDatum } from "../../chain/escrow-datum.ts";
import type { Funds } from "../../chain/network.ts";

/** Minor units for a byte of an output, on both networks for years. */
const COINS_PER_BYTE = 4310n;
/** What the ledger counts of an output besides its bytes. */
const OUTPUT_OVERHEAD = 160n;
/** An output's bytes besides datum and tokens, with what later steps may add. */
const OUTPUT_BYTES = 165n;
const BYTES_PER_TOKEN = 50n;

/** What an escrow costs, as far as a quote can tell. Network fees come on top. */
export interface Estimate {
  /** Native minor units that have to be locked: the price, or what the output needs to exist. */
  minimumNativeLock: bigint;
  /** What the contract takes from the seller. */
  protocolFee: Funds[];
  /** What the seller is left with, below zero where the fee is more than the price. */
  expectedNet: Funds[];
}

/**
 * Estimates what an escrow binds and costs.
 *
 * @param price - by unit, each once
 * @param quote - the escrow's datum as it is locked, whose buyer may be any
 * @param feePermille - of the payment source; Web3ChainV2 takes none
 */
export function estimate(
  price: readonly Funds[],
  quote: EscrowDatum,
  feePermille: number,
): Estimate {
  const native = price.find(({ unit }) => unit === "")?.amount ?? 0n;
  const tokens = price.filter(({ unit }) => unit !== "");
  const needed = minimumOutput(quote, tokens.length);
  const minimumNativeLock = native + collateralOf(native, needed);
  const rate = quote.version === "Web3ChainV1" ? BigInt(feePermille) : 0n;
  const share = (amount: bigint) => (amount * rate) / 1000n;
  const nativeShare = share(minimumNativeLock);
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
function collateralOf(native: bigint, needed: bigint): bigint {
  if (native >= needed) return 0n;
  const missing = needed - native;
  return missing < MIN_COLLATERAL ? MIN_COLLATERAL : missing;
}

/**
 * The largest collateral that a lock of a quote may have. None needs more than its output's deposit, whatever
 * the price; twice that leaves room for how other services count bytes, and for another price of theirs.
 *
 * @param quote - the escrow's datum as it is locked
 * @param tokens - how many units are locked beside the native coin
 * @returns native minor units
 */
export function mostCollateral(quote: EscrowDatum, tokens: number): bigint {
  return 2n * minimumOutput(quote, tokens);
}

/** The deposit of an escrow's output once it carries a result: it never is larger. */
function minimumOutput(quote: EscrowDatum, tokens: number): bigint {
  const datum = encodeEscrowDatum({
    ...quote,
    resultHash: "00".repeat(32),
    state: "ResultSubmitted",
    collateralReturn: quote.collateralReturn || 4_000_000n,
    sellerCooldownTime: quote.externalDisputeUnlockTime,
    buyerCooldownTime: quote.externalDisputeUnlockTime,
  });
  const bytes = OUTPUT_OVERHEAD + OUTPUT_BYTES + BigInt(datum.length);
  return COINS_PER_BYTE * (bytes + BYTES_PER_TOKEN * BigInt(tokens));
}
