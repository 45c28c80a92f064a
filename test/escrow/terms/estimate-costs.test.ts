import { describe, expect, it } from "vitest";
import { encodeEscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import { estimateCosts } from "../../../src/escrow/terms/estimate-costs.ts";
import { datumOf } from "../../chain/check-vectors.ts";
import VECTORS from "../../vectors/chain.json" with { type: "json" };

const TOKEN = `${"ab".repeat(28)}746f6b656e`;
const native = (amount: bigint) => ({ unit: "", amount });
const token = (amount: bigint) => ({ unit: TOKEN, amount });

function quoteOf(version: "V1" | "V2") {
  const row = VECTORS.datums.find((one) => one.version === version);
  if (!row) throw new Error("no such vector");
  return datumOf(row);
}

/** Of 4310 minor units a byte: the output with its result, 325 bytes around the datum, 50 a token. */
const deposit = (version: "V1" | "V2", tokens: bigint) => {
  const done = {
    ...quoteOf(version),
    resultHash: "00".repeat(32),
    collateralReturn: 4_000_000n,
    sellerCooldownTime: 1_800_000_000_000n,
    buyerCooldownTime: 1_800_000_000_000n,
  };
  return 4310n * (BigInt(encodeEscrowDatum(done).length) + 325n + 50n * tokens);
};

describe("an estimate", () => {
  it("of a price above the output's deposit locks the price, and takes the fee of it on V1", () => {
    const price = [native(40_000_000n), token(999n)];
    expect(estimateCosts(price, quoteOf("V1"), 50)).toEqual({
      minimumNativeLock: 40_000_000n,
      protocolFee: [native(2_000_000n), token(49n)],
      expectedNet: [native(38_000_000n), token(950n)],
    });
    expect(estimateCosts(price, quoteOf("V2"), 50)).toEqual({
      minimumNativeLock: 40_000_000n,
      protocolFee: [],
      expectedNet: price,
    });
    expect(estimateCosts(price, quoteOf("V1"), 0).protocolFee).toEqual([]);
  });

  it.each(["V1", "V2"] as const)("of a small price on %s locks the deposit", (version) => {
    const [alone, withToken] = [deposit(version, 0n), deposit(version, 1n)];
    const locked = (...price: ReturnType<typeof native>[]) =>
      estimateCosts(price, quoteOf(version), 50).minimumNativeLock;
    expect(locked(native(1_000_000n))).toBe(alone);
    expect(locked(token(5n))).toBe(withToken);
    expect(locked(native(alone))).toBe(alone);
    // What goes back to the buyer is an output, too, and has to be large enough for one.
    expect(locked(native(alone - 1n))).toBe(alone - 1n + 1_435_230n);
    expect(alone).toBeGreaterThan(4_000_000n);
    expect(alone).toBeLessThan(5_000_000n);
  });

  it("reports the seller's loss when a price on V1 is below the fee", () => {
    expect(estimateCosts([native(1_000_000n)], quoteOf("V1"), 50).expectedNet).toEqual([
      native(-435_230n),
    ]);
    expect(estimateCosts([token(100n)], quoteOf("V1"), 50)).toMatchObject({
      protocolFee: [native(1_435_230n), token(5n)],
      expectedNet: [native(-1_435_230n), token(95n)],
    });
  });
});
