import { describe, expect, it } from "vitest";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import type { StoredFunds } from "../../../src/escrow/model/escrow-record.ts";
import {
  computeRefundMemoryUnits,
  computeSettlementMemoryUnits,
  computeWithdrawalMemoryUnits,
  explainTooManyTokens,
  MAX_MEMORY_UNITS,
  type PayoutTerms,
} from "../../../src/escrow/model/payout-memory.ts";
import { MAX_PRICES } from "../../../src/registry/entries/profile.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";

/** Names of a policy: how many the fee takes a part of, and how many not. */
type Names = [taxed: number, untaxed?: number];

/** An escrow's funds, the policies in the ledger's order. */
function escrowOf(policies: readonly Names[]): StoredFunds[] {
  const tokens = policies.flatMap(([taxed, untaxed = 0], policy) =>
    Array.from({ length: taxed + untaxed }, (_, name) => ({
      unit: policy.toString(16).padStart(56, "0") + name.toString(16).padStart(64, "0"),
      amount: name < taxed ? "1000" : "1",
    })),
  );
  return [{ unit: "", amount: "500000000" }, ...tokens];
}

const each = (count: number, names: Names = [1]): Names[] =>
  Array.from({ length: count }, () => names);
const together = (count: number): Names[] => [[count]];

const termsOf = (type: PaymentSourceType): PayoutTerms => ({
  type,
  feeRatePermille: 50,
  sellerReturnAddress: type === V2 ? "seller" : null,
  buyerReturnAddress: type === V2 ? "buyer" : null,
});

/** Two outputs more than a transaction needs, and what one lookup may cost or not. */
const TOLERANCE = 60_000n;

/** Of the deployed contracts' bytes, with a collateral and no output more than the transaction needs. */
describe("The memory of an end covers what the deployed contract used, and little more:", () => {
  it.each<[string, Names[], bigint]>([
    ["no token", [], 420_766n],
    ["1 policy", each(1), 477_997n],
    ["43 policies", each(43), 13_972_345n],
    ["44 policies", each(44), 14_557_702n],
    ["45 names of one policy", together(45), 7_010_677n],
    ["60 names of one policy", together(60), 11_417_482n],
    ["3 names of 10 policies", each(10, [3]), 2_889_586n],
    ["5 names of a policy before 4 policies", [[5], ...each(4)], 1_029_541n],
    ["5 names of a policy after 4 policies", [...each(4), [5]], 1_108_357n],
  ])("a V1 withdrawal with %s", (_, policies, used) => {
    const memory = computeWithdrawalMemoryUnits(escrowOf(policies), termsOf(V1));
    expect(memory).toBeGreaterThanOrEqual(used);
    expect(memory).toBeLessThan(used + TOLERANCE);
  });

  it.each<[string, Names[], bigint]>([
    ["100 policies", each(100, [0, 1]), 3_262_666n],
    ["100 names of one policy", [[0, 100]], 2_722_522n],
    ["20 policies behind 20 taxed", [...each(20), ...each(20, [0, 1])], 6_437_746n],
    ["20 policies before 20 taxed", [...each(20, [0, 1]), ...each(20)], 4_561_266n],
    ["10 names behind 10 taxed", [[10, 10]], 1_842_132n],
  ])("a V1 withdrawal with tokens too few for a fee: %s", (_, policies, used) => {
    expect(computeWithdrawalMemoryUnits(escrowOf(policies), termsOf(V1))).toBeGreaterThanOrEqual(
      used,
    );
  });

  it.each<[string, Names[], bigint]>([
    ["no token", [], 691_187n],
    ["38 policies", each(38), 13_651_733n],
    ["40 policies", each(40), 14_922_347n],
    ["160 names of one policy", together(160), 3_576_290n],
    ["3 names of 10 policies", each(10, [3]), 2_396_417n],
  ])("a V2 withdrawal to a return address with %s", (_, policies, used) => {
    const memory = computeWithdrawalMemoryUnits(escrowOf(policies), termsOf(V2));
    expect(memory).toBeGreaterThanOrEqual(used);
    expect(memory).toBeLessThan(used + TOLERANCE);
  });

  it.each<[string, Names[], bigint]>([
    ["no token", [], 503_144n],
    ["40 policies", each(40), 8_415_024n],
    ["100 names of one policy", together(100), 2_310_987n],
    ["3 names of 10 policies", each(10, [3]), 1_731_954n],
  ])("a V2 refund to a return address with %s", (_, policies, used) => {
    const memory = computeRefundMemoryUnits(escrowOf(policies), termsOf(V2));
    expect(memory).toBeGreaterThanOrEqual(used);
    expect(memory).toBeLessThan(used + TOLERANCE);
  });

  it.each<[string, Names[], Names[], bigint]>([
    ["40 policies for the seller", [], each(40), 9_931_586n],
    ["100 names for the seller", [], together(100), 3_947_813n],
    ["20 policies for the buyer", each(20), [], 3_917_746n],
    ["30 policies for both", each(30), each(30), 12_267_426n],
    ["20 names for both", together(20), together(20), 2_172_040n],
  ])("a V2 settlement with %s", (_, buyer, seller, used) => {
    const memory = computeSettlementMemoryUnits(
      { buyer: escrowOf(buyer), seller: escrowOf(seller) },
      V2,
    );
    expect(memory).toBeGreaterThanOrEqual(used);
    expect(memory).toBeLessThan(used + TOLERANCE);
  });
});

