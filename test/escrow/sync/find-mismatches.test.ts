import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatAddress } from "../../../src/chain/address.ts";
import { toBlockchainIdentifier } from "../../../src/chain/contracts/blockchain-identifier.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import type { Funds, PaymentSourceType } from "../../../src/chain/network.ts";
import { findFundMismatches, findMismatches } from "../../../src/escrow/sync/find-mismatches.ts";
import { buildLockPart } from "../../../src/escrow/terms/build-lock-part.ts";
import { datumOf } from "../../chain/check-vectors.ts";
import { PROTOCOL_PARAMETERS } from "../../support/protocol-parameters.ts";
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
    expect(findFundMismatches(agreed, held, collateral)).toEqual([]);
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
    expect(findFundMismatches(agreed, held, collateral)).toHaveLength(1);
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
        expect(findFundMismatches(agreed, held, more)).toEqual([]);
        expect(findFundMismatches(agreed, held, more + 1n)).toHaveLength(1);
        expect(findFundMismatches(agreed, [...held, token(1n)], more)).toHaveLength(1);
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
    expect(findMismatches({ side: "purchase", terms }, { datum, output })).toEqual([]);
    const quote = { ...terms, buyer: null, buyerVkey: null, buyerReturnAddress: null };
    expect(findMismatches({ side: "payment", terms: quote }, { datum, output })).toEqual([]);
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
    expect(findMismatches({ side: "purchase", terms }, { datum: other, output })).toHaveLength(1);
  });

  it("fits without return addresses, where the contract has none", () => {
    const old = { ...datum, version: "Web3ChainV1" as const, sellerReturnAddress: null };
    expect(findMismatches({ side: "purchase", terms }, { datum: old, output })).toEqual([]);
  });
});

describe("the collateral of a lock, on which Web3ChainV1 takes its fee at the seller's cost,", () => {
  /** A quote, and its escrow as it is locked. */
  function quoted(name: string) {
    const vector = VECTORS.datums.find((one) => one.name === name);
    if (!vector) throw new Error("there is no such vector");
    const datum = datumOf(vector);
    const { payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime } = datum;
    const times = { payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime };
    const agreed = {
      ...makeRecord("payment").terms,
      ...Object.fromEntries(Object.entries(times).map(([field, time]) => [field, String(time)])),
      ...{ buyer: null, buyerVkey: null, buyerReturnAddress: null, collateralReturn: null },
      agentIdentifier: datum.agentIdentifier ?? "",
      inputHash: datum.inputHash,
      seller: datum.seller,
      sellerVkey: datum.sellerVkey,
      sellerReturnAddress: datum.sellerReturnAddress,
    };
    return { datum, agreed };
  }

  /** What is wrong with a lock of a price and a collateral, native minor units. */
  function wrong(name: string, price: bigint, collateral: bigint) {
    const { datum, agreed } = quoted(name);
    const terms = { ...agreed, funds: [{ unit: COIN, amount: String(price) }] };
    const locked = { datum: { ...datum, collateralReturn: collateral } };
    const output = {
      ...{ address: "addr_test1w", funds: [native(price + collateral)], datum: "" },
      ...{ datumHash: null, hasReferenceScript: false },
    };
    return findMismatches({ side: "payment", terms }, { ...locked, output });
  }

  it("is at most twice what its output needs, whatever the price", () => {
    expect(wrong("v1-locked", 20_000_000n, 370_000_000n)).toEqual([
      expect.stringMatching(/^the collateral is 370000000, .* at most \d+ is allowed$/),
    ]);
    expect(wrong("v2-locked", 20_000_000n, 370_000_000n)).toEqual([]);
    const amounts = fc.bigInt({ min: 0n, max: 500_000_000n });
    fc.assert(
      fc.property(amounts, amounts, (price, collateral) => {
        const fee = (on: bigint) => (on * 50n) / 1000n;
        const lost = fee(price + collateral) - fee(price);
        if (wrong("v1-locked", price, collateral).length === 0) expect(lost).toBeLessThan(500_000n);
        else expect(lost).toBeGreaterThan(400_000n);
      }),
    );
  });

  it("is never too large where a purchase of ours sets it", () => {
    const contractAddress = formatAddress({
      network: "Preprod",
      payment: { kind: "script", hash: "cc".repeat(28) },
      stake: null,
    });
    const unit = fc.uint8Array({ minLength: 28, maxLength: 60 }).map(bytesToHex);
    const prices = fc
      .tuple(
        fc.bigInt({ min: 0n, max: 12_000_000n }),
        fc.uniqueArray(fc.tuple(unit, fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })), {
          maxLength: 20,
          selector: ([one]) => one,
        }),
      )
      .filter(([coins, tokens]) => coins > 0n || tokens.length > 0)
      .map(([coins, tokens]) => [
        ...(coins > 0n ? [{ unit: COIN, amount: String(coins) }] : []),
        ...tokens.map(([one, amount]) => ({ unit: one, amount: String(amount) })),
      ]);
    fc.assert(
      fc.property(
        fc.constantFrom("v1-locked", "v2-locked", "v2-locked-returns"),
        prices,
        // As parameters are, and half as dear again.
        fc.constantFrom(4310n, 6465n),
        fc.boolean(),
        (name, funds, coinsPerByte, hasStake) => {
          const { datum, agreed } = quoted(name);
          const sourceType: PaymentSourceType = datum.version;
          const terms = { ...agreed, funds };
          const key = (hash: string) => ({ kind: "key" as const, hash: hash.repeat(28) });
          const stake = hasStake ? key("78") : null;
          const address = formatAddress({ network: "Preprod", payment: key("77"), stake });
          const { outputs, detail } = buildLockPart(
            {
              ...{ sourceType, contractAddress, terms },
              blockchainIdentifier: toBlockchainIdentifier(datum, contractAddress),
            },
            { address, vkey: "77".repeat(28) },
            { ...PROTOCOL_PARAMETERS, coinsPerByte },
          );
          const held = [...(outputs[0]?.value ?? [])].map(([one, amount]) => ({
            unit: one,
            amount,
          }));
          const collateralReturn = BigInt(detail.collateralReturn ?? 0);
          const output = {
            ...{ address: contractAddress, funds: held, datum: "" },
            ...{ datumHash: null, hasReferenceScript: false },
          };
          const locked = { ...datum, buyer: address, collateralReturn };
          expect(findMismatches({ side: "payment", terms }, { datum: locked, output })).toEqual([]);
        },
      ),
    );
  });
});
