import { type EscrowDatum, encodeEscrowDatum } from "../../chain/contracts/escrow-datum.ts";

/** Minor units for a byte of an output, on both networks for years. */
const COINS_PER_BYTE = 4310n;
/** What the ledger counts of an output besides its bytes. */
const OUTPUT_OVERHEAD_BYTES = 160n;
/** An output's bytes besides datum and tokens, with what later steps may add. */
const OUTPUT_BYTES = 165n;
const BYTES_PER_TOKEN = 50n;

/**
 * The deposit of an escrow's output with a result. No later deposit is larger.
 *
 * @param tokens - number of units beside the native coin
 * @returns native minor units
 */
export function computeMinimumDeposit(quote: EscrowDatum, tokens: number): bigint {
  const datum = encodeEscrowDatum({
    ...quote,
    resultHash: "00".repeat(32),
    state: "ResultSubmitted",
    collateralReturn: quote.collateralReturn || 4_000_000n,
    sellerCooldownTime: quote.externalDisputeUnlockTime,
    buyerCooldownTime: quote.externalDisputeUnlockTime,
  });
  const bytes = OUTPUT_OVERHEAD_BYTES + OUTPUT_BYTES + BigInt(datum.length);
  return COINS_PER_BYTE * (bytes + BYTES_PER_TOKEN * BigInt(tokens));
}
