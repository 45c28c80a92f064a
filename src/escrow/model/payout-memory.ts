/**
 * Units of memory that the scripts of the default deployments use to end an escrow, by the tokens that it holds.
 * Measured on their bytes, with a collateral and with one output more than the transaction needs. No other step
 * depends on the tokens, nor does an end that pays to no address of the datum.
 */
import type { PaymentSourceType } from "../../chain/network.ts";
import { POLICY_ID_LENGTH } from "../../chain/unit.ts";
import type { StoredFunds } from "./escrow-record.ts";
import type { SettlementSplit } from "./split.ts";

/** What the scripts of a transaction may use together. */
export const MAX_MEMORY_UNITS = 14_000_000n;

/** What the cost of an end depends on, besides the tokens. */
export interface PayoutTerms {
  type: PaymentSourceType;
  /** What Web3ChainV1 takes of all that is withdrawn. */
  feeRatePermille: number;
  sellerReturnAddress: string | null;
  buyerReturnAddress: string | null;
}

/** A withdrawal from Web3ChainV1 looks each token up among those of the fee, which are in the ledger's order. */
const WITHDRAWAL_COSTS_V1 = {
  base: 443_801n,
  policy: 12_240n,
  /** For a policy, and again for each before it. */
  merged: 7_356n,
  token: 27_783n,
  /** For a token, and for each policy and each name of its policy that the fee has before it. */
  passed: 4_926n,
  /** A token of which the fee takes nothing. */
  untaxed: 28_419n,
};

/** What Web3ChainV2 uses to compare a payout with what is due. */
interface ComparisonCosts {
  base: bigint;
  perPolicy: bigint;
  perToken: bigint;
  /** By the square of the number of policies. */
  perPolicyCountSquared: bigint;
}

const WITHDRAWAL_COSTS_V2: ComparisonCosts = {
  base: 708_727n,
  perPolicy: 43_827n,
  perToken: 17_712n,
  perPolicyCountSquared: 7_356n,
};
const REFUND_COSTS_V2: ComparisonCosts = {
  base: 514_161n,
  perPolicy: 32_965n,
  perToken: 17_712n,
  perPolicyCountSquared: 3_678n,
};
const SETTLEMENT_COSTS_V2: ComparisonCosts = {
  base: 863_846n,
  perPolicy: 49_529n,
  perToken: 30_483n,
  perPolicyCountSquared: 3_678n,
};

/** What a withdrawal by the seller uses. */
export function computeWithdrawalMemoryUnits(
  value: readonly StoredFunds[],
  terms: PayoutTerms,
): bigint {
  if (terms.type === "Web3ChainV1")
    return computeFeeMemoryUnits(value, BigInt(terms.feeRatePermille));
  const compared = terms.sellerReturnAddress === null ? [] : value;
  return computeComparisonMemoryUnits(WITHDRAWAL_COSTS_V2, [compared]);
}

/** What a refund to the buyer uses; Web3ChainV1 looks at no part of it. */
export function computeRefundMemoryUnits(
  value: readonly StoredFunds[],
  terms: PayoutTerms,
): bigint {
  const isCompared = terms.type === "Web3ChainV2" && terms.buyerReturnAddress !== null;
  return computeComparisonMemoryUnits(REFUND_COSTS_V2, [isCompared ? value : []]);
}

/** What a settlement by administrators uses; Web3ChainV1 looks at no part of it. */
export function computeSettlementMemoryUnits(
  { buyer, seller }: SettlementSplit,
  type: PaymentSourceType,
): bigint {
  return computeComparisonMemoryUnits(
    SETTLEMENT_COSTS_V2,
    type === "Web3ChainV1" ? [] : [buyer, seller],
  );
}

/**
 * Why an escrow that a third party made cannot be paid out to one of its sides; null: it can be.
 *
 * @param value - all that it holds
 */
export function explainTooManyTokens(
  side: "payment" | "purchase",
  value: readonly StoredFunds[],
  terms: PayoutTerms,
): string | null {
  const [end, memory, advice] =
    side === "payment"
      ? ["withdrawal", computeWithdrawalMemoryUnits(value, terms), "Do no work for this escrow"]
      : ["refund", computeRefundMemoryUnits(value, terms), "Only a withdrawal can end the escrow"];
  if (memory <= MAX_MEMORY_UNITS) return null;
  const count = value.filter(({ unit }) => unit !== "").length;
  return `The escrow holds ${count} tokens, with which a ${end} needs more memory than the network allows: about ${memory} of ${MAX_MEMORY_UNITS} units. ${advice}`;
}

function computeFeeMemoryUnits(value: readonly StoredFunds[], permille: bigint): bigint {
  const { base, policy, merged, token, passed, untaxed } = WITHDRAWAL_COSTS_V1;
  const isTaxed = ({ amount }: StoredFunds) => (BigInt(amount) * permille) / 1000n > 0n;
  const policies = [...tokensByPolicyOf(value)].sort(([a], [b]) => (a < b ? -1 : 1));
  const taxed = policies.map(([, tokens]) => BigInt(tokens.filter(isTaxed).length));
  const all = BigInt(taxed.filter((names) => names > 0n).length);
  let used = base;
  let position = 0n;
  for (const [i, [, tokens]] of policies.entries()) {
    const names = taxed[i] ?? 0n;
    if (names > 0n) {
      position++;
      used += policy + merged * position;
      used += names * (token + passed * position) + (passed * names * (names + 1n)) / 2n;
    }
    used += (BigInt(tokens.length) - names) * (untaxed + passed * (all + names + 1n));
  }
  return used;
}

function computeComparisonMemoryUnits(
  { base, perPolicy: policy, perToken: token, perPolicyCountSquared: squared }: ComparisonCosts,
  payouts: readonly (readonly StoredFunds[])[],
): bigint {
  return payouts.reduce((used, value) => {
    const policies = tokensByPolicyOf(value);
    const tokens = [...policies.values()].reduce((sum, names) => sum + names.length, 0);
    const count = BigInt(policies.size);
    return used + policy * count + token * BigInt(tokens) + squared * count * count;
  }, base);
}

/** The tokens of a value by policy id. */
function tokensByPolicyOf(value: readonly StoredFunds[]): Map<string, StoredFunds[]> {
  const tokens = value.filter(({ unit }) => unit !== "");
  return Map.groupBy(tokens, ({ unit }) => unit.slice(0, POLICY_ID_LENGTH));
}
