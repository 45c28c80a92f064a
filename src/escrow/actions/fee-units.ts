import type { PaymentSourceType } from "../../chain/network.ts";
import type { LiveOutput } from "../record.ts";

/**
 * Of how many tokens a withdrawal can pay the contract's fee: its script looks each of them up among all that
 * is paid, for about 354,000 + 50,300 n + 4,530 n² units of memory, as measured with 40 to 100 tokens on the
 * local chain's contract. With the wallets' reserve of 15 % that makes the network's 14,000,000.
 */
export const MOST_TOKENS_WITH_FEE = 45;

/** What of a payment source a withdrawal's fee depends on. */
interface FeeOf {
  type: PaymentSourceType;
  feeRatePermille: number;
}

/**
 * What is said of an escrow with more of them, which the other party may lock; null: a withdrawal can pay the
 * fee. A share that rounds to nothing takes no part.
 */
export function tooManyTokens(
  value: LiveOutput["value"],
  { type, feeRatePermille }: FeeOf,
): string | null {
  if (type !== "Web3ChainV1") return null;
  const count = value.filter(
    ({ unit, amount }) => unit !== "" && (BigInt(amount) * BigInt(feeRatePermille)) / 1000n > 0n,
  ).length;
  if (count <= MOST_TOKENS_WITH_FEE) return null;
  return `The escrow holds ${count} tokens of which the contract's fee takes a part: with more than ${MOST_TOKENS_WITH_FEE} a withdrawal uses more memory than the network allows, so it can probably not be withdrawn. It can be refunded`;
}