describe("An escrow that somebody else made", () => {
  const note = (type: PaymentSourceType, policies: readonly Names[]) =>
    explainTooManyTokens("payment", escrowOf(policies), termsOf(type));

  it("is noted from the 44th policy of Web3ChainV1 on, and from the 39th of Web3ChainV2", () => {
    expect(note(V1, each(43))).toBeNull();
    expect(note(V1, each(44))).toMatch(/^The escrow holds 44 tokens/);
    expect(note(V2, each(38))).toBeNull();
    expect(note(V2, each(39))).toMatch(/^The escrow holds 39 tokens/);
  });

  it("may hold 60 names of one policy", () => {
    expect(note(V1, together(60))).toBeNull();
    expect(note(V2, together(60))).toBeNull();
    expect(note(V1, together(70))).not.toBeNull();
  });

  it("pays any number of tokens where no return address is named", () => {
    const terms = { ...termsOf(V2), sellerReturnAddress: null, buyerReturnAddress: null };
    expect(explainTooManyTokens("payment", escrowOf(each(100)), terms)).toBeNull();
    expect(explainTooManyTokens("purchase", escrowOf(each(100)), terms)).toBeNull();
  });

  it("is noted to the buyer where its refund would need too much", () => {
    const noteAt = (count: number) =>
      explainTooManyTokens("purchase", escrowOf(each(count)), termsOf(V2))?.length ?? 0;
    expect(noteAt(54)).toBe(0);
    expect(noteAt(55)).toBeGreaterThan(0);
    expect(noteAt(55)).toBeLessThanOrEqual(200);
  });
});

describe.each([V1, V2] as const)("The largest price that an agent of %s may ask", (type) => {
  it.each([
    ["policies", each(MAX_PRICES)],
    ["names of one policy", together(MAX_PRICES)],
  ])("in %s can be withdrawn, refunded and settled", (_, policies) => {
    const value = escrowOf(policies);
    expect(computeWithdrawalMemoryUnits(value, termsOf(type))).toBeLessThan(MAX_MEMORY_UNITS);
    expect(computeRefundMemoryUnits(value, termsOf(type))).toBeLessThan(MAX_MEMORY_UNITS);
    expect(computeSettlementMemoryUnits({ buyer: value, seller: value }, type)).toBeLessThan(
      MAX_MEMORY_UNITS,
    );
  });
});
