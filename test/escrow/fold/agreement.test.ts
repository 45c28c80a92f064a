import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Funds } from "../../../src/chain/network.ts";
import { deviations, fundsDeviations } from "../../../src/escrow/fold/agreement.ts";
import { datumOf } from "../../chain/check-vectors.ts";
import { makeRecord } from "../../support/sources/records.ts";
import VECTORS from "../../vectors/chain.json" with { type: "json" };

const COIN = "";
const TOKEN = "aa".repeat(28);
const OTHER = "bb".repeat(28);
const native = (amount: bigint): Funds => ({ unit: COIN, amount });
const token = (amount: bigint, unit = TOKEN): Funds => ({ unit, amount });

describe("locked funds are what was agreed", () => {
  it.each([
    ["the price", [native(5n)], [native(5n)], 0n],
    ["more of the native coin", [native(5n)], [native(9n)], 0n],
    ["the price and the collateral", [native(5n)], [native(7n)], 2n],
    ["a token with the coin that its output needs", [token(5n)], [native(3n), token(5n)], 3n],
    ["a price in two parts", [native(2n), native(3n)], [native(5n)], 0n],
  ])("%s", (_, agreed, held, collateral) => {
    expect(fundsDeviations(agreed, held, collateral)).toEqual([]);
  });

  it.each([
    ["too little", [native(5n)], [native(4n)], 0n],
    ["too little beside the collateral", [native(5n)], [native(6n)], 2n],
    ["a collateral beyond all", [], [native(1n)], 2n],
    ["too little of a token", [token(5n)], [native(9n), token(4n)], 0n],
    ["too much of a token", [token(5n)], [native(9n), token(6n)], 0n],
    ["no token", [token(5n)], [native(9n)], 0n],
    ["another token", [native(5n)], [native(9n), token(1n, OTHER)], 0n],
  ])("but not %s", (_, agreed, held, collateral) => {
    expect(fundsDeviations(agreed, held, collateral)).toHaveLength(1);
  });

  it("in any order and any parts", () => {
    const amounts = fc.array(
      fc.record({
        unit: fc.constantFrom(COIN, TOKEN, OTHER),
        amount: fc.bigInt({ min: 0n, max: 9n }),
      }),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(amounts, fc.bigInt({ min: 0n, max: 9n }), (agreed, more) => {
        const held = [...agreed.toReversed(), native(more)];
        expect(fundsDeviations(agreed, held, more)).toEqual([]);
        expect(fundsDeviations(agreed, held, more + 1n)).toHaveLength(1);
        expect(fundsDeviations(agreed, [...held, token(1n)], more)).toHaveLength(1);
      }),
    );
  });
});

describe("a lock is compared with what was asked for", () => {
  const vector = VECTORS.datums.find(({ name }) => name === "v2-locked-returns");
  if (!vector) throw new Error("there is no such vector");
  const datum = datumOf(vector);
  const output = {
    ...{ address: "addr_test1w", funds: [native(datum.collateralReturn + 5n)], datum: "" },
    ...{ datumHash: null, hasReferenceScript: false },
  };
  const record = makeRecord("purchase");
  const terms = {
    ...record.terms,
    seller: datum.seller,
    buyer: datum.buyer as string | null,
    agentIdentifier: datum.agentIdentifier ?? "",
    inputHash: datum.inputHash,
    payByTime: String(datum.payByTime),
    submitResultTime: String(datum.submitResultTime),
    unlockTime: String(datum.unlockTime),
    externalDisputeUnlockTime: String(datum.externalDisputeUnlockTime),
    sellerReturnAddress: datum.sellerReturnAddress,
    buyerReturnAddress: datum.buyerReturnAddress,
    funds: [{ unit: COIN, amount: "5" }],
  };

  it("fits as it was asked for, whoever buys what a quote offers", () => {
    expect(deviations({ side: "purchase", terms }, { datum, output })).toEqual([]);
    const quote = { ...terms, buyer: null, buyerVkey: null, buyerReturnAddress: null };
    expect(deviations({ side: "payment", terms: quote }, { datum, output })).toEqual([]);
  });

  it.each([
    ["seller", datum.buyer],
    ["buyer", datum.seller],
    ["agentIdentifier", TOKEN],
    ["inputHash", "00"],
    ["payByTime", 1n],
    ["submitResultTime", 1n],
    ["unlockTime", 1n],
    ["externalDisputeUnlockTime", 1n],
    ["sellerReturnAddress", null],
    ["buyerReturnAddress", null],
  ])("but not with another %s", (field, value) => {
    const other = { ...datum, [field]: value };
    expect(deviations({ side: "purchase", terms }, { datum: other, output })).toHaveLength(1);
  });

  it("fits without return addresses, where the contract has none", () => {
    const old = { ...datum, version: "Web3ChainV1" as const, sellerReturnAddress: null };
    expect(deviations({ side: "purchase", terms }, { datum: old, output })).toEqual([]);
  });
});
